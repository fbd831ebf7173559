// Ask for one byte more of shared memory than a block may have.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include "hip_launch.h"

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string api = argv[1];
  const bool beyond = std::string(argv[2]) == "beyond-limit";
  const bool cooperative = api == "hipModuleLaunchCooperativeKernel";
  int limit = 0;
  HIP_REQUIRE(hipDeviceGetAttribute(&limit, hipDeviceAttributeMaxSharedMemoryPerBlock, 0));
  require_kernel();
  const hipError_t error = launch(api, dim3(1), dim3(64), beyond ? limit + 1 : limit);
  const hipError_t documented = cooperative ? hipErrorCooperativeLaunchTooLarge : hipErrorInvalidValue;
  return hip_expect(argv[1], error, beyond ? documented : hipSuccess);
}
