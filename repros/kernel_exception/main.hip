// Launch a kernel that fails, and look whether the program can tell.
// https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/CHANGELOG.md (HIP 7.0)
#include <hip/hip_runtime.h>

#include <string>

#include "hip_check.h"

__global__ void kernel(bool fail) {
  if (fail) __builtin_trap();
}

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const bool fail = std::string(argv[1]) == "trap";
  // The software GPU does not execute kernels: its second one is made to fail by the environment of this reproducer.
  kernel<<<1, 1>>>(false);
  HIP_REQUIRE(hipDeviceSynchronize());
  if (fail) kernel<<<1, 1>>>(true);
  const hipError_t error = hipDeviceSynchronize();  // up to ROCm 6.4 the process is aborted here
  std::printf("hipDeviceSynchronize: %s\n", hipGetErrorName(error));
  repro_observe("hipDeviceSynchronize", hipGetErrorName(error));
  if ((error != hipSuccess) == fail) leave(0);
  repro_signature("the failure is not reported");
  leave(1);
}
