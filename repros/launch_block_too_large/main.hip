// Launch a kernel in blocks of more threads than the device has.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include "hip_launch.h"

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const bool beyond = std::string(argv[2]) == "beyond-limit";
  int limit = 0;
  HIP_REQUIRE(hipDeviceGetAttribute(&limit, hipDeviceAttributeMaxThreadsPerBlock, 0));
  require_kernel();
  const hipError_t error = launch(argv[1], dim3(1), dim3(beyond ? 2 * limit : limit));
  return hip_expect(argv[1], error, beyond ? hipErrorInvalidConfiguration : hipSuccess);
}
