// Since ROCm 6.0 hipPointerAttribute_t has no member `memoryType`; `type` took its place.
// https://github.com/ROCm/clr/blob/rocm-6.0.0/CHANGELOG.md
#include <hip/hip_runtime_api.h>

int read_attribute(const hipPointerAttribute_t& attribute) { return static_cast<int>(attribute.MEMBER); }
