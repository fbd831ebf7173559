// How much shared memory has a multiprocessor?
// https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/CHANGELOG.md (HIP 7.2)
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const bool block = std::string(argv[1]) == "per-block";
  int of_block = 0, value = 0;
  HIP_REQUIRE(hipDeviceGetAttribute(&of_block, hipDeviceAttributeMaxSharedMemoryPerBlock, 0));
  const hipDeviceAttribute_t attribute =
      block ? hipDeviceAttributeMaxSharedMemoryPerBlock : hipDeviceAttributeSharedMemPerMultiprocessor;
  const hipError_t error = hipDeviceGetAttribute(&value, attribute, 0);
  if (error != hipSuccess) {
    std::printf("this version does not know the attribute (%s)\n", hipGetErrorName(error));
    return REPRO_SKIP;
  }
  std::printf("%s: %d bytes; a block may have %d\n", argv[1], value, of_block);
  repro_observe(argv[1], std::to_string(value).c_str());
  // The largest of AMD's compute units has 160 KiB, so four blocks' worth is beyond any of them.
  if (value >= of_block && value <= 4 * of_block) return 0;
  repro_signature("more than a multiprocessor has");
  return 1;
}
