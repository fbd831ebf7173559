// Launch a kernel on several devices (here one) with a stream that is not allowed.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <hip/hip_runtime.h>

#include <string>

#include "hip_check.h"

__global__ void nothing() {}

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string stream = argv[1];
  hipLaunchParams launch = {};
  launch.func = reinterpret_cast<void*>(nothing);
  launch.gridDim = dim3(1);
  launch.blockDim = dim3(64);
  HIP_REQUIRE(hipStreamSynchronize(nullptr));
  if (stream == "created") HIP_REQUIRE(hipStreamCreate(&launch.stream));
#ifdef hipStreamLegacy
  if (stream == "hipStreamLegacy") launch.stream = hipStreamLegacy;
#else
  if (stream == "hipStreamLegacy") {
    std::puts("this version has no hipStreamLegacy");
    return REPRO_SKIP;
  }
#endif
  return hip_expect("hipLaunchCooperativeKernelMultiDevice", hipLaunchCooperativeKernelMultiDevice(&launch, 1, 0),
                    stream == "created" ? hipSuccess : hipErrorInvalidHandle);
}
