// Copy in a direction that does not exist. https://github.com/ROCm/clr/commit/2576153acdd0c7422807b466fd6583a382d02801
#include <cstring>
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string call = argv[1];
  const bool invalid = std::string(argv[2]) == "99";
  const hipMemcpyKind kind = invalid ? static_cast<hipMemcpyKind>(99) : hipMemcpyHostToDevice;
  const size_t row = 64, rows = 4, size = row * rows;
  static char host[row * rows];
  void* device = nullptr;
  HIP_REQUIRE(hipMalloc(&device, size));
  hipError_t error = hipErrorUnknown;
  if (call == "hipMemcpy") error = hipMemcpy(device, host, size, kind);
  if (call == "hipMemcpyAsync") error = hipMemcpyAsync(device, host, size, kind, nullptr);
  if (call == "hipMemcpy2D") error = hipMemcpy2D(device, row, host, row, row, rows, kind);
  if (call == "hipMemcpy3D") {
    hipMemcpy3DParms copy;
    std::memset(&copy, 0, sizeof copy);
    copy.srcPtr = make_hipPitchedPtr(host, row, row, rows);
    copy.dstPtr = make_hipPitchedPtr(device, row, row, rows);
    copy.extent = make_hipExtent(row, rows, 1);
    copy.kind = kind;
    error = hipMemcpy3D(&copy);
  }
  if (!invalid || error != hipSuccess) {
    return hip_expect(argv[1], error, invalid ? hipErrorInvalidMemcpyDirection : hipSuccess);
  }
  std::printf("%s: hipSuccess\n", argv[1]);
  repro_signature("the invalid direction is accepted");
  return 1;
}
