// __syncwarp exists since ROCm 7.0.
// https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/CHANGELOG.md
#include <hip/hip_runtime.h>

__global__ void wait() { BARRIER(); }
