// A program whose kernels are built for another GPU asks for the number of devices, and can then use the CPU.
// https://github.com/ROCm/ROCm/issues/1623
#include <hip/hip_runtime.h>

#include "hip_check.h"

#ifdef WITH_KERNEL
__global__ void kernel() {}
#endif

int main() {
#ifdef WITH_KERNEL
  // Refer to the kernel, so that it is not dropped; it is never launched.
  if (std::getenv("REPRO_NEVER_SET") != nullptr) kernel<<<1, 1>>>();
#endif
  int count = 0;
  return hip_expect("hipGetDeviceCount", hipGetDeviceCount(&count), hipSuccess);
}
