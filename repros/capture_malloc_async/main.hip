// Allocate in relaxed mode, on a stream that takes no part in the capture of another one.
// https://github.com/ROCm/legacy-rocm-build/issues/6681
#include <string>

#include "hip_check.h"

static hipError_t run(const std::string& call, hipStream_t stream, void* allocated) {
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  HIP_REQUIRE(hipThreadExchangeStreamCaptureMode(&mode));
  void* memory = nullptr;
  if (call == "hipMallocAsync") return hipMallocAsync(&memory, 64, stream);
  if (call == "hipFreeAsync") return hipFreeAsync(allocated, stream);
  if (call == "hipMalloc") return hipMalloc(&memory, 64);
  leave(REPRO_BROKEN);
}

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string call = argv[1], who = argv[2];
  hipStream_t captured = nullptr, other = nullptr;
  void* allocated = nullptr;
  HIP_REQUIRE(hipStreamCreate(&captured));
  HIP_REQUIRE(hipStreamCreate(&other));
  HIP_REQUIRE(hipMallocAsync(&allocated, 64, other));
  HIP_REQUIRE(hipStreamSynchronize(other));
  if (who != "no-capture") HIP_REQUIRE(hipStreamBeginCapture(captured, hipStreamCaptureModeGlobal));

  return hip_expect(call.c_str(), run(call, other, allocated), hipSuccess);
}
