// Allocate in the order of the null stream.
// https://github.com/ROCm/hipamd/commit/a01c008147d78038a919cce131c28f7315d2b780
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  hipStream_t stream = nullptr;
  void* pointer = nullptr;
  HIP_REQUIRE(hipFree(nullptr));
  if (std::string(argv[1]) == "created") HIP_REQUIRE(hipStreamCreate(&stream));
  const hipError_t error = hipMallocAsync(&pointer, 4096, stream);  // ROCm 5.2 dies here with the null stream
  return hip_expect("hipMallocAsync", error, hipSuccess);
}
