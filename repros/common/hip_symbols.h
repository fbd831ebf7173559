/* Ask the HIP runtime that this program is linked to which symbols it exports itself, wherever it is installed. */
#ifndef HIP_SYMBOLS_H
#define HIP_SYMBOLS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Return the address of `name` if libamdhip64 itself defines it, NULL otherwise. dlsym() alone would also
 * look into the libraries that libamdhip64 depends on. The program must be linked to libamdhip64. */
static inline void *hip_symbol(const char *name) {
  Dl_info runtime, found;
  void *known = dlsym(RTLD_DEFAULT, "hipRuntimeGetVersion");
  void *symbol = dlsym(RTLD_DEFAULT, name);
  if (known == NULL || symbol == NULL) return NULL;
  if (dladdr(known, &runtime) == 0 || dladdr(symbol, &found) == 0) return NULL;
  return runtime.dli_fbase == found.dli_fbase ? symbol : NULL;
}

#endif
