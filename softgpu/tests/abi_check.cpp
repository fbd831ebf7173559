// Compares src/abi.hpp, which names what old headers lack, with the headers of the image that compiles this.
// Nothing runs: it compiles or it does not (tests/check_abi.sh). The numbers are
// HSA_AMD_INTERFACE_VERSION_MINOR.
#include <type_traits>

#include "abi.hpp"

#define SAME(ours, theirs) \
  static_assert(static_cast<unsigned long>(ours) == static_cast<unsigned long>(theirs), #theirs)

namespace abi = sg::abi;

// The layouts that HIP reads without a call.
static_assert(sizeof(amd_signal_t) == 64 && offsetof(amd_signal_t, value) == 8, "signal");
static_assert(offsetof(amd_signal_t, start_ts) == 32 && offsetof(amd_signal_t, end_ts) == 40,
              "signal timestamps");
static_assert(offsetof(amd_queue_t, write_dispatch_id) == 56 &&
                  offsetof(amd_queue_t, read_dispatch_id) == 128,
              "queue");
static_assert(sizeof(hsa_queue_t) == 40 && sizeof(hsa_kernel_dispatch_packet_t) == 64, "queue");
static_assert(sizeof(hsa_amd_ipc_memory_t) == 32, "IPC handle");
static_assert(sizeof(hsa_amd_pointer_info_t) == sizeof(abi::PointerInfo), "pointer info");
static_assert(offsetof(hsa_amd_pointer_info_t, global_flags) == offsetof(abi::PointerInfo, global_flags),
              "pointer info");
static_assert(offsetof(hsa_amd_barrier_value_packet_t, completion_signal) == 56, "packets");
SAME(abi::kSvmAccessQuery, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY);
SAME(abi::kSvmAgentAccessible, HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE);
SAME(abi::kSvmAgentNoAccess, HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS);
SAME(abi::kSvmReadMostly, HSA_AMD_SVM_ATTRIB_READ_MOSTLY);
SAME(abi::kSvmSupported, HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED);

#if HSA_AMD_INTERFACE_VERSION_MINOR >= 4
SAME(abi::kMemoryAvail, HSA_AMD_AGENT_INFO_MEMORY_AVAIL);
SAME(abi::kTimestampFrequency, HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY);
SAME(abi::kNumSdmaEng, HSA_AMD_AGENT_INFO_NUM_SDMA_ENG);
SAME(abi::kIommuSupport, HSA_AMD_AGENT_INFO_IOMMU_SUPPORT);
SAME(abi::kNumXcc, HSA_AMD_AGENT_INFO_NUM_XCC);
SAME(abi::kDriverUid, HSA_AMD_AGENT_INFO_DRIVER_UID);
SAME(abi::kNearestCpu, HSA_AMD_AGENT_INFO_NEAREST_CPU);
SAME(abi::kDmabufSupported, HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED);
SAME(abi::kVirtualMemApiSupported, HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED);
SAME(abi::kPoolRecGranule, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE);
SAME(abi::kPoolLocation, HSA_AMD_MEMORY_POOL_INFO_LOCATION);
SAME(abi::kStatusOutOfRegisters, HSA_STATUS_ERROR_OUT_OF_REGISTERS);
SAME(abi::kPoolFlagExtendedScopeFineGrained, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED);
static_assert(sizeof(hsa_amd_vmem_alloc_handle_t) == sizeof(abi::VmemHandle), "virtual memory");
static_assert(sizeof(hsa_amd_memory_access_desc_t) == sizeof(abi::MemoryAccess), "virtual memory");
static_assert(offsetof(hsa_amd_memory_access_desc_t, agent_handle) == offsetof(abi::MemoryAccess, agent),
              "access");
#endif
#if HSA_AMD_INTERFACE_VERSION_MINOR >= 5
SAME(abi::kMemoryProperties, HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES);
SAME(abi::kMemoryPropertyApuBit, 0);
static_assert(HSA_AMD_MEMORY_PROPERTY_AGENT_IS_APU == 1u << abi::kMemoryPropertyApuBit, "APU");
#endif
#if HSA_AMD_INTERFACE_VERSION_MINOR >= 15
SAME(abi::kStatusResourceBusy, HSA_STATUS_ERROR_RESOURCE_BUSY);
SAME(abi::kStatusNotSupported, HSA_STATUS_ERROR_NOT_SUPPORTED);
SAME(abi::kScratchLimitMax, HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX);
SAME(abi::kScratchLimitCurrent, HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT);
SAME(abi::kClockCounters, HSA_AMD_AGENT_INFO_CLOCK_COUNTERS);
static_assert(sizeof(hsa_amd_clock_counters_t) == sizeof(abi::ClockCounters), "clocks");
SAME(abi::kXnackEnabled, HSA_AMD_SYSTEM_INFO_XNACK_ENABLED);
SAME(abi::kExtVersionMinor, HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR);
SAME(abi::kSvmGpuExec, HSA_AMD_SVM_ATTRIB_GPU_EXEC);
SAME(abi::kReserveNoRegister, HSA_AMD_VMEM_ADDRESS_NO_REGISTER);
SAME(abi::kPointerVmem, HSA_EXT_POINTER_TYPE_HSA_VMEM);
SAME(abi::kPointerReservedAddr, HSA_EXT_POINTER_TYPE_RESERVED_ADDR);
static_assert(offsetof(hsa_amd_pointer_info_t, registered) == offsetof(abi::PointerInfo, registered),
              "pointer info");
#endif

int main() { return 0; }
