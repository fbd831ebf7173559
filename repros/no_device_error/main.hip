// Which error does the first HIP call of a program return on a machine without a GPU? Before ROCm 6.2 most calls
// said hipErrorInvalidDevice. https://github.com/ROCm/clr/commit/fdaa7141af580188695d3c2fe36a30602c94e8a9
#include <cstdio>
#include <cstring>

#include "hip_calls.h"
#include "repro.h"

int main(int argc, char** argv) {
  const HipCall* call = argc == 2 ? find_hip_call(argv[1]) : nullptr;
  if (call == nullptr) return REPRO_BROKEN;
  const hipError_t error = call->run();
  std::printf("%s as the first call: %d %s\n", call->name, error, hipGetErrorName(error));
  repro_observe(call->name, hipGetErrorName(error));
  const bool needs_no_device = std::strcmp(call->name, "hipRuntimeGetVersion") == 0;
  if (error == (needs_no_device ? hipSuccess : hipErrorNoDevice)) return 0;
  repro_signature(hipGetErrorName(error));
  return 1;
}
