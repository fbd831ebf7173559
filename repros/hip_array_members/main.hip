// struct hipArray is opaque since ROCm 6.0, as in CUDA; its members cannot be read any more.
// https://github.com/ROCm/clr/blob/rocm-6.0.2/CHANGELOG.md
#include <hip/hip_runtime_api.h>

#ifdef MEMBER
unsigned width(hipArray_t array) { return array->width; }
#else
hipError_t release(hipArray_t array) { return hipFreeArray(array); }
#endif
