// Agents, their attributes and instruction sets.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "answers.hpp"

namespace sg {
namespace {

hsa_status_t put_text(void* value, const std::string& text) {
  std::memset(value, 0, 64);  // HSA names: 63 characters and the NUL
  std::memcpy(value, text.data(), std::min<size_t>(text.size(), 63));
  return HSA_STATUS_SUCCESS;
}

hsa_status_t caches(const Agent& agent, void* value) {
  uint32_t sizes[4] = {32768, 0, 0, 0};
  if (agent.gpu) {
    sizes[0] = agent.chip->l1_kb << 10;
    sizes[1] = agent.chip->l2_kb << 10;
    sizes[2] = agent.chip->l3_kb << 10;
  }
  return put(value, sizes);
}

// What both kinds of agents answer.
hsa_status_t common_info(const Agent& agent, uint32_t attribute, void* value) {
  const bool gpu = agent.gpu;
  switch (attribute) {
    case HSA_AGENT_INFO_NAME:
      return put_text(value, agent.name);
    case HSA_AGENT_INFO_VENDOR_NAME:
      return put_text(value, gpu ? "AMD" : "CPU");
    case HSA_AGENT_INFO_FEATURE:
      return put<uint32_t>(value, gpu ? HSA_AGENT_FEATURE_KERNEL_DISPATCH : 0);
    case HSA_AGENT_INFO_MACHINE_MODEL:
      return put(value, HSA_MACHINE_MODEL_LARGE);
    case HSA_AGENT_INFO_PROFILE:
      return put(value, gpu ? HSA_PROFILE_BASE : HSA_PROFILE_FULL);
    case HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE:
    case HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES:
      return put(value, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR);
    case HSA_AGENT_INFO_FAST_F16_OPERATION:
      return put<bool>(value, gpu);
    case HSA_AGENT_INFO_WAVEFRONT_SIZE:
      return put<uint32_t>(value, gpu ? agent.chip->wavefront : 0);
    case HSA_AGENT_INFO_WORKGROUP_MAX_DIM: {
      uint16_t one = gpu ? 1024 : 0, dims[3] = {one, one, one};
      return put(value, dims);
    }
    case HSA_AGENT_INFO_WORKGROUP_MAX_SIZE:
      return put<uint32_t>(value, gpu ? 1024 : 0);
    case HSA_AGENT_INFO_GRID_MAX_DIM: {
      if (!gpu) return put(value, hsa_dim3_t{});
      // Since ROCm 7 the limits are those of HIP, before they were those of the packet.
      static const bool wide = hip_version_below(7, 0);
      return put(value, wide ? hsa_dim3_t{UINT32_MAX, UINT32_MAX, UINT32_MAX}
                             : hsa_dim3_t{INT32_MAX, UINT16_MAX, UINT16_MAX});
    }
    case HSA_AGENT_INFO_GRID_MAX_SIZE:
      return put<uint32_t>(value, gpu ? UINT32_MAX : 0);
    case HSA_AGENT_INFO_FBARRIER_MAX_SIZE:
      return put<uint32_t>(value, gpu ? 32 : 0);
    case HSA_AGENT_INFO_QUEUES_MAX:
      return put<uint32_t>(value, gpu ? 128 : 0);
    case HSA_AGENT_INFO_QUEUE_MIN_SIZE:
      return put<uint32_t>(value, gpu ? 64 : 0);
    case HSA_AGENT_INFO_QUEUE_MAX_SIZE:
      return put<uint32_t>(value, gpu ? 131072 : 0);
    case HSA_AGENT_INFO_QUEUE_TYPE:
      return put(value, HSA_QUEUE_TYPE_MULTI);
    case HSA_AGENT_INFO_NODE:
      return put<uint32_t>(value, agent.node);
    case HSA_AGENT_INFO_DEVICE:
      return put(value, gpu ? HSA_DEVICE_TYPE_GPU : HSA_DEVICE_TYPE_CPU);
    case HSA_AGENT_INFO_CACHE_SIZE:
      return caches(agent, value);
    case HSA_AGENT_INFO_ISA:
      return put<uint64_t>(value, gpu ? reinterpret_cast<uint64_t>(&agent.isa) : 0);
    case HSA_AGENT_INFO_EXTENSIONS:
      std::memset(value, 0, 128);
      if (gpu) static_cast<uint8_t*>(value)[0] |= 1u << HSA_EXTENSION_IMAGES;
      return HSA_STATUS_SUCCESS;
    case HSA_AGENT_INFO_VERSION_MAJOR:
      return put<uint16_t>(value, 1);
    case HSA_AGENT_INFO_VERSION_MINOR:
      return put<uint16_t>(value, 1);
    default:
      return HSA_STATUS_INFO_BREAK;
  }
}

// The limits that the real runtime answers for chips with image instructions, and zeros for those without.
// https://github.com/ROCm/ROCR-Runtime/blob/rocm-6.2.4/runtime/hsa-runtime/image/image_manager_kv.cpp
hsa_status_t image_info(uint32_t attribute, void* value) {
  const bool images = runtime().images;
  uint32_t limit = 0;
  switch (attribute) {
    case HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS:
    case HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS:
      limit = 16384;
      break;
    case HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS:
      limit = UINT32_MAX;
      break;
    case HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS:
    case HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS:
    case HSA_EXT_AGENT_INFO_IMAGE_2DDEPTH_MAX_ELEMENTS:
    case HSA_EXT_AGENT_INFO_IMAGE_2DADEPTH_MAX_ELEMENTS: {
      uint32_t plane[2] = {images ? 16384u : 0, images ? 16384u : 0};
      return put(value, plane);
    }
    case HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS: {
      uint32_t box[3] = {images ? 16384u : 0, images ? 16384u : 0, images ? 8192u : 0};
      return put(value, box);
    }
    case HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS:
      limit = 8192;
      break;
    case HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES:
      limit = 128;
      break;
    case HSA_EXT_AGENT_INFO_MAX_IMAGE_RORW_HANDLES:
      limit = 64;
      break;
    case HSA_EXT_AGENT_INFO_MAX_SAMPLER_HANDLERS:
      limit = 16;
      break;
    case abi::kImageSupport:
      return put<bool>(value, images);
    case HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT:
      return put<uint32_t>(value, 256);
    default:
      return refuse("agent", attribute);
  }
  return put<uint32_t>(value, images ? limit : 0);
}

hsa_status_t memory_avail(Agent& agent, void* value) {
  report::add(report::Kind::kSoft, "free memory");
  return put<uint64_t>(value, agent.heap.size() - std::min(agent.heap.size(), agent.heap.used()));
}

// What ROCm 10.0 added. Kernels with clusters, prefetch regions and expert scheduling are of chips to come.
hsa_status_t newest_info(const Agent& agent, uint32_t attribute, void* value) {
  const bool gpu = agent.gpu;
  switch (attribute) {
    case abi::kPm4Emulation:
    case abi::kExpertScheduling:
      return put<bool>(value, false);
    case abi::kLuid:  // Windows has it
      return put<uint64_t>(value, 0);
    case abi::kCuid: {
      uint8_t id[16] = {};
      std::copy_n(agent.uuid.begin(), std::min(agent.uuid.size(), sizeof id), id);
      return put(value, id);
    }
    case abi::kKernelGroupsMax:
      return put<uint64_t>(value, gpu ? UINT32_MAX : 0);
    case abi::kKernelGroupsMaxDim:
      return put(value, gpu ? abi::Dim3{INT32_MAX, UINT16_MAX, UINT16_MAX} : abi::Dim3{});
    case abi::kKernelClustersMaxDim:
    case abi::kClusterGroupsMaxDim:
      return put(value, abi::Dim3{});
    case abi::kKernelClustersMax:
    case abi::kClusterGroupsMax:
      return put<uint64_t>(value, 0);
    case abi::kPrefetchRegionsMax:
      return put<uint32_t>(value, 0);
    case abi::kHostDmabufSupported:
      return put<bool>(value, true);
    default:
      return refuse("agent", attribute);
  }
}

hsa_status_t amd_info(Agent& agent, uint32_t attribute, void* value) {
  static const Chip none;
  const Chip& chip = agent.gpu ? *agent.chip : none;
  const bool gpu = agent.gpu;
  switch (attribute) {
    case HSA_AMD_AGENT_INFO_CHIP_ID:
      return put<uint32_t>(value, chip.chip_id);
    case HSA_AMD_AGENT_INFO_CACHELINE_SIZE:
      return put<uint32_t>(value, chip.cacheline);
    case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT:
    case HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT:
      return put<uint32_t>(value,
                           gpu ? chip.compute_units : static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)));
    case HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY:
      return put<uint32_t>(value, chip.max_clock_mhz);
    case HSA_AMD_AGENT_INFO_DRIVER_NODE_ID:
      return put<uint32_t>(value, agent.node);
    case HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS:
      return put<uint32_t>(value, gpu ? 4 : 1);
    case HSA_AMD_AGENT_INFO_BDFID:
      return put<uint32_t>(value, gpu ? agent.node << 8 : 0);
    case HSA_AMD_AGENT_INFO_MEMORY_WIDTH:
      return put<uint32_t>(value, chip.memory_width);
    case HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY:
      return put<uint32_t>(value, chip.memory_clock_mhz);
    case HSA_AMD_AGENT_INFO_PRODUCT_NAME:
      return put_text(value, gpu ? chip.marketing : agent.name);
    case HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU:
      return put<uint32_t>(value, gpu ? chip.max_waves_per_cu : 0);
    case HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU:
      return put<uint32_t>(value, gpu ? chip.simds_per_cu : 0);
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES:
      return put<uint32_t>(value, gpu ? chip.shader_engines : 0);
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE:
      return put<uint32_t>(value, gpu ? chip.shader_arrays_per_se : 0);
    case HSA_AMD_AGENT_INFO_HDP_FLUSH: {
      hsa_amd_hdp_flush_t flush = {&agent.hdp[0], &agent.hdp[1]};
      return put(value, flush);
    }
    case HSA_AMD_AGENT_INFO_DOMAIN:
      return put<uint32_t>(value, 0);
    case HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES:
      return put<bool>(value, gpu && chip.cooperative);
    case HSA_AMD_AGENT_INFO_UUID:
      std::memcpy(value, agent.uuid.c_str(), agent.uuid.size() + 1);  // at most 21 bytes
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_AGENT_INFO_ASIC_REVISION:
      return put<uint32_t>(value, chip.asic_revision);
    case HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS:
      return put<bool>(value, chip.coherent_host_access);
    case abi::kMemoryAvail:
      return gpu ? memory_avail(agent, value) : HSA_STATUS_ERROR_INVALID_ARGUMENT;
    case abi::kTimestampFrequency:
      return put<uint64_t>(value, chip.wallclock_hz);
    case abi::kAsicFamilyId:
      return put<uint32_t>(value, chip.family_id);
    case abi::kUcodeVersion:
      return put<uint32_t>(value, 0);
    case abi::kSdmaUcodeVersion:
      return put<uint32_t>(value, 0);
    case abi::kNumSdmaEng:
      return put<uint32_t>(value, gpu ? chip.sdma_engines : 0);
    case abi::kNumSdmaXgmiEng:
      return put<uint32_t>(value, gpu ? chip.sdma_xgmi_engines : 0);
    case abi::kIommuSupport:
      return put<uint32_t>(value, 0);
    case abi::kNumXcc:
      return put<uint32_t>(value, chip.xcc);
    case abi::kDriverUid:
      return put<uint32_t>(value, gpu ? 0x5000 + agent.node : 0);
    case abi::kNearestCpu:
      return put(value, runtime().cpu->handle());
    case abi::kMemoryProperties:
      return put<uint64_t>(value, gpu && chip.apu ? 1u << abi::kMemoryPropertyApuBit : 0);
    case abi::kAqlExtensions:
      return put<uint64_t>(value, 0);
    case abi::kScratchLimitMax:
      return put<uint64_t>(value, gpu ? 4ull << 30 : 0);
    case abi::kScratchLimitCurrent:
      return put<uint64_t>(value, agent.scratch_limit.load());
    case abi::kClockCounters: {
      uint64_t time = now();
      report::add(report::Kind::kSoft, "timings");
      abi::ClockCounters clocks = {time, time, time, 1000000000};
      return put(value, clocks);
    }
    default:
      return newest_info(agent, attribute, value);
  }
}

}  // namespace
}  // namespace sg

using namespace sg;

SG_API hsa_status_t hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void*), void* data) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(callback, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  for (Agent* agent : runtime().agents) {
    hsa_status_t status = callback(agent->handle(), data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_agent_get_info(hsa_agent_t handle, hsa_agent_info_t attribute, void* value) {
  SG_REQUIRE_INIT();
  Agent* agent = agent_of(handle);
  SG_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
  SG_REQUIRE(value, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  uint32_t number = static_cast<uint32_t>(attribute);
  hsa_status_t status = common_info(*agent, number, value);
  if (status != HSA_STATUS_INFO_BREAK) return status;
  if (number >= HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS && number < 0x3010) return image_info(number, value);
  return amd_info(*agent, number, value);
}

SG_API hsa_status_t hsa_agent_iterate_isas(hsa_agent_t handle, hsa_status_t (*callback)(hsa_isa_t, void*),
                                           void* data) {
  SG_REQUIRE_INIT();
  Agent* agent = agent_of(handle);
  SG_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
  SG_REQUIRE(callback, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  // Exactly one per GPU: HIP drops a device with more.
  return agent->gpu ? callback({reinterpret_cast<uint64_t>(&agent->isa)}, data) : HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_isa_from_name(const char* name, hsa_isa_t* isa) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(name && isa, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  for (Agent* agent : runtime().gpus) {
    if (agent->isa.name == name) {
      isa->handle = reinterpret_cast<uint64_t>(&agent->isa);
      return HSA_STATUS_SUCCESS;
    }
  }
  return HSA_STATUS_ERROR_INVALID_ISA_NAME;
}

SG_API hsa_status_t hsa_isa_compatible(hsa_isa_t code, hsa_isa_t agent, bool* result) {
  SG_REQUIRE(result, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const auto* one = reinterpret_cast<const Isa*>(code.handle);
  const auto* other = reinterpret_cast<const Isa*>(agent.handle);
  SG_REQUIRE(one && other, HSA_STATUS_ERROR_INVALID_ISA);
  *result = one->name == other->name;
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_isa_get_info_alt(hsa_isa_t handle, hsa_isa_info_t attribute, void* value) {
  SG_REQUIRE_INIT();
  const Isa* isa = nullptr;
  for (Agent* agent : runtime().gpus) {
    if (reinterpret_cast<uint64_t>(&agent->isa) == handle.handle) isa = &agent->isa;
  }
  SG_REQUIRE(isa, HSA_STATUS_ERROR_INVALID_ISA);
  SG_REQUIRE(value, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  switch (static_cast<uint32_t>(attribute)) {
    case HSA_ISA_INFO_NAME_LENGTH:
      return put<uint32_t>(value, static_cast<uint32_t>(isa->name.size() + 1));
    case HSA_ISA_INFO_NAME:
      std::memcpy(value, isa->name.c_str(), isa->name.size() + 1);
      return HSA_STATUS_SUCCESS;
    case HSA_ISA_INFO_MACHINE_MODELS: {
      bool models[2] = {false, true};
      return put(value, models);
    }
    case HSA_ISA_INFO_PROFILES: {
      bool profiles[2] = {true, false};
      return put(value, profiles);
    }
    case HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES:
    case HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES: {
      bool modes[3] = {false, false, true};
      return put(value, modes);
    }
    case HSA_ISA_INFO_FAST_F16_OPERATION:
      return put<bool>(value, true);
    case HSA_ISA_INFO_WORKGROUP_MAX_DIM: {
      uint16_t dims[3] = {1024, 1024, 1024};
      return put(value, dims);
    }
    case HSA_ISA_INFO_WORKGROUP_MAX_SIZE:
      return put<uint32_t>(value, 1024);
    case HSA_ISA_INFO_GRID_MAX_DIM: {
      hsa_dim3_t grid = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
      return put(value, grid);
    }
    case HSA_ISA_INFO_GRID_MAX_SIZE:
      return put<uint64_t>(value, UINT64_MAX);
    case HSA_ISA_INFO_FBARRIER_MAX_SIZE:
      return put<uint32_t>(value, 32);
    default:
      return refuse("isa", static_cast<uint32_t>(attribute));
  }
}
