// libamdhip64 no longer holds the hiprtc functions since ROCm 7.0; linking it alone is not enough for them.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include <cstdio>

int main() {
  void* volatile address = reinterpret_cast<void*>(&FUNCTION);
  std::printf("linked, address %s\n", address != nullptr ? "found" : "null");
  return address == nullptr;
}
