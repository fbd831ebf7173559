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
static_assert(sizeof(hsa_amd_pointer_info_t) <= sizeof(abi::PointerInfo), "pointer info");
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

#if HSA_AMD_INTERFACE_VERSION_MINOR >= 30
#define SAME_AGENT_INFO(ours, theirs) SAME(abi::ours, HSA_AMD_AGENT_INFO_##theirs)
SAME_AGENT_INFO(kPm4Emulation, PM4_EMULATION);
SAME_AGENT_INFO(kLuid, LUID);
SAME_AGENT_INFO(kExpertScheduling, HAS_EXPERT_SCHED_MODE);
SAME_AGENT_INFO(kCuid, CUID);
SAME_AGENT_INFO(kKernelGroupsMax, KERNEL_WG_MAX_SIZE);
SAME_AGENT_INFO(kKernelClustersMaxDim, KERNEL_CLUSTER_MAX_DIM);
SAME_AGENT_INFO(kKernelClustersMax, KERNEL_CLUSTER_MAX_SIZE);
SAME_AGENT_INFO(kClusterGroupsMaxDim, CLUSTER_MAX_DIM);
SAME_AGENT_INFO(kClusterGroupsMax, CLUSTER_MAX_SIZE);
SAME_AGENT_INFO(kKernelGroupsMaxDim, KERNEL_WG_MAX_DIM);
SAME_AGENT_INFO(kPrefetchRegionsMax, MAX_DATA_PREFETCH_REGIONS);
SAME_AGENT_INFO(kHostDmabufSupported, HOST_ALLOC_DMABUF_SUPPORTED);
static_assert(sizeof(hsa_amd_dim3_t) == sizeof(abi::Dim3), "limits");
SAME(abi::kImageSupport, HSA_EXT_AGENT_INFO_IMAGE_SUPPORT);
SAME(abi::kFabricHandlesSupported, HSA_AMD_SYSTEM_INFO_FABRIC_HANDLES_SUPPORTED);
SAME(abi::kStatusXnackDisabled, HSA_STATUS_ERROR_XNACK_DISABLED);

static_assert(sizeof(hsa_amd_pointer_info_t) == sizeof(abi::PointerInfo), "pointer info");
static_assert(offsetof(hsa_amd_pointer_info_t, alloc_flags) == offsetof(abi::PointerInfo, alloc_flags),
              "pointer info");
SAME(abi::kAllocNonPaged, HSA_AMD_POINTER_INFO_ALLOC_FLAG_NONPAGED);
SAME(abi::kAllocHostAccess, HSA_AMD_POINTER_INFO_ALLOC_FLAG_HOST_ACCESS);

SAME(abi::kQueueUseCount, HSA_QUEUE_INFO_USE_COUNT);
SAME(abi::kQueueHardwareId, HSA_QUEUE_INFO_HW_ID);
SAME(abi::kQueuePrefetchDispatchMajor, HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_DISPATCH_PKT_VERSION_MAJOR);
SAME(abi::kQueuePrefetchBarrierMinor, HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_BARRIER_PKT_VERSION_MINOR);
SAME(abi::kQueuePrefetchRing, HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_RING_BUFFER);
SAME(abi::kQueueProperties, HSA_AMD_QUEUE_INFO_PROPERTIES);
SAME(abi::kQueueFaulted, HSA_AMD_QUEUE_INFO_VM_FAULT_STATUS);
SAME(abi::kQueueFaultReason, HSA_AMD_QUEUE_INFO_VM_FAULT_REASON);
SAME(abi::kQueueEngine, HSA_AMD_QUEUE_INFO_ENGINE_TYPE);
SAME(abi::kQueueSdmaEngine, HSA_AMD_QUEUE_INFO_SDMA_ENGINE_ID);
SAME(abi::kEngineSdma, HSA_AMD_QUEUE_ENGINE_SDMA);
SAME(abi::kEngineAie, HSA_AMD_QUEUE_ENGINE_AIE);

using Theirs = hsa_amd_queue_create_desc_t;
static_assert(sizeof(Theirs) == sizeof(abi::QueueDescriptor), "queue descriptor");
SAME(offsetof(abi::QueueDescriptor, bytes), offsetof(Theirs, queue_size_bytes));
SAME(offsetof(abi::QueueDescriptor, queue), offsetof(Theirs, queue));
SAME(offsetof(abi::QueueDescriptor, parameters), offsetof(Theirs, engine));
SAME(offsetof(abi::QueueDescriptor, parameters.compute.cu_mask_count), offsetof(Theirs, engine.compute.cu_mask_count));
SAME(offsetof(abi::QueueDescriptor, traffic_class), offsetof(Theirs, traffic_class));

static_assert(sizeof(hsa_amd_memory_copy_op_t) == sizeof(abi::CopyOperation), "copy descriptor");
SAME(offsetof(abi::CopyOperation, completion), offsetof(hsa_amd_memory_copy_op_t, completion_signal));
SAME(offsetof(abi::CopyOperation, source), offsetof(hsa_amd_memory_copy_op_t, src));
SAME(offsetof(abi::CopyOperation, source_agent), offsetof(hsa_amd_memory_copy_op_t, src_agent));
SAME(offsetof(abi::CopyOperation, target_agent), offsetof(hsa_amd_memory_copy_op_t, dst_agent));
SAME(offsetof(abi::CopyOperation, target), offsetof(hsa_amd_memory_copy_op_t, dst));
SAME(offsetof(abi::CopyOperation, size), offsetof(hsa_amd_memory_copy_op_t, size));
SAME(offsetof(abi::CopyOperation, target_size), offsetof(hsa_amd_memory_copy_op_t, dst_size));
SAME(offsetof(abi::CopyOperation, wait.mask), offsetof(hsa_amd_memory_copy_op_t, wait.mask));
SAME(offsetof(abi::CopyOperation, signal.data), offsetof(hsa_amd_memory_copy_op_t, signal.data));
SAME(abi::kCopyBroadcast, HSA_AMD_MEMORY_COPY_OP_LINEAR_BROADCAST);
SAME(abi::kCopyIndirectBoth, HSA_AMD_MEMORY_COPY_OP_LINEAR_INDIRECT_SRCDST);
SAME(abi::kWaitGt, HSA_AMD_MEMORY_COPY_WAIT_GT);
SAME(abi::kSignalSubtract, HSA_AMD_MEMORY_COPY_SIGNAL_SUB);

static_assert(sizeof(hsa_ext_image_descriptor_v2_t) == sizeof(abi::ImageDescriptor), "image descriptor");
SAME(offsetof(abi::ImageDescriptor, levels), offsetof(hsa_ext_image_descriptor_v2_t, mipmap_levels));
SAME(offsetof(hsa_ext_image_descriptor_t, format), offsetof(hsa_ext_image_descriptor_v2_t, format));
SAME(offsetof(hsa_ext_image_descriptor_t, array_size), offsetof(hsa_ext_image_descriptor_v2_t, array_size));
#endif

int main() { return 0; }
