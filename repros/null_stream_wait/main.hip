// The null stream is busy, another stream is idle: does a wait for the idle one wait for the null stream?
// https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/CHANGELOG.md (HIP 6.0, resolved issues)
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "hip_check.h"

// The work of the null stream: a callback that ends when we say so.
static std::atomic<bool> release(false), answered(false);
static void wait_for_release(hipStream_t, hipError_t, void*) {
  while (!release) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string call = argv[1];
  hipStream_t idle = nullptr;
  HIP_REQUIRE(hipStreamCreateWithFlags(&idle, std::string(argv[2]) == "blocking" ? hipStreamDefault : hipStreamNonBlocking));
  HIP_REQUIRE(hipStreamSynchronize(idle));
  HIP_REQUIRE(hipStreamAddCallback(nullptr, wait_for_release, nullptr, 0));

  hipError_t error = hipErrorUnknown;
  std::thread waiter([&] {
    error = call == "hipStreamQuery" ? hipStreamQuery(idle) : hipStreamSynchronize(idle);
    answered = true;
  });
  // Generous: an answer that does not wait takes microseconds.
  for (int i = 0; i < 5000 && !answered; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const bool waits = !answered;
  release = true;
  waiter.join();
  HIP_REQUIRE(hipStreamSynchronize(nullptr));
  if (!waits) return hip_expect(call.c_str(), error, hipSuccess);
  std::printf("%s waited for the null stream\n", call.c_str());
  repro_signature("waits for the null stream");
  return 1;
}
