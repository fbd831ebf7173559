// Host functions in streams: called once each, in order, and before what follows them.
#include <atomic>

#include "check.hpp"

static std::atomic<int> calls{0};
static std::atomic<bool> ordered{true};

static void host_function(void* expected) {
  if (calls.fetch_add(1) != static_cast<int>(reinterpret_cast<intptr_t>(expected))) ordered = false;
}

static void stream_callback(hipStream_t, hipError_t status, void* expected) {
  if (status != hipSuccess) ordered = false;
  host_function(expected);
}

// HIP 5.2 declares hipLaunchHostFunc but does not define it.
static hipError_t launch_host_function(hipStream_t s, void (*function)(void*), void* data) {
#if HIP_VERSION >= 50300000
  return hipLaunchHostFunc(s, function, data);
#else
  if (!function) return hipErrorInvalidValue;
  auto* call = new std::pair<void (*)(void*), void*>(function, data);
  auto forward = [](hipStream_t, hipError_t, void* raw) {
    auto* call = static_cast<std::pair<void (*)(void*), void*>*>(raw);
    call->first(call->second);
    delete call;
  };
  return hipStreamAddCallback(s, forward, call, 0);
#endif
}

int main() {
  hipStream_t s;
  NEED(hipStreamCreate(&s));
  for (intptr_t i = 0; i < 1000; ++i) OK(launch_host_function(s, host_function, reinterpret_cast<void*>(i)));
  OK(hipStreamSynchronize(s));
  CHECK(calls == 1000 && ordered);
  for (intptr_t i = 1000; i < 1100; ++i)
    OK(hipStreamAddCallback(s, stream_callback, reinterpret_cast<void*>(i), 0));
  OK(hipStreamSynchronize(s));
  CHECK(calls == 1100 && ordered);
  unsigned char *d = nullptr, h = 0;
  OK(hipMalloc(reinterpret_cast<void**>(&d), 1));
  static unsigned char seen = 0;
  static unsigned char* pinned = nullptr;
  OK(hipHostMalloc(reinterpret_cast<void**>(&pinned), 1, hipHostMallocDefault));
  OK(hipMemsetAsync(d, 0x42, 1, s));
  OK(hipMemcpyAsync(pinned, d, 1, hipMemcpyDeviceToHost, s));
  OK(launch_host_function(
      s,
      [](void*) {
        seen = *pinned;
        *pinned = 0x43;
      },
      nullptr));
  OK(hipMemcpyAsync(d, pinned, 1, hipMemcpyHostToDevice, s));
  OK(hipMemcpyAsync(&h, d, 1, hipMemcpyDeviceToHost, s));
  OK(hipStreamSynchronize(s));
  CHECK(seen == 0x42);
  CHECK(h == 0x43);
  GIVES(launch_host_function(s, nullptr, nullptr), hipErrorInvalidValue);
  (void)hipGetLastError();
  OK(hipHostFree(pinned));
  OK(hipFree(d));
  OK(hipStreamDestroy(s));
  return done();
}
