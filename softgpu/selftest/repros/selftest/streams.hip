// Streams and events: order, completion, waiting across streams, values written and awaited by streams.
// Slow copies show what does not wait.
// env: SOFTGPU_COPY_US=200
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
  std::vector<unsigned char> bytes(many.size() * 1000, 0);
  unsigned char* d = nullptr;
  OK(hipMalloc(reinterpret_cast<void**>(&d), bytes.size()));
  for (auto& one : many) OK(hipStreamCreateWithFlags(&one, hipStreamNonBlocking));
  for (size_t i = 0; i < many.size(); ++i) {
    empty<<<1, 64, 0, many[i]>>>();
    OK(hipMemsetAsync(d + i * 1000, static_cast<int>(i + 1), 1000, many[i]));
  }
  OK(hipDeviceSynchronize());
  OK(hipMemcpy(bytes.data(), d, bytes.size(), hipMemcpyDeviceToHost));
  for (size_t i = 0; i < many.size(); ++i) CHECK(bytes[i * 1000] == i + 1 && bytes[i * 1000 + 999] == i + 1);
  for (auto& one : many) OK(hipStreamDestroy(one));
  OK(hipFree(d));
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
  hipEvent_t after;
  OK(hipEventCreate(&after));
  OK(hipEventRecord(after, waiter));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  GIVES(hipStreamQuery(waiter), hipErrorNotReady);
  GIVES(hipEventQuery(after), hipErrorNotReady);
  (void)hipGetLastError();
  OK(hipStreamWriteValue64(writer, word, 9, 0));
  OK(hipStreamSynchronize(waiter));
  OK(hipEventQuery(after));
  OK(hipEventDestroy(after));
#ifdef hipExtStreamWriteValueIncrement
  OK(hipStreamWriteValue64(writer, word, 6, hipExtStreamWriteValueIncrement));
  OK(hipStreamWriteValue64(writer, word, 1, hipExtStreamWriteValueDecrement));
  OK(hipStreamSynchronize(writer));
  OK(hipMemcpy(&seen, word, 8, hipMemcpyDeviceToHost));
  CHECK(seen == 14);
#endif
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

// HIP 7.1 and 7.2 refuse every batch: their check for one of the operations is true for all (hip_stream_ops.cpp).
#if HIP_VERSION >= 60400000 && (HIP_VERSION < 70000000 || HIP_VERSION >= 71500000)
static void batch_of_values() {
  int supported = 0;
  if (hipDeviceGetAttribute(&supported, hipDeviceAttributeCanUseStreamWaitValue, 0) != hipSuccess ||
      !supported)
    return;
  hipStream_t s;
  OK(hipStreamCreate(&s));
  uint64_t* word = nullptr;  // of pinned memory: the host sees what is written
  OK(hipHostMalloc(reinterpret_cast<void**>(&word), 64, hipHostMallocDefault));
  word[0] = word[1] = word[2] = 0;
  hipStreamBatchMemOpParams p[4] = {};
  for (int i = 0; i < 4; ++i) {
    p[i].writeValue.operation = hipStreamMemOpWriteValue64;
    p[i].writeValue.address = word + i % 3;
    p[i].writeValue.value64 = 100u + i;
  }
  p[2].waitValue.operation = hipStreamMemOpWaitValue64;
  p[2].waitValue.flags = hipStreamWaitValueEq;
  p[2].waitValue.value64 = 9;
  OK(hipStreamBatchMemOp(s, 4, p, 0));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  GIVES(hipStreamQuery(s), hipErrorNotReady);
  (void)hipGetLastError();
  __atomic_store_n(word + 2, 9, __ATOMIC_RELEASE);
  OK(hipStreamSynchronize(s));
  CHECK(word[0] == 103 && word[1] == 101 && word[2] == 9);
  OK(hipHostFree(word));
  OK(hipStreamDestroy(s));
}
#else
static void batch_of_values() {}
#endif

int main() {
  order();
  timing();
  priorities();
  values();
  batch_of_values();
  return done();
}
