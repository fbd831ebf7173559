// Copy nothing. https://github.com/ROCm/clr/commit/6d6465cb9688a742b8a1e060ec91f40d664bdb3f
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string what = argv[1];
  HIP_REQUIRE(hipFree(nullptr));
  char host[64] = {};
  void* device = nullptr;
  if (what == "some") {
    HIP_REQUIRE(hipMalloc(&device, sizeof host));
    return hip_expect("hipMemcpy2D", hipMemcpy2D(device, 8, host, 8, 8, 8, hipMemcpyHostToDevice), hipSuccess);
  }
  if (what == "hipMemcpy-nothing") {
    return hip_expect("hipMemcpy", hipMemcpy(nullptr, nullptr, 0, hipMemcpyHostToDevice), hipSuccess);
  }
  return hip_expect("hipMemcpy2D", hipMemcpy2D(nullptr, 0, nullptr, 0, 0, 0, hipMemcpyHostToDevice), hipSuccess);
}
