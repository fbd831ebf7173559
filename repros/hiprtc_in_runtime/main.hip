// libamdhip64 does not export the hiprtc functions since ROCm 7.0; they are in libhiprtc alone.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <hip/hip_runtime_api.h>

#include "hip_symbols.h"
#include "repro.h"

int main(int argc, char** argv) {
  int version = 0;
  if (argc != 2 || hipRuntimeGetVersion(&version) != hipSuccess) return REPRO_BROKEN;
  const bool exported = hip_symbol(argv[1]) != nullptr;
  std::printf("libamdhip64 of HIP %d exports %s: %s\n", version, argv[1], exported ? "yes" : "no");
  if (exported) return 0;
  repro_signature("missing symbol");
  return 1;
}
