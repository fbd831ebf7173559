// Kernels that are compiled at run time have no uint32_t and int64_t of their own since ROCm 7.0.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include "hiprtc_compile.h"
#include "repro.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string source = std::string("extern \"C\" __global__ void fill(") + argv[1] + "* out) { *out = 1; }";
  const std::string error = hiprtc_error(source.c_str());
  if (error.empty()) return 0;
  repro_signature(error.c_str());
  return 1;
}
