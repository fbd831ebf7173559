// hipDrvGetErrorName, the counterpart of cuGetErrorName, is exported since ROCm 5.3.
// https://github.com/ROCm/hipamd/blob/rocm-5.3.0/src/hip_hcc.map.in
#include <hip/hip_runtime_api.h>

#include "hip_symbols.h"
#include "repro.h"

int main(int argc, char** argv) {
  int version = 0;
  if (argc != 2 || hipRuntimeGetVersion(&version) != hipSuccess) return REPRO_BROKEN;
  const bool exported = hip_symbol(argv[1]) != nullptr;
  std::printf("HIP %d exports %s: %s\n", version, argv[1], exported ? "yes" : "no");
  if (exported) return 0;
  repro_signature("missing symbol");
  return 1;
}
