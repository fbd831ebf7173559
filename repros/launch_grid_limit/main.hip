// Launch on a grid with one block more, in y or z, than the device says to allow.
// https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/CHANGELOG.md (HIP 6.0)
#include "hip_launch.h"

int main(int argc, char** argv) {
  if (argc != 4) return REPRO_BROKEN;
  const bool y = std::string(argv[2]) == "y", beyond = std::string(argv[3]) == "beyond-limit";
  int limit = 0;
  HIP_REQUIRE(hipDeviceGetAttribute(&limit, y ? hipDeviceAttributeMaxGridDimY : hipDeviceAttributeMaxGridDimZ, 0));
  std::printf("the device allows %d blocks in %s\n", limit, argv[2]);
  require_kernel();
  const unsigned blocks = beyond ? static_cast<unsigned>(limit) + 1 : 1000;
  const hipError_t error = launch(argv[1], y ? dim3(1, blocks) : dim3(1, 1, blocks), dim3(1));
  if (!beyond) return hip_expect(argv[1], error, hipSuccess);
  std::printf("%s with %u blocks: %s\n", argv[1], blocks, hipGetErrorName(error));
  repro_observe(argv[1], hipGetErrorName(error));
  if (error != hipSuccess) return 0;
  repro_signature("a grid beyond the limit is accepted");
  leave(1);
}
