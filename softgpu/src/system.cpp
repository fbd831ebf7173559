// Start-up, system attributes and extension tables.
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "answers.hpp"
#include "async.hpp"

namespace sg {
namespace {

std::mutex init_mutex;

}  // namespace
}  // namespace sg

using namespace sg;

SG_API hsa_status_t hsa_init() {
  std::lock_guard<std::mutex> lock(init_mutex);
  Runtime& rt = runtime();
  if (rt.agents.empty()) {
    hsa_status_t status = rt.start();
    if (status != HSA_STATUS_SUCCESS) return status;
    // Registered after the destructors of HIP, which was loaded before it called us, and so run before them.
    std::atexit(async::settle);
  }
  rt.references.fetch_add(1);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_shut_down() {
  std::lock_guard<std::mutex> lock(init_mutex);
  SG_REQUIRE_INIT();
  // Handlers that still run may use the runtime, so it is there until they have ended.
  if (runtime().references.load() == 1) async::end();
  runtime().references.fetch_sub(1);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_system_get_info(hsa_system_info_t attribute, void* value) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(value, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const Runtime& rt = runtime();
  switch (static_cast<uint32_t>(attribute)) {
    case HSA_SYSTEM_INFO_VERSION_MAJOR:
      return put<uint16_t>(value, 1);
    case HSA_SYSTEM_INFO_VERSION_MINOR:
      return put<uint16_t>(value, 1);
    case HSA_SYSTEM_INFO_TIMESTAMP:
      return put<uint64_t>(value, now());
    case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY:
      return put<uint64_t>(value, 1000000000);
    case HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT:
      return put<uint64_t>(value, UINT64_MAX);
    case HSA_SYSTEM_INFO_ENDIANNESS:
      return put(value, HSA_ENDIANNESS_LITTLE);
    case HSA_SYSTEM_INFO_MACHINE_MODEL:
      return put(value, HSA_MACHINE_MODEL_LARGE);
    case HSA_SYSTEM_INFO_EXTENSIONS:
      std::memset(value, 0, 128);
      static_cast<uint8_t*>(value)[HSA_EXTENSION_IMAGES / 8] |= 1u << (HSA_EXTENSION_IMAGES % 8);
      return HSA_STATUS_SUCCESS;
    case abi::kBuildVersion:
      return put<const char*>(value, "softgpu");
    case abi::kSvmSupported:
      return put<bool>(value, rt.hmm);
    case abi::kSvmAccessibleByDefault:
      return put<bool>(value, rt.hmm && rt.xnack);
    case abi::kMwaitxEnabled:
      return put<bool>(value, false);
    case abi::kDmabufSupported:
      return put<bool>(value, true);
    case abi::kVirtualMemApiSupported:
      return put<bool>(value, rt.config.vmm != 0);
    case abi::kXnackEnabled:
      return put<bool>(value, rt.xnack);
    case abi::kFabricHandlesSupported:
      return put<bool>(value, false);
    case abi::kExtVersionMajor:
      return put<uint16_t>(value, 1);
    case abi::kExtVersionMinor:
      return put<uint16_t>(value, hip_version_below(7, 15) ? 15 : 30);
    default:
      return refuse("system", attribute);
  }
}

SG_API hsa_status_t hsa_extension_get_name(uint16_t extension, const char** name) {
  SG_REQUIRE(name, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  switch (extension) {
    case HSA_EXTENSION_IMAGES:
      *name = "HSA_EXTENSION_IMAGES";
      break;
    case HSA_EXTENSION_AMD_LOADER:
      *name = "HSA_EXTENSION_AMD_LOADER";
      break;
    default:
      *name = "HSA_EXTENSION_INVALID";
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_system_major_extension_supported(uint16_t extension, uint16_t major, uint16_t* minor,
                                                         bool* result) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(minor && result, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  *minor = 0;
  *result = major == 1 && (extension == HSA_EXTENSION_IMAGES || extension == HSA_EXTENSION_AMD_LOADER);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_system_extension_supported(uint16_t extension, uint16_t major, uint16_t minor,
                                                   bool* result) {
  (void)minor;
  uint16_t have = 0;
  return hsa_system_major_extension_supported(extension, major, &have, result);
}

SG_API hsa_status_t hsa_agent_major_extension_supported(uint16_t extension, hsa_agent_t agent, uint16_t major,
                                                        uint16_t* minor, bool* result) {
  SG_REQUIRE(agent_of(agent), HSA_STATUS_ERROR_INVALID_AGENT);
  return hsa_system_major_extension_supported(extension, major, minor, result);
}

SG_API hsa_status_t hsa_agent_extension_supported(uint16_t extension, hsa_agent_t agent, uint16_t major,
                                                  uint16_t minor, bool* result) {
  (void)minor;
  uint16_t have = 0;
  return hsa_agent_major_extension_supported(extension, agent, major, &have, result);
}
