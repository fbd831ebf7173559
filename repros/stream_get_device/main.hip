// hipStreamGetDevice exists since ROCm 5.6; a library built against newer headers does not link to older runtimes.
// https://github.com/ROCm/clr/blob/rocm-5.7.1/CHANGELOG.md
#include <hip/hip_runtime_api.h>

#include <cstdio>

// What a newer header declares; an older one does not have it.
extern "C" hipError_t FUNCTION(hipStream_t, int*);

int main() {
  void* volatile address = reinterpret_cast<void*>(&FUNCTION);
  std::printf("linked, address %s\n", address != nullptr ? "found" : "null");
  return address == nullptr;
}
