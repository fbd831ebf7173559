// Launch a kernel on a grid without blocks. https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include "hip_launch.h"

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const unsigned blocks = static_cast<unsigned>(std::atoi(argv[2]));
  require_kernel();
  const hipError_t error = launch(argv[1], dim3(1, blocks), dim3(64));
  return hip_expect(argv[1], error, blocks == 0 ? hipErrorInvalidValue : hipSuccess);
}
