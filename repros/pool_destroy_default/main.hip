// Destroy the default memory pool of the device, which belongs to HIP.
// https://github.com/ROCm/clr/commit/4d61237a6f79cf9ec28d92310b6895205c6895e0
#include <cstring>
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const bool own = std::string(argv[1]) == "own";
  hipMemPool_t pool = nullptr;
  if (own) {
    hipMemPoolProps properties;
    std::memset(&properties, 0, sizeof properties);
    properties.allocType = hipMemAllocationTypePinned;
    properties.location.type = hipMemLocationTypeDevice;
    HIP_REQUIRE(hipMemPoolCreate(&pool, &properties));
  } else {
    HIP_REQUIRE(hipDeviceGetDefaultMemPool(&pool, 0));
  }
  const hipError_t error = hipMemPoolDestroy(pool);
  if (own || error != hipSuccess) {
    return hip_expect("hipMemPoolDestroy", error, own ? hipSuccess : hipErrorInvalidValue);
  }
  std::printf("hipMemPoolDestroy: hipSuccess; the next hipMallocAsync would use freed memory\n");
  repro_signature("the default pool is destroyed");
  leave(1);
}
