// Give a texture function a null pointer. https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <cstring>
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string null = argv[1];
  hipArray_t array = nullptr;
  hipChannelFormatDesc format = hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindFloat);
  HIP_REQUIRE(hipMallocArray(&array, &format, 16, 16, 0));
  hipResourceDesc resource;
  hipTextureDesc texture;
  std::memset(&resource, 0, sizeof resource);
  std::memset(&texture, 0, sizeof texture);
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipTextureObject_t object = nullptr;
  const hipError_t error =
      hipCreateTextureObject(null == "object" ? nullptr : &object, null == "resource" ? nullptr : &resource,
                             null == "texture" ? nullptr : &texture, nullptr);
  // hipErrorInvalidChannelDescriptor by its number: the headers before 7.0 do not have the name.
  return hip_expect("hipCreateTextureObject", error, null == "none" ? hipSuccess : static_cast<hipError_t>(911));
}
