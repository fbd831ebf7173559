// Two GPUs: memory belongs to one of them, copies cross, peer access is granted once.
// env: SOFTGPU_GPUS=2
#include "check.hpp"

int main() {
  int count = 0;
  NEED(hipGetDeviceCount(&count));
  if (count < 2) return skip("one GPU only");
  const size_t size = 1 << 20;
  std::vector<unsigned char> in = noise(size), out(size);
  void* memory[2];
  for (int i = 0; i < 2; ++i) {
    NEED(hipSetDevice(i));
    NEED(hipMalloc(&memory[i], size));
    hipPointerAttribute_t a;
    OK(hipPointerGetAttributes(&a, memory[i]));
    CHECK(a.device == i);
  }
  OK(hipSetDevice(0));
  OK(hipMemcpy(memory[0], in.data(), size, hipMemcpyHostToDevice));
  OK(hipMemcpyPeer(memory[1], 1, memory[0], 0, size));
  OK(hipMemcpy(out.data(), memory[1], size, hipMemcpyDeviceToHost));
  CHECK(in == out);
  int can = 0;
  OK(hipDeviceCanAccessPeer(&can, 0, 1));
  if (can) {
    OK(hipDeviceEnablePeerAccess(1, 0));
    GIVES(hipDeviceEnablePeerAccess(1, 0), hipErrorPeerAccessAlreadyEnabled);
    (void)hipGetLastError();
    OK(hipMemset(memory[1], 0, size));
    OK(hipDeviceSynchronize());
    OK(hipMemcpy(memory[1], memory[0], size, hipMemcpyDeviceToDevice));
    std::fill(out.begin(), out.end(), 0);
    OK(hipMemcpy(out.data(), memory[1], size, hipMemcpyDeviceToHost));
    CHECK(in == out);
    OK(hipDeviceDisablePeerAccess(1));
    GIVES(hipDeviceDisablePeerAccess(1), hipErrorPeerAccessNotEnabled);
    (void)hipGetLastError();
  }
  for (int i = 0; i < 2; ++i) {
    OK(hipSetDevice(i));
    hipStream_t s;
    OK(hipStreamCreate(&s));
    OK(hipMemsetAsync(memory[i], 0x30 + i, size, s));
    OK(hipStreamSynchronize(s));
    OK(hipStreamDestroy(s));
  }
  for (int i = 0; i < 2; ++i) {
    OK(hipMemcpy(out.data(), memory[i], size, hipMemcpyDeviceToHost));
    CHECK(out[0] == 0x30 + i && out[size - 1] == 0x30 + i);
    OK(hipFree(memory[i]));
  }
  return done();
}
