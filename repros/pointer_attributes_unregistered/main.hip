// Ask for the attributes of memory that HIP knows nothing of.
// https://github.com/ROCm/clr/commit/d78aef7f66e7ffc289062c2e04e2dccf7f02a30a
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string kind = argv[1];
  static int local_static;
  int local = 0;
  void* pointer = nullptr;
  HIP_REQUIRE(hipFree(nullptr));
  if (kind == "malloc") pointer = std::malloc(4096);
  if (kind == "stack") pointer = &local;
  if (kind == "static") pointer = &local_static;
  if (kind == "device" || kind == "freed") HIP_REQUIRE(hipMalloc(&pointer, 4096));
  if (kind == "freed") HIP_REQUIRE(hipFree(pointer));
  if (kind == "pinned") HIP_REQUIRE(hipHostMalloc(&pointer, 4096));
  hipPointerAttribute_t attributes;
  return hip_expect("hipPointerGetAttributes", hipPointerGetAttributes(&attributes, pointer), hipSuccess);
}
