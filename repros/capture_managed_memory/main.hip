// Allocate or advise managed memory while a stream of this thread is captured.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string call = argv[1], mode = argv[2];
  hipStream_t stream = nullptr;
  void *before = nullptr, *during = nullptr;
  HIP_REQUIRE(hipStreamCreate(&stream));
  HIP_REQUIRE(hipMallocManaged(&before, 4096, hipMemAttachGlobal));
  HIP_REQUIRE(hipStreamBeginCapture(stream, mode == "global"         ? hipStreamCaptureModeGlobal
                                            : mode == "thread-local" ? hipStreamCaptureModeThreadLocal
                                                                     : hipStreamCaptureModeRelaxed));
  const hipError_t error = call == "hipMallocManaged" ? hipMallocManaged(&during, 4096, hipMemAttachGlobal)
                                                      : hipMemAdvise(before, 4096, hipMemAdviseSetReadMostly, 0);
  hipGraph_t graph = nullptr;
  const hipError_t end = hipStreamEndCapture(stream, &graph);
  std::printf("hipStreamEndCapture: %s\n", hipGetErrorName(end));
  repro_observe("hipStreamEndCapture", hipGetErrorName(end));
  return hip_expect(call.c_str(), error, hipSuccess);
}
