// Wait for an event, or look at a stream, that has nothing to do with the capture that this thread has begun.
// https://github.com/kokkos/kokkos/issues/7942
#include <string>

#include "hip_check.h"

static hipError_t run(const std::string& call, hipStream_t stream, hipEvent_t event) {
  if (call == "hipEventSynchronize") return hipEventSynchronize(event);
  if (call == "hipStreamSynchronize") return hipStreamSynchronize(stream);
  if (call == "hipStreamQuery") return hipStreamQuery(stream);
  leave(REPRO_BROKEN);
}

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string call = argv[1], mode = argv[2];
  hipStream_t captured = nullptr, other = nullptr;
  hipEvent_t event = nullptr;
  HIP_REQUIRE(hipStreamCreate(&captured));
  HIP_REQUIRE(hipStreamCreate(&other));
  HIP_REQUIRE(hipEventCreate(&event));
  HIP_REQUIRE(hipEventRecord(event, other));
  HIP_REQUIRE(hipStreamSynchronize(other));  // all is done before the capture begins

  if (mode != "no-capture") {
    HIP_REQUIRE(hipStreamBeginCapture(captured, mode == "global"         ? hipStreamCaptureModeGlobal
                                                : mode == "thread-local" ? hipStreamCaptureModeThreadLocal
                                                                         : hipStreamCaptureModeRelaxed));
  }
  const hipError_t error = run(call, other, event);
  if (mode != "no-capture") {
    hipGraph_t graph = nullptr;
    const hipError_t end = hipStreamEndCapture(captured, &graph);
    std::printf("hipStreamEndCapture: %s\n", hipGetErrorName(end));
    repro_observe("hipStreamEndCapture", hipGetErrorName(end));
  }
  return hip_expect(call.c_str(), error, hipSuccess);
}
