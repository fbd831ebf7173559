// Ask for the attributes of the null pointer. https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  void* pointer = nullptr;
  HIP_REQUIRE(hipFree(nullptr));
  if (std::string(argv[1]) == "device") HIP_REQUIRE(hipMalloc(&pointer, 4096));
  hipPointerAttribute_t attributes;
  return hip_expect("hipPointerGetAttributes", hipPointerGetAttributes(&attributes, pointer), hipSuccess);
}
