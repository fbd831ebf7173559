// Ask for the virtual memory handle of memory that has none.
// https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/CHANGELOG.md (HIP 7.14)
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string what = argv[1];
  void* pointer = nullptr;
  HIP_REQUIRE(hipMalloc(&pointer, 1 << 21));
  if (what == "hipPointerGetAttributes") {
    hipPointerAttribute_t attributes;
    return hip_expect(argv[1], hipPointerGetAttributes(&attributes, pointer), hipSuccess);
  }
  hipMemGenericAllocationHandle_t handle = nullptr;
  const hipError_t error = hipMemRetainAllocationHandle(&handle, pointer);
  std::printf("hipMemRetainAllocationHandle: %s\n", hipGetErrorName(error));
  repro_observe("hipMemRetainAllocationHandle", hipGetErrorName(error));
  if (error != hipSuccess) return 0;
  repro_signature("succeeds without a handle");
  return 1;
}
