// hipGetErrorName knows the texture errors 911 and 912 since ROCm 7.0, although headers declare them since 6.3.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "repro.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const hipError_t error = static_cast<hipError_t>(std::atoi(argv[1]));
  const char* name = hipGetErrorName(error);
  std::printf("%d: %s, \"%s\"\n", error, name, hipGetErrorString(error));
  repro_observe(argv[1], name);
  if (std::strcmp(name, "hipErrorUnknown") != 0) return 0;
  repro_signature("hipErrorUnknown");
  return 1;
}
