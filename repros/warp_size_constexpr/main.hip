// warpSize is not a compile-time constant since ROCm 7.0, because one binary may run with 32 and with 64 lanes.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <hip/hip_runtime.h>

__global__ void width(int* out) {
  QUALIFIER int lanes = warpSize;
  out[0] = lanes;
}
