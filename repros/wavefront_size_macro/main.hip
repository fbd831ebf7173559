// The compiler macro __AMDGCN_WAVEFRONT_SIZE__ (and its alias without the last underscores) is gone in ROCm 7.2.
// https://github.com/ROCm/llvm-project/pull/492
#include <hip/hip_runtime.h>

__global__ void width(int* out) { out[0] = WIDTH; }
