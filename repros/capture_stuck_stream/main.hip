// A capture fails. Is the stream usable again after hipStreamEndCapture has said so?
// https://github.com/ROCm/rocm-systems/pull/6509
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string capture = argv[1], then = argv[2];
  hipStream_t stream = nullptr;
  void* memory = nullptr;
  HIP_REQUIRE(hipMalloc(&memory, 64));
  HIP_REQUIRE(hipStreamCreate(&stream));

  HIP_REQUIRE(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  HIP_REQUIRE(hipMemsetAsync(memory, 0, 64, stream));
  if (capture == "forbidden-call") {
    const hipError_t error = hipStreamSynchronize(stream);  // never allowed on the captured stream itself
    std::printf("hipStreamSynchronize during the capture: %s\n", hipGetErrorName(error));
  }
  hipGraph_t graph = nullptr;
  const hipError_t end = hipStreamEndCapture(stream, &graph);
  std::printf("hipStreamEndCapture: %s\n", hipGetErrorName(end));
  repro_observe("hipStreamEndCapture", hipGetErrorName(end));

  if (then == "hipStreamSynchronize") return hip_expect(argv[2], hipStreamSynchronize(stream), hipSuccess);
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  HIP_REQUIRE(hipStreamIsCapturing(stream, &status));
  const char* const names[] = {"no capture", "active capture", "invalidated capture"};
  std::printf("hipStreamIsCapturing: %s\n", names[status]);
  if (status == hipStreamCaptureStatusNone) return 0;
  repro_signature(names[status]);
  return 1;
}
