/* Short checks for reproducers that call HIP. Header only, C++11. */
#ifndef HIP_CHECK_H
#define HIP_CHECK_H

#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "repro.h"

/* Set-up that must work everywhere: if it does not, the case says nothing. */
#define HIP_REQUIRE(call)                                                       \
  do {                                                                          \
    const hipError_t required_ = (call);                                        \
    if (required_ != hipSuccess) {                                              \
      std::printf("set-up: %s: %s\n", #call, hipGetErrorName(required_));       \
      std::fflush(stdout);                                                      \
      std::_Exit(REPRO_BROKEN);                                                 \
    }                                                                           \
  } while (0)

/* Tell what `what` returned. Return 0 if that is `wanted`; else name the failure after what was seen, and return 1. */
static inline int hip_expect(const char *what, hipError_t seen, hipError_t wanted) {
  std::printf("%s: %s, wanted %s\n", what, hipGetErrorName(seen), hipGetErrorName(wanted));
  std::fflush(stdout);
  repro_observe(what, hipGetErrorName(seen));
  if (seen == wanted) return 0;
  repro_signature(hipGetErrorName(seen));
  return 1;
}

/* Leave without destructors: what the process has misused may not survive them. */
[[noreturn]] static inline void leave(int status) {
  std::fflush(stdout);
  std::_Exit(status);
}

#endif
