// The same after another HIP call: before ROCm 5.6 every call said hipErrorInvalidDevice without a GPU, not only the
// first. https://github.com/ROCm/legacy-rocm-build/issues/2288
#include <cstdio>

#include "hip_calls.h"
#include "repro.h"

int main(int argc, char** argv) {
  const HipCall* call = argc == 2 ? find_hip_call(argv[1]) : nullptr;
  if (call == nullptr) return REPRO_BROKEN;
  int count = 0;
  const hipError_t first = hipGetDeviceCount(&count);
  const hipError_t error = call->run();
  std::printf("hipGetDeviceCount: %d %s, then %s: %d %s\n", first, hipGetErrorName(first), call->name, error,
              hipGetErrorName(error));
  repro_observe(call->name, hipGetErrorName(error));
  if (error == hipErrorNoDevice) return 0;
  repro_signature(hipGetErrorName(error));
  return 1;
}
