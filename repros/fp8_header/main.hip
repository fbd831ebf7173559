// hip/hip_fp8.h, the 8-bit floating-point types, exists since ROCm 6.2.
// https://github.com/ROCm/clr/blob/rocm-6.2.0/CHANGELOG.md
#include HEADER
