// A call fails, other calls succeed: does the runtime still know of the failure?
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string between = argv[1], ask = argv[2];
  HIP_REQUIRE(hipSetDevice(0));

  void* memory = nullptr;
  const hipError_t failed = hipMalloc(&memory, SIZE_MAX / 4);  // more than any address space
  if (failed != hipErrorOutOfMemory) return REPRO_BROKEN;
  if (between == "hipSetDevice") HIP_REQUIRE(hipSetDevice(0));
  if (between == "hipStreamSynchronize") HIP_REQUIRE(hipStreamSynchronize(nullptr));

  const hipError_t last = ask == "hipGetLastError" ? hipGetLastError() : hipPeekAtLastError();
  return hip_expect(ask.c_str(), last, failed);
}
