// The HSA ABI that this library implements: the headers of the build image, plus what newer runtimes added.
//
// The library is built against the oldest image's headers so that an old glibc can load it, therefore names
// that those headers lack are declared here, from the public header of ROCm 7.2 (values and layouts are ABI
// facts):
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
};

enum PoolInfo : uint32_t { kPoolLocation = 17, kPoolRecGranule = 18 };
constexpr uint32_t kPoolFlagExtendedScopeFineGrained = 8;

enum PointerType : uint32_t { kPointerReservedAddr = 5, kPointerVmem = 6 };

constexpr hsa_status_t kStatusOutOfRegisters = static_cast<hsa_status_t>(45);
constexpr hsa_status_t kStatusResourceBusy = static_cast<hsa_status_t>(46);
constexpr hsa_status_t kStatusNotSupported = static_cast<hsa_status_t>(47);

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
