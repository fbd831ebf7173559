// Record an event on hipStreamLegacy and let another stream, or the host, wait for it.
// https://github.com/ROCm/rocm-systems/issues/11011
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
#ifndef hipStreamLegacy
  (void)argc, (void)argv;
  std::puts("this version has no hipStreamLegacy");
  return REPRO_SKIP;
#else
  if (argc != 3) return REPRO_BROKEN;
  const std::string waits = argv[2];
  const hipStream_t recorded_on = std::string(argv[1]) == "hipStreamLegacy" ? hipStreamLegacy : nullptr;
  hipStream_t waiter = nullptr;
  hipEvent_t event = nullptr;
  HIP_REQUIRE(hipStreamCreateWithFlags(&waiter, hipStreamNonBlocking));
  HIP_REQUIRE(hipEventCreate(&event));
  HIP_REQUIRE(hipEventRecord(event, recorded_on));
  std::puts("recorded");
  std::fflush(stdout);
  if (waits == "host") return hip_expect("hipEventSynchronize", hipEventSynchronize(event), hipSuccess);
  if (hip_expect("hipStreamWaitEvent", hipStreamWaitEvent(waiter, event, 0), hipSuccess) != 0) return 1;
  return hip_expect("hipStreamSynchronize", hipStreamSynchronize(waiter), hipSuccess);
#endif
}
