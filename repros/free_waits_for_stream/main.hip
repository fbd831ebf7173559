// Does hipFree wait for the work of a stream? https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
// A callback holds the stream until hipFree has returned, or for three seconds at most, so no time has to be measured.
#include <unistd.h>

#include <atomic>
#include <string>

#include "hip_check.h"

static std::atomic<bool> free_returned{false};
static std::atomic<bool> waited{false};

static void hold_stream(hipStream_t, hipError_t, void*) {
  for (int i = 0; i < 300 && !free_returned; ++i) usleep(10000);
  waited = !free_returned;
}

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const bool pool = std::string(argv[1]) == "hipMallocAsync";
  void* memory = nullptr;
  hipStream_t stream = nullptr;
  HIP_REQUIRE(hipStreamCreate(&stream));
  if (pool) HIP_REQUIRE(hipMallocAsync(&memory, 4096, stream));
  if (!pool) HIP_REQUIRE(hipMalloc(&memory, 4096));
  HIP_REQUIRE(hipStreamSynchronize(stream));
  HIP_REQUIRE(hipStreamAddCallback(stream, hold_stream, nullptr, 0));
  HIP_REQUIRE(hipMemsetAsync(memory, 0, 4096, stream));  // work that uses the memory, behind the callback
  HIP_REQUIRE(hipFree(memory));
  free_returned = true;
  HIP_REQUIRE(hipStreamSynchronize(stream));
  std::printf("hipFree of %s memory %s\n", argv[1],
              waited ? "waited for the stream" : "returned while the memory was in use");
  repro_observe(argv[1], waited ? "waits" : "does not wait");
  if (waited) return 0;
  repro_signature("hipFree does not wait");
  return 1;
}
