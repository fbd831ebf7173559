// HIP_ENABLE_WARP_SYNC_BUILTINS brings __shfl_sync and its siblings since ROCm 6.2; before, it had no effect.
// https://github.com/ROCm/clr/blob/rocm-6.2.0/CHANGELOG.md
#define HIP_ENABLE_WARP_SYNC_BUILTINS
#include <hip/hip_runtime.h>

__global__ void broadcast(int* out) { out[threadIdx.x] = EXCHANGE; }
