// Free the null pointer in stream order.
// https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/CHANGELOG.md (HIP 7.0)
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string what = argv[1];
  hipStream_t stream = nullptr;
  void* pointer = nullptr;
  HIP_REQUIRE(hipStreamCreate(&stream));
  if (what == "hipFree-null") return hip_expect("hipFree", hipFree(nullptr), hipSuccess);
  if (what == "hipFreeAsync-allocated") HIP_REQUIRE(hipMallocAsync(&pointer, 4096, stream));
  return hip_expect("hipFreeAsync", hipFreeAsync(pointer, stream), hipSuccess);
}
