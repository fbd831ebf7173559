// hipDeviceProp_t lost the number `gcnArch` in ROCm 6.0; the string `gcnArchName` remains.
// https://github.com/ROCm/clr/blob/rocm-6.0.2/CHANGELOG.md
#include <hip/hip_runtime_api.h>

bool has_arch(const hipDeviceProp_t& properties) { return properties.MEMBER ? true : false; }
