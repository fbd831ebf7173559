// The OpenGL interoperability calls moved from hip_runtime_api.h to hip_gl_interop.h in ROCm 6.0.
// https://github.com/ROCm/clr/blob/rocm-6.0.2/CHANGELOG.md
#include <hip/hip_runtime_api.h>

void* const address = reinterpret_cast<void*>(&FUNCTION);
