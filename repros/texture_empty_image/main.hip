// Make a texture object over an image without columns.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <cstring>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  void* memory = nullptr;
  size_t pitch = 0;
  HIP_REQUIRE(hipMallocPitch(&memory, &pitch, 64, 16));
  hipResourceDesc resource;
  hipTextureDesc texture;
  std::memset(&resource, 0, sizeof resource);
  std::memset(&texture, 0, sizeof texture);
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.desc = hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindFloat);
  resource.res.pitch2D.width = std::strtoul(argv[1], nullptr, 10);
  resource.res.pitch2D.height = std::strtoul(argv[2], nullptr, 10);
  resource.res.pitch2D.pitchInBytes = pitch;
  hipTextureObject_t object = nullptr;
  const hipError_t error = hipCreateTextureObject(&object, &resource, &texture, nullptr);
  return hip_expect("hipCreateTextureObject", error, hipSuccess);
}
