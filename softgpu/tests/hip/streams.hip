// Streams and events: order, completion, waiting across streams, values written and awaited by streams.
#include <chrono>
#include <thread>

#include "check.hpp"

__global__ void empty() {}

static void order() {
  hipStream_t a, b;
  OK(hipStreamCreate(&a));
  OK(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
  unsigned char *d = nullptr, h[2] = {0, 0};
  OK(hipMalloc(reinterpret_cast<void**>(&d), 2 << 20));
  hipEvent_t e;
  OK(hipEventCreateWithFlags(&e, hipEventDisableTiming));
  for (int i = 1; i < 100; ++i) {
    OK(hipMemsetAsync(d, 0, 2 << 20, a));
    OK(hipMemsetAsync(d, i, 2 << 20, a));
    OK(hipEventRecord(e, a));
    OK(hipStreamWaitEvent(b, e, 0));
    OK(hipMemcpyAsync(h, d, 1, hipMemcpyDeviceToHost, b));
    OK(hipMemcpyAsync(h + 1, d + (2 << 20) - 1, 1, hipMemcpyDeviceToHost, b));
    OK(hipStreamSynchronize(b));
    CHECK(h[0] == i && h[1] == i);
  }
  OK(hipStreamSynchronize(a));
  OK(hipStreamQuery(a));
  OK(hipEventQuery(e));
  OK(hipEventDestroy(e));
  OK(hipStreamDestroy(a));
  OK(hipStreamDestroy(b));
  OK(hipFree(d));
}

static void timing() {
  hipStream_t s;
  OK(hipStreamCreate(&s));
  hipEvent_t first, last, never;
  OK(hipEventCreate(&first));
  OK(hipEventCreate(&last));
  OK(hipEventCreate(&never));
  OK(hipEventRecord(first, s));
  for (int i = 0; i < 10; ++i) empty<<<1, 64, 0, s>>>();
  OK(hipGetLastError());
  OK(hipEventRecord(last, s));
  OK(hipEventSynchronize(last));
  float ms = -1;
  OK(hipEventElapsedTime(&ms, first, last));
  CHECK(ms >= 0 && ms < 60000);
  GIVES(hipEventElapsedTime(&ms, first, never), hipErrorInvalidHandle);
  (void)hipGetLastError();
  OK(hipEventSynchronize(never));  // never recorded: nothing to wait for
  OK(hipEventQuery(never));
  OK(hipEventDestroy(first));
  OK(hipEventDestroy(last));
  OK(hipEventDestroy(never));
  OK(hipStreamDestroy(s));
}

static void priorities() {
  int least = 0, greatest = 0;
  OK(hipDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(greatest <= least);
  hipStream_t s;
  OK(hipStreamCreateWithPriority(&s, hipStreamDefault, greatest));
  int priority = 99;
  OK(hipStreamGetPriority(s, &priority));
  CHECK(priority == greatest);
  empty<<<1, 1, 0, s>>>();
  OK(hipStreamSynchronize(s));
  OK(hipStreamDestroy(s));
  std::vector<hipStream_t> many(32);
  for (auto& one : many) OK(hipStreamCreate(&one));
  for (auto& one : many) empty<<<1, 64, 0, one>>>();
  OK(hipDeviceSynchronize());
  for (auto& one : many) OK(hipStreamDestroy(one));
}

static void values() {
  int supported = 0;
  if (hipDeviceGetAttribute(&supported, hipDeviceAttributeCanUseStreamWaitValue, 0) != hipSuccess ||
      !supported)
    return;
  hipStream_t writer, waiter;
  OK(hipStreamCreate(&writer));
  OK(hipStreamCreate(&waiter));
  uint64_t* word = nullptr;
  OK(hipExtMallocWithFlags(reinterpret_cast<void**>(&word), 8, hipMallocSignalMemory));
  OK(hipStreamWriteValue64(writer, word, 5, 0));
  OK(hipStreamSynchronize(writer));
  uint64_t seen = 0;
  OK(hipMemcpy(&seen, word, 8, hipMemcpyDeviceToHost));
  CHECK(seen == 5);
  OK(hipStreamWaitValue64(waiter, word, 9, hipStreamWaitValueGte, ~0ull));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  GIVES(hipStreamQuery(waiter), hipErrorNotReady);
  (void)hipGetLastError();
  OK(hipStreamWriteValue64(writer, word, 9, 0));
  OK(hipStreamSynchronize(waiter));
  uint32_t* host = nullptr;
  OK(hipHostMalloc(reinterpret_cast<void**>(&host), 64, hipHostMallocDefault));
  host[0] = 0;
  host[1] = 77;
  OK(hipStreamWriteValue32(writer, host, 0x1234, 0));
  OK(hipStreamSynchronize(writer));
  CHECK(host[0] == 0x1234 && host[1] == 77);
  OK(hipStreamWaitValue32(waiter, host, 0x30, hipStreamWaitValueEq, 0xF0));
  OK(hipStreamSynchronize(waiter));
  OK(hipHostFree(host));
  OK(hipFree(word));
  OK(hipStreamDestroy(writer));
  OK(hipStreamDestroy(waiter));
}

int main() {
  order();
  timing();
  priorities();
  values();
  return done();
}
