// The HSA ABI that this library implements: the headers of the build image, plus what newer runtimes added.
//
// The library is built against the oldest image's headers so that an old glibc can load it, therefore names
// that those headers lack are declared here, from the public headers of ROCm 7.2 and 10.0 (values and layouts
// are ABI facts):
// https://github.com/ROCm/rocm-systems/blob/develop/projects/rocr-runtime/runtime/hsa-runtime/inc/hsa_ext_amd.h
// tests/abi_check.cpp compares them with the headers of each image.
#pragma once

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <cstddef>
#include <cstdint>

// Defines a function under its C name whatever the build image's headers say of it.
#define SG_EXPORT(name) __asm__(#name) __attribute__((visibility("default")))
#define SG_API extern "C" __attribute__((visibility("default")))

namespace sg::abi {

enum AgentInfo : uint32_t {
  kMemoryAvail = 0xA015,
  kTimestampFrequency = 0xA016,
  kAsicFamilyId = 0xA107,
  kUcodeVersion = 0xA108,
  kSdmaUcodeVersion = 0xA109,
  kNumSdmaEng = 0xA10A,
  kNumSdmaXgmiEng = 0xA10B,
  kIommuSupport = 0xA110,
  kNumXcc = 0xA111,
  kDriverUid = 0xA112,
  kNearestCpu = 0xA113,
  kMemoryProperties = 0xA114,
  kAqlExtensions = 0xA115,
  kScratchLimitMax = 0xA116,
  kScratchLimitCurrent = 0xA117,
  kClockCounters = 0xA118,
  kPm4Emulation = 0xA119,
  kLuid = 0xA11A,
  kExpertScheduling = 0xA11B,
  kCuid = 0xA11C,
  kKernelGroupsMax = 0xA11D,
  kKernelClustersMaxDim = 0xA11E,
  kKernelClustersMax = 0xA11F,
  kClusterGroupsMaxDim = 0xA120,
  kClusterGroupsMax = 0xA121,
  kKernelGroupsMaxDim = 0xA122,
  kPrefetchRegionsMax = 0xA123,
  kHostDmabufSupported = 0xA124,
};
constexpr uint32_t kImageSupport = 0x300D;  // one more HSA_EXT_AGENT_INFO_IMAGE_*

struct Dim3 {
  uint64_t x, y, z;
};
constexpr uint32_t kMemoryPropertyApuBit = 0;

enum SystemInfo : uint32_t {
  kBuildVersion = 0x200,
  kSvmSupported = 0x201,
  kSvmAccessibleByDefault = 0x202,
  kMwaitxEnabled = 0x203,
  kDmabufSupported = 0x204,
  kVirtualMemApiSupported = 0x205,
  kXnackEnabled = 0x206,
  kExtVersionMajor = 0x207,
  kExtVersionMinor = 0x208,
  kFabricHandlesSupported = 0x209,
};

enum PoolInfo : uint32_t { kPoolLocation = 17, kPoolRecGranule = 18 };
constexpr uint32_t kPoolFlagExtendedScopeFineGrained = 8;

enum PointerType : uint32_t { kPointerReservedAddr = 5, kPointerVmem = 6 };

constexpr hsa_status_t kStatusOutOfRegisters = static_cast<hsa_status_t>(45);
constexpr hsa_status_t kStatusResourceBusy = static_cast<hsa_status_t>(46);
constexpr hsa_status_t kStatusNotSupported = static_cast<hsa_status_t>(47);
constexpr hsa_status_t kStatusXnackDisabled = static_cast<hsa_status_t>(48);

// The caller's size field says how much of it is known to the caller.
struct PointerInfo {
  uint32_t size;
  uint32_t type;
  void* agent_base;
  void* host_base;
  size_t bytes;
  void* user_data;
  hsa_agent_t owner;
  uint32_t global_flags;
  bool registered;
  uint32_t alloc_flags;
};
enum AllocFlag : uint32_t { kAllocNonPaged = 1 << 2, kAllocHostAccess = 1 << 4 };

enum QueueInfo : int {
  kQueueAgent,
  kQueueDoorbell,
  kQueueUseCount,
  kQueueHardwareId,
  kQueuePrefetchDispatchMajor,
  kQueuePrefetchDispatchMinor,
  kQueuePrefetchBarrierMajor,
  kQueuePrefetchBarrierMinor,
  kQueuePrefetchRing,
  kQueueProperties,
  kQueueFaulted,
  kQueueFaultAddress,
  kQueueFaultReason,
  kQueueEngine,
  kQueueSdmaEngine,
};
enum QueueEngine : uint32_t { kEngineCompute, kEngineSdma, kEngineAie };

struct QueueDescriptor {
  uint16_t version;  // 1
  uint16_t flags;
  uint8_t engine;
  uint8_t reserved_header[3];
  uint32_t bytes;  // of the ring
  hsa_amd_queue_priority_t priority;
  void (*callback)(hsa_status_t, hsa_queue_t*, void*);
  void* callback_data;
  hsa_queue_t* queue;  // out
  union {
    struct {
      const uint32_t* cu_mask;
      hsa_queue_type32_t type;
      uint32_t private_segment_size;
      uint32_t cu_mask_count;
      uint32_t reserved[3];
    } compute;
    uint8_t bytes[32];
  } parameters;
  uint32_t traffic_class;
  uint8_t reserved[20];
};

enum CopyType : uint16_t {
  kCopyLinear,
  kCopyBroadcast,
  kCopySwap,
  kCopyIndirectSource,
  kCopyIndirectTarget,
  kCopyIndirectBoth,
};
enum CopyWait : uint16_t { kWaitAlways, kWaitLt, kWaitLe, kWaitEq, kWaitNe, kWaitGe, kWaitGt };
enum CopySignal : uint16_t { kSignalNone, kSignalWrite, kSignalAdd, kSignalSubtract };

// Where `entries` is not 0, the pointers, agents and sizes marked so are lists of that many.
struct CopyOperation {
  uint16_t version;  // 1
  uint16_t type;
  uint16_t entries;
  uint16_t traffic_class;
  hsa_signal_t completion;
  union {
    void* one;
    void** list;
  } source;
  hsa_agent_t source_agent;
  union {
    hsa_agent_t one;
    hsa_agent_t* list;
  } target_agent;
  union {
    void* one;
    void** list;
  } target;
  union {
    size_t one;
    size_t* list;
  } size;
  size_t target_size;  // of a swap; else 0
  struct {
    uint16_t function;
    uint16_t scope;
    uint32_t reserved;
    void* address;
    uint64_t value;
    uint64_t mask;
  } wait;
  struct {
    uint16_t operation;
    uint16_t scope;
    uint32_t reserved;
    void* address;
    uint64_t data;
  } signal;
  uint64_t reserved;
};

// What hsa_ext_image_descriptor_t holds, and one member more.
struct ImageDescriptor {
  hsa_ext_image_descriptor_t base;
  size_t levels;  // of a mipmap chain; 0 and 1 are plain images
};

struct ClockCounters {
  uint64_t gpu;
  uint64_t cpu;
  uint64_t system;
  uint64_t system_frequency;
};

struct VmemHandle {
  uint64_t handle;
};
struct MemoryAccess {
  hsa_access_permission_t permissions;
  hsa_agent_t agent;
};
constexpr uint64_t kReserveNoRegister = 1;

enum SvmAttribute : uint64_t {
  kSvmGlobalFlag = 0,
  kSvmReadOnly = 1,
  kSvmHiveLocal = 2,
  kSvmMigrationGranularity = 3,
  kSvmPreferredLocation = 4,
  kSvmPrefetchLocation = 5,
  kSvmReadMostly = 6,
  kSvmGpuExec = 7,
  kSvmAgentAccessible = 0x200,
  kSvmAgentAccessibleInPlace = 0x201,
  kSvmAgentNoAccess = 0x202,
  kSvmAccessQuery = 0x203,
};

}  // namespace sg::abi
