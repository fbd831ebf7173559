// Launch a host function that is no kernel. https://github.com/ROCm/rocm-systems/issues/2805
#include <string>

#include "hip_check.h"

static void no_kernel() { std::puts("called"); }

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const void* const function = reinterpret_cast<const void*>(no_kernel);
  hipFuncAttributes attributes;
  HIP_REQUIRE(hipStreamSynchronize(nullptr));
  if (std::string(argv[1]) == "hipFuncGetAttributes") {
    const hipError_t error = hipFuncGetAttributes(&attributes, function);
    std::printf("hipFuncGetAttributes: %s\n", hipGetErrorName(error));
    leave(error == hipSuccess);
  }
  const hipError_t error = hipLaunchKernel(function, dim3(1), dim3(64), nullptr, 0, nullptr);
  leave(hip_expect("hipLaunchKernel", error, hipErrorInvalidDeviceFunction));
}
