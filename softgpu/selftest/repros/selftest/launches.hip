// Many and large launches, from several threads and streams.
#include <chrono>
#include <thread>

#include "check.hpp"

struct Big {
  char bytes[3000];
};
__global__ void empty() {}
__global__ void with_big(Big, int*) {}

static double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

static void many_in_one_stream() {
  hipStream_t s;
  OK(hipStreamCreate(&s));
  empty<<<1, 64, 0, s>>>();
  OK(hipStreamSynchronize(s));
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 50000; ++i) empty<<<1, 64, 0, s>>>();
  OK(hipGetLastError());
  OK(hipStreamSynchronize(s));
  figure("50000 empty launches", seconds_since(begin), "s");
  begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 100000; ++i) (void)hipStreamSynchronize(s);
  figure("hipStreamSynchronize on an idle stream", seconds_since(begin) * 10, "us");
  OK(hipStreamDestroy(s));
}

static void many_threads() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t] {
      hipStream_t s;
      if (!OK(hipStreamCreate(&s))) return;
      unsigned char *d = nullptr, h = 0;
      OK(hipMalloc(reinterpret_cast<void**>(&d), 65536));
      for (int i = 0; i < 200; ++i) {
        OK(hipMemsetAsync(d, t * 10 + i % 10, 65536, s));
        empty<<<16, 256, 0, s>>>();
        OK(hipMemcpyAsync(&h, d + 65535, 1, hipMemcpyDeviceToHost, s));
        OK(hipStreamSynchronize(s));
        CHECK(h == t * 10 + i % 10);
      }
      OK(hipFree(d));
      OK(hipStreamDestroy(s));
    });
  }
  for (auto& thread : threads) thread.join();
}

int main() {
  many_in_one_stream();
  many_threads();
  empty<<<dim3(1 << 20, 1, 1), 1024>>>();
  OK(hipGetLastError());
  empty<<<dim3(65535, 100, 1), dim3(16, 16, 4)>>>();
  OK(hipGetLastError());
  with_big<<<100, 64>>>(Big{}, nullptr);
  OK(hipGetLastError());
  OK(hipDeviceSynchronize());
  void* arguments[] = {nullptr};
  int cooperative = 0;
  OK(hipDeviceGetAttribute(&cooperative, hipDeviceAttributeCooperativeLaunch, 0));
  if (cooperative) {
    OK(hipLaunchCooperativeKernel(reinterpret_cast<void*>(empty), dim3(8), dim3(64), arguments, 0, nullptr));
    OK(hipDeviceSynchronize());
  }
  int blocks = 0;
  OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void*>(empty), 256, 0));
  hipDeviceProp_t p;
  OK(hipGetDeviceProperties(&p, 0));
  CHECK(blocks > 0 && blocks * 256 <= p.maxThreadsPerMultiProcessor);
  return done();
}
