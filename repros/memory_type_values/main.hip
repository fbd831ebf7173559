// ROCm 6.0 renumbered hipMemoryType: Host 0 -> 1, Device 1 -> 2, to make room for hipMemoryTypeUnregistered = 0.
// https://github.com/cupy/cupy/pull/8319
#include <hip/hip_runtime_api.h>

static_assert(ASSUMPTION, "code that stores the numbers instead of the names is wrong");
