// Wrong calls give errors, and leave the device usable.
#include "check.hpp"

__global__ void empty() {}

int main() {
  void* p = nullptr;
  size_t free_bytes = 0, total = 0;
  NEED(hipMemGetInfo(&free_bytes, &total));
  GIVES(hipMalloc(&p, total + (size_t{1} << 30)), hipErrorOutOfMemory);
  GIVES(hipGetLastError(), hipErrorOutOfMemory);
  GIVES(hipMalloc(nullptr, 16), hipErrorInvalidValue);
  NEED(hipMalloc(&p, 1024));
  std::vector<unsigned char> host(4096);
  GIVES(hipMemcpy(nullptr, host.data(), 16, hipMemcpyHostToDevice), hipErrorInvalidValue);
  // ROCm 5 took any number for a direction.
  hipError_t wrong_kind = hipMemcpy(p, host.data(), 16, static_cast<hipMemcpyKind>(77));
  if (HIP_VERSION >= 60000000) GIVES(wrong_kind, hipErrorInvalidMemcpyDirection);
  GIVES(hipMemset(nullptr, 0, 16), hipErrorInvalidValue);
  int pageable = 0;
  OK(hipDeviceGetAttribute(&pageable, hipDeviceAttributePageableMemoryAccess, 0));
  if (!pageable) CHECK(hipMemset(host.data(), 0, 16) != hipSuccess);
  GIVES(hipSetDevice(-1), hipErrorInvalidDevice);
  CHECK(hipEventRecord(nullptr, nullptr) != hipSuccess);
  CHECK(hipEventDestroy(nullptr) != hipSuccess);
  (void)hipGetLastError();
  empty<<<1, 2048>>>();
  CHECK(hipGetLastError() != hipSuccess);
  empty<<<1, 0>>>();
  CHECK(hipGetLastError() != hipSuccess);
  empty<<<1, 64, 1 << 20>>>();
  CHECK(hipGetLastError() != hipSuccess);
  OK(hipGetLastError());
  // Everything still works.
  OK(hipMemset(p, 3, 1024));
  OK(hipMemcpy(host.data(), p, 1024, hipMemcpyDeviceToHost));
  CHECK(host[0] == 3 && host[1023] == 3);
  empty<<<1, 64>>>();
  OK(hipGetLastError());
  OK(hipDeviceSynchronize());
  OK(hipFree(p));
  return done();
}
