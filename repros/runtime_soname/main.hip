// The file name of the runtime carries the major version of ROCm, so a binary built for ROCm 5 does not start with 6.
// https://github.com/ROCm/clr/blob/rocm-6.0.2/CHANGELOG.md
#include <hip/hip_runtime_api.h>

#include "hip_symbols.h"
#include "repro.h"

int main(int argc, char** argv) {
  int version = 0;
  Dl_info runtime;
  void* known = dlsym(RTLD_DEFAULT, "hipRuntimeGetVersion");
  if (argc != 2 || hipRuntimeGetVersion(&version) != hipSuccess || dladdr(known, &runtime) == 0) return REPRO_BROKEN;
  const char* slash = strrchr(runtime.dli_fname, '/');
  const char* name = slash != nullptr ? slash + 1 : runtime.dli_fname;
  printf("HIP %d is loaded as %s, asked for %s\n", version, name, argv[1]);
  repro_observe("runtime", name);
  if (strncmp(name, argv[1], strlen(argv[1])) == 0) return 0;
  repro_signature(name);
  return 1;
}
