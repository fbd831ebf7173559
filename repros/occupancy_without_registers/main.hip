// Ask for the occupancy of a kernel that uses no vector register.
// https://github.com/ROCm/hipamd/blob/rocm-5.2.x/src/hip_platform.cpp
#include <hip/hip_runtime.h>

#include <string>

#include "hip_check.h"

__global__ void empty() {}
__global__ void writes(int* out) { out[threadIdx.x] = 1; }

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const bool uses_none = std::string(argv[1]) == "empty";
  const void* const kernel = uses_none ? reinterpret_cast<const void*>(empty) : reinterpret_cast<const void*>(writes);
  int blocks = 0;
  HIP_REQUIRE(hipFree(nullptr));
  return hip_expect("hipOccupancyMaxActiveBlocksPerMultiprocessor",
                    hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 64, 0), hipSuccess);
}
