// Allocate nothing in stream order.
// https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/CHANGELOG.md (HIP 5.6)
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const size_t size = std::strtoul(argv[2], nullptr, 10);
  hipStream_t stream = nullptr;
  void* pointer = nullptr;
  HIP_REQUIRE(hipStreamCreate(&stream));
  const bool async = std::string(argv[1]) == "hipMallocAsync";
  return hip_expect(argv[1], async ? hipMallocAsync(&pointer, size, stream) : hipMalloc(&pointer, size), hipSuccess);
}
