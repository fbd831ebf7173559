// __shfl_sync and its siblings need no opt-in since ROCm 7.0; before, they were hidden or absent.
// https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/CHANGELOG.md
#include <hip/hip_runtime.h>

__global__ void broadcast(int* out) {
#ifdef SYNC
  out[threadIdx.x] = __shfl_sync(~0ull, static_cast<int>(threadIdx.x), 0);
#else
  out[threadIdx.x] = __shfl(static_cast<int>(threadIdx.x), 0);
#endif
}
