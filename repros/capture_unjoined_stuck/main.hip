// A capture ends with hipErrorStreamCaptureUnjoined. Can its stream be used again?
// https://github.com/NVIDIA/warp/issues/1957
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string fork_is = argv[1], then = argv[2];
  hipStream_t stream = nullptr, fork = nullptr;
  hipEvent_t forked = nullptr, joined = nullptr;
  void* memory = nullptr;
  HIP_REQUIRE(hipMalloc(&memory, 64));
  HIP_REQUIRE(hipStreamCreate(&stream));
  HIP_REQUIRE(hipStreamCreate(&fork));
  HIP_REQUIRE(hipEventCreate(&forked));
  HIP_REQUIRE(hipEventCreate(&joined));

  HIP_REQUIRE(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  HIP_REQUIRE(hipEventRecord(forked, stream));
  HIP_REQUIRE(hipStreamWaitEvent(fork, forked, 0));
  HIP_REQUIRE(hipMemsetAsync(memory, 0, 64, fork));
  if (fork_is == "joined") {
    HIP_REQUIRE(hipEventRecord(joined, fork));
    HIP_REQUIRE(hipStreamWaitEvent(stream, joined, 0));
  }
  hipGraph_t graph = nullptr;
  const hipError_t end = hipStreamEndCapture(stream, &graph);
  std::printf("hipStreamEndCapture: %s\n", hipGetErrorName(end));
  repro_observe("hipStreamEndCapture", hipGetErrorName(end));

  if (then == "hipStreamBeginCapture") {
    return hip_expect(argv[2], hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed), hipSuccess);
  }
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  HIP_REQUIRE(hipStreamIsCapturing(stream, &status));
  if (status == hipStreamCaptureStatusNone) return 0;
  std::puts("hipStreamIsCapturing: still");
  repro_signature(status == hipStreamCaptureStatusActive ? "active capture" : "invalidated capture");
  return 1;
}
