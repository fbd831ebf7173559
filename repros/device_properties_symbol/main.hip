// Since ROCm 6.0 the headers rename some functions with a macro, but the library still exports the old name for old
// binaries: dlsym("hipGetDeviceProperties") gives a function that fills the ROCm 5 layout of hipDeviceProp_t.
// https://github.com/ROCm/clr/blob/rocm-6.0.2/CHANGELOG.md (known issue)
#include <hip/hip_runtime_api.h>

#include "hip_symbols.h"
#include "repro.h"

#define STRING(x) #x
#define COMPILED_NAME(x) STRING(x)

int main(int argc, char** argv) {
  int version = 0;
  if (argc != 2 || hipRuntimeGetVersion(&version) != hipSuccess) return REPRO_BROKEN;
  const char* compiled = COMPILED_NAME(FUNCTION);
  void* const found = hip_symbol(argv[1]);
  if (found == nullptr) return REPRO_BROKEN;
  const bool same = found == hip_symbol(compiled);
  std::printf("dlsym(\"%s\"): %s\n", argv[1], same ? "what a compiled call uses" : "not what a compiled call uses");
  std::printf("a compiled call uses %s\n", compiled);
  repro_observe("compiled name", compiled);
  if (same) return 0;
  repro_signature("dlsym gives the function for the old layout");
  return 1;
}
