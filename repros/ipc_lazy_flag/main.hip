// hipIpcMemLazyEnablePeerAccess was 0 before ROCm 6.0 and is 1 since.
// https://github.com/ROCm/clr/blob/rocm-6.0.2/CHANGELOG.md
#include <hip/hip_runtime_api.h>

static_assert(ASSUMPTION, "code that stores the number instead of the name is wrong");
