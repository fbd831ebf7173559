// Fork a captured stream to another one, join it or not, and end the capture.
// https://github.com/ROCm/clr/commit/039e26ee0ff9683913535a0f8fce5bfe470db615
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string fork_is = argv[1];
  hipStream_t stream = nullptr, fork = nullptr;
  hipEvent_t forked = nullptr, joined = nullptr;
  void* memory = nullptr;
  HIP_REQUIRE(hipMalloc(&memory, 64));
  HIP_REQUIRE(hipStreamCreate(&stream));
  HIP_REQUIRE(hipStreamCreate(&fork));
  HIP_REQUIRE(hipEventCreate(&forked));
  HIP_REQUIRE(hipEventCreate(&joined));

  HIP_REQUIRE(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  if (fork_is != "none") {
    HIP_REQUIRE(hipEventRecord(forked, stream));
    HIP_REQUIRE(hipStreamWaitEvent(fork, forked, 0));
    HIP_REQUIRE(hipMemsetAsync(memory, 0, 64, fork));
  }
  if (fork_is == "joined") {
    HIP_REQUIRE(hipEventRecord(joined, fork));
    HIP_REQUIRE(hipStreamWaitEvent(stream, joined, 0));
  }
  hipGraph_t graph = nullptr;
  return hip_expect("hipStreamEndCapture", hipStreamEndCapture(stream, &graph),
                    fork_is == "unjoined" ? hipErrorStreamCaptureUnjoined : hipSuccess);
}
