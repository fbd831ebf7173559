// Allocation, kinds of pointers, registration of host memory.
#include "check.hpp"

static hipMemoryType type_of(const hipPointerAttribute_t& a) {
#if HIP_VERSION_MAJOR >= 6
  return a.type;
#else
  return a.memoryType;
#endif
}

static void device_memory() {
  void* p = nullptr;
  for (size_t size : {size_t{1}, size_t{4095}, size_t{4097}, size_t{1} << 20, (size_t{64} << 20) + 1}) {
    if (!OK(hipMalloc(&p, size))) continue;
    hipPointerAttribute_t a = {};
    OK(hipPointerGetAttributes(&a, p));
    CHECK(type_of(a) == hipMemoryTypeDevice && a.devicePointer == p && a.device == 0);
    hipDeviceptr_t base = nullptr;
    size_t range = 0;
    OK(hipMemGetAddressRange(&base, &range, static_cast<char*>(p) + size / 2));
    CHECK(base == p && range == size);
    OK(hipFree(p));
  }
  OK(hipFree(nullptr));
  OK(hipMalloc(&p, 256));
  OK(hipFree(p));
  CHECK(hipFree(p) != hipSuccess);
  (void)hipGetLastError();
  std::vector<void*> many(2000);
  for (auto& one : many) OK(hipMalloc(&one, 1000));
  for (auto& one : many) OK(hipFree(one));
  size_t free_before = 0, free_after = 0, total = 0;
  OK(hipMemGetInfo(&free_before, &total));
  OK(hipMalloc(&p, size_t{512} << 20));
  OK(hipMemGetInfo(&free_after, &total));
  CHECK(free_before - free_after >= size_t{512} << 20);
  OK(hipFree(p));
}

static void host_memory() {
  int* pinned = nullptr;
  if (!OK(hipHostMalloc(reinterpret_cast<void**>(&pinned), 4096, hipHostMallocDefault))) return;
  pinned[1023] = 42;
  hipPointerAttribute_t a = {};
  OK(hipPointerGetAttributes(&a, pinned));
  CHECK(type_of(a) == hipMemoryTypeHost && a.hostPointer == pinned);
  void* device = nullptr;
  OK(hipHostGetDevicePointer(&device, pinned, 0));
  CHECK(device != nullptr);
  OK(hipHostFree(pinned));
  void* portable = nullptr;
  OK(hipHostMalloc(&portable, 4096, hipHostMallocPortable));
  unsigned flags = 0;
  OK(hipHostGetFlags(&flags, portable));
  CHECK(flags & hipHostMallocPortable);
  OK(hipHostFree(portable));

  std::vector<unsigned char> bytes = noise(100000);
  OK(hipHostRegister(bytes.data(), bytes.size(), hipHostRegisterDefault));
  OK(hipHostGetDevicePointer(&device, bytes.data(), 0));
  OK(hipMemset(device, 0x11, bytes.size()));
  OK(hipDeviceSynchronize());
  CHECK(bytes.front() == 0x11 && bytes.back() == 0x11);
  OK(hipHostUnregister(bytes.data()));
  if (HIP_VERSION >= 50500000) {  // older ones abort
    CHECK(hipHostUnregister(bytes.data()) != hipSuccess);
    (void)hipGetLastError();
  }
}

static void managed_memory() {
  int* p = nullptr;
  if (!OK(hipMallocManaged(reinterpret_cast<void**>(&p), 1 << 20, hipMemAttachGlobal))) return;
  for (int i = 0; i < (1 << 18); i += 1024) p[i] = i;
  OK(hipMemset(p, 0, 4096));
  OK(hipDeviceSynchronize());
  CHECK(p[0] == 0 && p[1024] == 1024);
  OK(hipFree(p));
  // Any size will do: no document asks for whole pages.
  for (size_t bytes : {size_t(1), size_t(100), size_t(4097)}) {
    char* odd = nullptr;
    if (!OK(hipMallocManaged(reinterpret_cast<void**>(&odd), bytes, hipMemAttachGlobal))) continue;
    odd[bytes - 1] = 7;
    CHECK(odd[bytes - 1] == 7);
    OK(hipFree(odd));
  }
}

static void pitched_memory() {
  void* p = nullptr;
  size_t pitch = 0;
  OK(hipMallocPitch(&p, &pitch, 1000, 100));
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 0));
  const size_t alignment = properties.texturePitchAlignment ? properties.texturePitchAlignment : 4;
  CHECK(pitch >= 1000 && pitch % alignment == 0);
  OK(hipFree(p));
  hipPitchedPtr box;
  OK(hipMalloc3D(&box, make_hipExtent(100, 20, 5)));
  CHECK(box.pitch >= 100 && box.ptr);
  OK(hipFree(box.ptr));
}

static void stream_ordered_memory() {
  int supported = 0;
  OK(hipDeviceGetAttribute(&supported, hipDeviceAttributeMemoryPoolsSupported, 0));
  if (!supported) return;
  hipStream_t stream;
  OK(hipStreamCreate(&stream));
  void* p = nullptr;
  for (int i = 0; i < 50; ++i) {
    OK(hipMallocAsync(&p, 1 << 16, stream));
    OK(hipMemsetAsync(p, i, 1 << 16, stream));
    unsigned char last = 0;
    OK(hipMemcpyAsync(&last, static_cast<char*>(p) + 65535, 1, hipMemcpyDeviceToHost, stream));
    OK(hipFreeAsync(p, stream));
    OK(hipStreamSynchronize(stream));
    CHECK(last == i);
  }
  OK(hipStreamDestroy(stream));
}

int main() {
  device_memory();
  host_memory();
  managed_memory();
  if (pitch_works()) pitched_memory();
  stream_ordered_memory();
  return done();
}
