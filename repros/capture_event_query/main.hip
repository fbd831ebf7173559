// Poll an event that has nothing to do with the capture that this thread has begun.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <string>
#include <thread>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string mode = argv[1];
  hipStream_t captured = nullptr, other = nullptr;
  hipEvent_t event = nullptr;
  HIP_REQUIRE(hipStreamCreate(&captured));
  HIP_REQUIRE(hipStreamCreate(&other));
  HIP_REQUIRE(hipEventCreate(&event));
  HIP_REQUIRE(hipEventRecord(event, other));
  HIP_REQUIRE(hipEventSynchronize(event));

  if (mode != "no-capture") {
    HIP_REQUIRE(hipStreamBeginCapture(captured, mode == "relaxed"        ? hipStreamCaptureModeRelaxed
                                                : mode == "thread-local" ? hipStreamCaptureModeThreadLocal
                                                                         : hipStreamCaptureModeGlobal));
  }
  hipStreamCaptureMode exchanged = hipStreamCaptureModeRelaxed;
  if (mode == "exchanged-to-relaxed") HIP_REQUIRE(hipThreadExchangeStreamCaptureMode(&exchanged));
  hipError_t error = hipErrorUnknown;
  if (mode == "global-of-another-thread") {
    std::thread([&] {
      hipStreamCaptureMode own = hipStreamCaptureModeThreadLocal;
      HIP_REQUIRE(hipThreadExchangeStreamCaptureMode(&own));
      error = hipEventQuery(event);
    }).join();
  } else {
    error = hipEventQuery(event);
  }

  if (mode != "no-capture") {
    hipGraph_t graph = nullptr;
    const hipError_t end = hipStreamEndCapture(captured, &graph);
    std::printf("hipStreamEndCapture: %s\n", hipGetErrorName(end));
    repro_observe("hipStreamEndCapture", hipGetErrorName(end));
  }
  return hip_expect("hipEventQuery", error, hipSuccess);
}
