// Before ROCm 5.3 hipGetErrorString returned the name of the enumerator instead of a sentence.
// https://github.com/ROCm/clr/commit/323ed5bd820e3ffc60135862af7f4842b52d312b
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "repro.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const bool ask_name = std::strcmp(argv[1], "hipGetErrorName") == 0;
  const char* text = ask_name ? hipGetErrorName(hipErrorOutOfMemory) : hipGetErrorString(hipErrorOutOfMemory);
  const char* expected = ask_name ? "hipErrorOutOfMemory" : "out of memory";
  std::printf("%s(hipErrorOutOfMemory): \"%s\", expected \"%s\"\n", argv[1], text, expected);
  repro_observe(argv[1], text);
  if (std::strcmp(text, expected) == 0) return 0;
  repro_signature("the name of the enumerator instead of a sentence");
  return 1;
}
