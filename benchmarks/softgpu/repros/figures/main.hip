// Measure one cost on the device that is there, and report it as a metric.
#include <hip/hip_runtime.h>

#include <chrono>
#include <string>

#include "hip_check.h"

__global__ void empty() {}

static double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// From the first HIP call to its return. Without a GPU that is what the runtime itself costs.
static void start_up() {
  const double start = seconds();
  int count = 0;
  (void)hipGetDeviceCount(&count);
  repro_metric("start_up", (seconds() - start) * 1e3, "ms");
}

static void launches() {
  empty<<<1, 1>>>();  // the first one loads the code
  HIP_REQUIRE(hipDeviceSynchronize());
  const double start = seconds();
  for (int launch = 0; launch < 50000; ++launch) empty<<<1, 1>>>();
  HIP_REQUIRE(hipDeviceSynchronize());
  repro_metric("launches_50000", seconds() - start, "s");
}

static void idle_sync() {
  hipStream_t stream;
  HIP_REQUIRE(hipStreamCreate(&stream));
  HIP_REQUIRE(hipStreamSynchronize(stream));
  const int calls = 100000;
  const double start = seconds();
  for (int call = 0; call < calls; ++call) HIP_REQUIRE(hipStreamSynchronize(stream));
  repro_metric("idle_sync", (seconds() - start) / calls * 1e6, "us");
}

int main(int, char** arguments) {
  const std::string what = arguments[1];
  if (what == "start_up") start_up();
  if (what == "launches") launches();
  if (what == "idle_sync") idle_sync();
  return 0;
}
