// Create, destroy or set a memory pool, or set a cache preference, while a stream of this thread is captured.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <string>

#include "hip_check.h"

static hipMemPoolProps pool_of_device_0() {
  hipMemPoolProps properties = {};
  properties.allocType = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = 0;
  return properties;
}

static hipError_t run(const std::string& call, hipMemPool_t pool) {
  const hipMemPoolProps properties = pool_of_device_0();
  hipMemPool_t created = nullptr;
  if (call == "hipMemPoolCreate") return hipMemPoolCreate(&created, &properties);
  if (call == "hipMemPoolDestroy") return hipMemPoolDestroy(pool);
  if (call == "hipDeviceSetMemPool") return hipDeviceSetMemPool(0, pool);
  if (call == "hipDeviceSetCacheConfig") return hipDeviceSetCacheConfig(hipFuncCachePreferNone);
  if (call == "hipDeviceSetSharedMemConfig") return hipDeviceSetSharedMemConfig(hipSharedMemBankSizeDefault);
  leave(REPRO_BROKEN);
}

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const bool global = std::string(argv[2]) == "global";
  const hipMemPoolProps properties = pool_of_device_0();
  hipStream_t stream = nullptr;
  hipMemPool_t pool = nullptr;
  HIP_REQUIRE(hipStreamCreate(&stream));
  HIP_REQUIRE(hipMemPoolCreate(&pool, &properties));
  HIP_REQUIRE(hipStreamBeginCapture(stream, global ? hipStreamCaptureModeGlobal : hipStreamCaptureModeRelaxed));
  const hipError_t error = run(argv[1], pool);
  hipGraph_t graph = nullptr;
  const hipError_t end = hipStreamEndCapture(stream, &graph);
  std::printf("hipStreamEndCapture: %s\n", hipGetErrorName(end));
  repro_observe("hipStreamEndCapture", hipGetErrorName(end));
  return hip_expect(argv[1], error, hipSuccess);
}
