// Fill a part of each row of a matrix in pinned host memory. https://github.com/oneapi-src/unified-runtime/pull/1395
#include <cstring>
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const bool pinned = std::string(argv[1]) == "pinned";
  const size_t pitch = 64, rows = 8, size = pitch * rows, width = std::strtoul(argv[2], nullptr, 10);
  static unsigned char seen[pitch * rows];
  void* memory = nullptr;
  if (pinned) HIP_REQUIRE(hipHostMalloc(&memory, size));
  if (!pinned) HIP_REQUIRE(hipMalloc(&memory, size));
  HIP_REQUIRE(hipMemset(memory, 1, size));
  HIP_REQUIRE(hipMemset2D(memory, pitch, 7, width, rows));
  HIP_REQUIRE(hipDeviceSynchronize());
  if (pinned) std::memcpy(seen, memory, size);
  if (!pinned) HIP_REQUIRE(hipMemcpy(seen, memory, size, hipMemcpyDeviceToHost));

  size_t wrong_rows = 0;
  for (size_t row = 0; row < rows; ++row) {
    bool right = true;
    for (size_t x = 0; x < pitch; ++x) right = right && seen[row * pitch + x] == (x < width ? 7 : 1);
    if (!right) ++wrong_rows;
  }
  std::printf("%zu of %zu rows are wrong\n", wrong_rows, rows);
  repro_metric("wrong rows", static_cast<double>(wrong_rows), "rows");
  if (wrong_rows == 0) return 0;
  repro_signature(wrong_rows == rows - 1 ? "only the first row is filled" : "wrong contents");
  return 1;
}
