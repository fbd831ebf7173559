// Load a code object that holds kernels for another GPU.
// https://rocm.docs.amd.com/projects/HIP/en/latest/reference/error_codes.html
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  HIP_REQUIRE(hipFree(nullptr));
  hipModule_t module = nullptr;
  const hipError_t error = hipModuleLoad(&module, argv[1]);
  const bool missing = std::string(argv[1]) == "missing.co";
  return hip_expect("hipModuleLoad", error, missing ? hipErrorFileNotFound : hipErrorNoBinaryForGpu);
}
