// hipHostAlloc takes a pointer to any pointer since ROCm 6.3; before, only void** matched.
// https://github.com/ROCm/legacy-rocm-build/issues/3692
#include <hip/hip_runtime_api.h>

hipError_t allocate(float** pointer, size_t bytes) { return FUNCTION(pointer, bytes, 0); }
