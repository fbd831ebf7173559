// From ROCm 5.6 until 6.1 `a * b` on hipFloatComplex was ambiguous: two headers each declared an operator for it.
// https://github.com/ROCm/hip/issues/3377
#include <hip/hip_complex.h>
#include <hip/hip_runtime.h>

__device__ hipFloatComplex product(hipFloatComplex a, hipFloatComplex b) { return PRODUCT; }
