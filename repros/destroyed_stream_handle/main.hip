// Give a call the handle of a destroyed stream. Until ROCm 6.4 it says so; since 7.0 it reads freed memory.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <string>

#include "hip_check.h"

static void do_nothing(hipStream_t, hipError_t, void*) {}

static hipError_t run(const std::string& call, hipStream_t stream) {
  unsigned flags = 0;
  int priority = 0;
  if (call == "hipStreamQuery") return hipStreamQuery(stream);
  if (call == "hipStreamGetFlags") return hipStreamGetFlags(stream, &flags);
  if (call == "hipStreamGetPriority") return hipStreamGetPriority(stream, &priority);
  if (call == "hipStreamAddCallback") return hipStreamAddCallback(stream, do_nothing, nullptr, 0);
  if (call == "hipStreamDestroy") return hipStreamDestroy(stream);
  leave(REPRO_BROKEN);
}

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const bool destroyed = std::string(argv[2]) == "destroyed";
  hipStream_t stream = nullptr;
  void* memory = nullptr;
  HIP_REQUIRE(hipMalloc(&memory, 64));
  HIP_REQUIRE(hipStreamCreate(&stream));
  HIP_REQUIRE(hipMemsetAsync(memory, 0, 64, stream));
  HIP_REQUIRE(hipStreamSynchronize(stream));
  if (destroyed) HIP_REQUIRE(hipStreamDestroy(stream));
  std::printf("calling %s with a %s stream\n", argv[1], argv[2]);
  std::fflush(stdout);
  leave(hip_expect(argv[1], run(argv[1], stream), destroyed ? hipErrorContextIsDestroyed : hipSuccess));
}
