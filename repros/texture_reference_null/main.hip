// Give the functions for texture references no reference, or no memory.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <hip/hip_runtime.h>

#include <string>

#include "hip_check.h"

texture<float, 2, hipReadModeElementType> image;

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string what = argv[1];
  const textureReference* const reference = reinterpret_cast<const textureReference*>(&image);
  const textureReference* const none = nullptr;
  void* memory = nullptr;
  size_t pitch = 0, offset = 0;
  HIP_REQUIRE(hipMallocPitch(&memory, &pitch, 64, 16));
  hipChannelFormatDesc format = hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindFloat);
  if (what == "offset-of-no-reference") {
    // hipErrorInvalidTexture by its number: the headers before 7.0 do not have the name.
    return hip_expect("hipGetTextureAlignmentOffset", hipGetTextureAlignmentOffset(&offset, none),
                      static_cast<hipError_t>(912));
  }
  const bool reference_given = what != "bind-no-reference", memory_given = what != "bind-no-memory";
  const hipError_t error = hipBindTexture2D(&offset, reference_given ? reference : none,
                                            memory_given ? memory : nullptr, &format, 16, 16, pitch);
  return hip_expect("hipBindTexture2D", error, what == "bind" ? hipSuccess : hipErrorNotFound);
}
