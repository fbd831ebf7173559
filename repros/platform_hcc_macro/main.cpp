// A plain C++ compiler has to be told the platform. Until ROCm 5.7 __HIP_PLATFORM_HCC__ did; since 6.0 only
// __HIP_PLATFORM_AMD__ does.
// https://github.com/ROCm/clr/blob/rocm-6.0.2/CHANGELOG.md
#include <hip/hip_runtime_api.h>

hipError_t start() { return hipInit(0); }
