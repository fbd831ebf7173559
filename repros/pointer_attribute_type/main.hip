// hipPointerAttribute_t has the member `type`, CUDA's name for it, since ROCm 5.5; before there was only `memoryType`.
// https://github.com/ROCm/HIP/commit/96b3b9eaf58bfc9d9d7584657da2695a8b94134a
#include <hip/hip_runtime_api.h>

int read_attribute(const hipPointerAttribute_t& attribute) { return static_cast<int>(attribute.MEMBER); }
