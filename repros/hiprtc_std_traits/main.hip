// The type traits of kernels that are compiled at run time moved from std to __hip_internal in ROCm 7.0.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <cstring>

#include "hiprtc_compile.h"
#include "repro.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const bool trait = std::strcmp(argv[1], "std::is_same") == 0;
  const std::string value = trait ? "std::is_same<int, int>::value" : "sizeof(int)";
  const std::string source = "extern \"C\" __global__ void fill(int* out) { *out = " + value + "; }";
  const std::string error = hiprtc_error(source.c_str());
  if (error.empty()) return 0;
  repro_signature(error.c_str());
  return 1;
}
