// The members of HIP_MEMCPY3D are size_t since ROCm 6.0; they were unsigned int and cut off large sizes.
// https://github.com/ROCm/clr/blob/rocm-6.0.2/CHANGELOG.md
#include <hip/hip_runtime_api.h>

void set_pitch(HIP_MEMCPY3D& copy, unsigned pitch) {
#ifdef BY_POINTER
  unsigned* member = &copy.srcPitch;
  *member = pitch;
#else
  copy.srcPitch = pitch;
#endif
}
