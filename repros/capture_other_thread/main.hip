// One thread captures a stream. Another thread, which has declared by its own capture mode that this is none of its
// business, uses its own stream and event. https://github.com/ROCm/hip/issues/3876
#include <string>
#include <thread>

#include "hip_check.h"

static hipError_t run(const std::string& call, hipStream_t stream, hipEvent_t event) {
  if (call == "hipEventSynchronize") return hipEventSynchronize(event);
  if (call == "hipStreamQuery") return hipStreamQuery(stream);
  if (call == "hipStreamSynchronize") return hipStreamSynchronize(stream);
  leave(REPRO_BROKEN);
}

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string call = argv[1], other = argv[2];
  hipStream_t captured = nullptr, own = nullptr;
  hipEvent_t event = nullptr;
  HIP_REQUIRE(hipStreamCreate(&captured));
  HIP_REQUIRE(hipStreamCreate(&own));
  HIP_REQUIRE(hipEventCreate(&event));
  HIP_REQUIRE(hipEventRecord(event, own));
  HIP_REQUIRE(hipEventSynchronize(event));

  if (other != "idle") {
    HIP_REQUIRE(hipStreamBeginCapture(
        captured, other == "captures" ? hipStreamCaptureModeGlobal : hipStreamCaptureModeThreadLocal));
  }
  hipError_t error = hipErrorUnknown;
  std::thread([&] {
    hipStreamCaptureMode mode = hipStreamCaptureModeThreadLocal;
    HIP_REQUIRE(hipThreadExchangeStreamCaptureMode(&mode));
    error = run(call, own, event);
  }).join();

  if (other != "idle") {
    hipGraph_t graph = nullptr;
    const hipError_t end = hipStreamEndCapture(captured, &graph);
    std::printf("hipStreamEndCapture of the other thread: %s\n", hipGetErrorName(end));
    repro_observe("hipStreamEndCapture of the other thread", hipGetErrorName(end));
  }
  return hip_expect(call.c_str(), error, hipSuccess);
}
