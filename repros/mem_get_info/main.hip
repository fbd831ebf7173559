// hipMemGetInfo: a status of success, and 0 < free <= total, and less free by what was allocated.
// On failure HIP leaves both numbers as they were: https://github.com/ROCm/rocm-install-on-linux/issues/324
#include <string>

#include "hip_check.h"

namespace {

constexpr size_t kAllocated = size_t{256} << 20;

struct Info {
  size_t free = 0, total = 0;
};

// Ask, and say what is wrong with the answer; nothing is wrong when `why` stays empty.
Info ask(std::string* why) {
  Info info;
  const hipError_t error = hipMemGetInfo(&info.free, &info.total);
  repro_observe("hipMemGetInfo", hipGetErrorName(error));
  repro_metric("free", static_cast<double>(info.free) / (1 << 20), "MiB");
  repro_metric("total", static_cast<double>(info.total) / (1 << 20), "MiB");
  if (error != hipSuccess) {
    *why = hipGetErrorName(error);
  } else if (info.free == 0 || info.free > info.total) {
    *why = "free memory is none, or more than there is";
  }
  return info;
}

int told(const std::string& why) {
  if (why.empty()) return 0;
  std::printf("%s\n", why.c_str());
  repro_signature(why.c_str());
  return 1;
}

}  // namespace

int main(int, char** argv) {
  const std::string moment = argv[1];
  HIP_REQUIRE(hipSetDevice(0));
  if (moment == "size-alone") {
    size_t total = 0;
    HIP_REQUIRE(hipDeviceTotalMem(&total, 0));
    return told(total > 0 ? "" : "the device has no memory");
  }
  std::string why;
  const Info before = ask(&why);
  if (!why.empty() || moment == "at-start") return told(why);
  void* memory = nullptr;
  HIP_REQUIRE(hipMalloc(&memory, kAllocated));
  const Info during = ask(&why);
  if (why.empty() && during.free + kAllocated > before.free) why = "an allocation is not taken from the free memory";
  HIP_REQUIRE(hipFree(memory));
  if (!why.empty() || moment == "allocated") return told(why);
  const Info after = ask(&why);
  if (why.empty() && after.free < during.free + kAllocated / 2) why = "freed memory is not free again";
  return told(why);
}
