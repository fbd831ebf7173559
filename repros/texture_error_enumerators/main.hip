// hipErrorInvalidTexture and hipErrorInvalidChannelDescriptor have enumerators since ROCm 6.3.
// https://github.com/ROCm/HIP/commit/6b5b7c943848c7f96d3fe247f4a405739c6b974a
#include <hip/hip_runtime_api.h>

const hipError_t error = ERROR;
