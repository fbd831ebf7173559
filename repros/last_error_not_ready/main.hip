// hipErrorNotReady is an answer, not an error: hipGetLastError should not report it.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <atomic>
#include <string>
#include <thread>

#include "hip_check.h"

// The work of the stream: a callback that ends when we say so, so that no timing matters.
static std::atomic<bool> release(false);
static void wait_for_release(hipStream_t, hipError_t, void*) {
  while (!release) std::this_thread::yield();
}

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string query = argv[1], work = argv[2];
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  HIP_REQUIRE(hipStreamCreate(&stream));
  HIP_REQUIRE(hipEventCreate(&event));
  HIP_REQUIRE(hipStreamAddCallback(stream, wait_for_release, nullptr, 0));
  HIP_REQUIRE(hipEventRecord(event, stream));
  if (work == "done") {
    release = true;
    HIP_REQUIRE(hipStreamSynchronize(stream));
  }

  const hipError_t answer = query == "hipStreamQuery" ? hipStreamQuery(stream) : hipEventQuery(event);
  const hipError_t last = hipGetLastError();
  release = true;
  HIP_REQUIRE(hipStreamSynchronize(stream));

  std::printf("%s: %s\n", query.c_str(), hipGetErrorName(answer));
  if (answer != (work == "done" ? hipSuccess : hipErrorNotReady)) return REPRO_BROKEN;
  return hip_expect("hipGetLastError", last, hipSuccess);
}
