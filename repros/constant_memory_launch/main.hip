// What Kokkos up to 4.6 did to launch a functor through constant memory, without Kokkos: one staging buffer, one
// __constant__ buffer and ONE event for the life of the program, used by streams that come and go.
// Destroyed streams: https://github.com/kokkos/kokkos/issues/8006
// Streams that are being captured: https://github.com/kokkos/kokkos/issues/7942
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "hip_check.h"

// Not in a namespace without name: ROCm 5.2 would not find it.
__constant__ char constant_buffer[0x8000];

namespace {

// Kokkos_HIP_Instance.hpp, 4.4.00 to 4.6.02: smaller than the first is passed as a kernel argument, smaller than the
// second through constant memory, the rest through global memory.
constexpr size_t kConstantFrom = 0x200;
constexpr size_t kGlobalFrom = sizeof constant_buffer;

template <size_t Size>
struct Functor {
  long* sum;
  char captured[Size - sizeof(long*)];
  __device__ void operator()() const { atomicAdd(reinterpret_cast<unsigned long long*>(sum), captured[0]); }
};

template <typename F>
__global__ void run_local(const F functor) { functor(); }
template <typename F>
__global__ void run_constant() { (*reinterpret_cast<const F*>(constant_buffer))(); }
template <typename F>
__global__ void run_global(const F* functor) { (*functor)(); }

// What all launches of the device share.
struct Shared {
  hipEvent_t event = nullptr;        // recorded behind the last launch that used the buffers
  void* staging = nullptr;           // pinned
  void* scratch = nullptr;           // device memory for functors of 32 KiB and more; they need neither
  long* sum = nullptr;
  bool remembers = false;            // the protocol of Kokkos 4.7: wait only if there is something to wait for
  bool need_sync = false;
  hipStream_t last_stream = nullptr;
  bool relaxed_wait = false;         // a work-around: wait in relaxed capture mode
} shared;

hipError_t wait_for_buffers() {
  if (shared.remembers && !shared.need_sync) return hipSuccess;
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  if (shared.relaxed_wait) HIP_REQUIRE(hipThreadExchangeStreamCaptureMode(&mode));
  const hipError_t error = hipEventSynchronize(shared.event);
  if (shared.relaxed_wait) HIP_REQUIRE(hipThreadExchangeStreamCaptureMode(&mode));
  return error;
}

template <typename F>
hipError_t launch(hipStream_t stream) {
  F functor = {shared.sum, {1}};
  if constexpr (sizeof(F) < kConstantFrom) {
    run_local<<<1, 1, 0, stream>>>(functor);
    return hipGetLastError();
  }
  if constexpr (sizeof(F) >= kConstantFrom && sizeof(F) < kGlobalFrom) {
    const hipError_t waited = wait_for_buffers();
    if (waited != hipSuccess) return waited;
    std::memcpy(shared.staging, &functor, sizeof functor);
    HIP_REQUIRE(hipMemcpyToSymbolAsync(HIP_SYMBOL(constant_buffer), shared.staging, sizeof(F), 0,
                                       hipMemcpyHostToDevice, stream));
    run_constant<F><<<1, 1, 0, stream>>>();
    HIP_REQUIRE(hipGetLastError());
    HIP_REQUIRE(hipEventRecord(shared.event, stream));
    shared.need_sync = true;
    shared.last_stream = stream;
    return hipSuccess;
  }
  if constexpr (sizeof(F) >= kGlobalFrom) {
    HIP_REQUIRE(hipMemcpyAsync(shared.scratch, &functor, sizeof(F), hipMemcpyHostToDevice, stream));
    run_global<F><<<1, 1, 0, stream>>>(static_cast<const F*>(shared.scratch));
    return hipGetLastError();
  }
}

hipError_t launch_small(hipStream_t stream) { return launch<Functor<64>>(stream); }

hipError_t launch_size(size_t size, hipStream_t stream) {
  switch (size) {
    case 504: return launch<Functor<504>>(stream);      // the largest below 512
    case 512: return launch<Functor<512>>(stream);      // the first through constant memory
    case 32760: return launch<Functor<32760>>(stream);  // the last
    case 32768: return launch<Functor<32768>>(stream);  // through global memory
    default: leave(REPRO_BROKEN);
  }
}

// An execution space instance: a stream of its own, fenced and destroyed at the end.
struct Instance {
  hipStream_t stream = nullptr;
  Instance() { HIP_REQUIRE(hipStreamCreate(&stream)); }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance() {
    HIP_REQUIRE(hipStreamSynchronize(stream));
    if (shared.last_stream == stream) shared.need_sync = false;
    HIP_REQUIRE(hipStreamDestroy(stream));
  }
};

int report(hipError_t error) { return hip_expect("launch", error, hipSuccess); }

// --- kokkos#8006

int instances_come_and_go(size_t size, int rounds) {
  size_t changed = 0;
  for (int round = 0; round < rounds; ++round) {
    {
      const Instance instance;
      hipError_t error = launch_small(instance.stream);
      if (error == hipSuccess) error = launch_size(size, instance.stream);
      if (error != hipSuccess) {
        std::printf("round %d\n", round);
        repro_metric("first failing round", round, "rounds");
        return report(error);
      }
    }
    // Other work of the program: a list of small integers, its length and its content differ from round to round.
    const int content = round % 3;
    const std::vector<int> list(64 + 4 * (round % 241), content);
    const hipError_t error = launch_size(size, nullptr);  // on the default instance, which always lives
    changed += list.size() - std::count(list.begin(), list.end(), content);
    if (error != hipSuccess) {
      std::printf("round %d, numbers changed in the list: %zu\n", round, changed);
      repro_metric("first failing round", round, "rounds");
      return report(error);
    }
  }
  HIP_REQUIRE(hipDeviceSynchronize());
  return report(hipSuccess);
}

int instances_kept(size_t size, int rounds) {
  const Instance instances[4];
  hipError_t error = hipSuccess;
  for (int round = 0; round < rounds && error == hipSuccess; ++round) {
    error = launch_small(instances[round % 4].stream);
    if (error == hipSuccess) error = launch_size(size, instances[round % 4].stream);
  }
  HIP_REQUIRE(hipDeviceSynchronize());
  return report(error);
}

int default_instance(size_t size, int rounds) {
  hipError_t error = hipSuccess;
  for (int round = 0; round < rounds && error == hipSuccess; ++round) error = launch_size(size, nullptr);
  HIP_REQUIRE(hipDeviceSynchronize());
  return report(error);
}

// --- kokkos#7942: two launches while an unrelated stream is being captured

hipError_t launch_twice(size_t size, hipStream_t stream) {
  const hipError_t error = launch_size(size, stream);
  return error != hipSuccess ? error : launch_size(size, stream);
}

int during_capture(size_t size, hipStreamCaptureMode mode, bool in_other_thread) {
  const Instance instance;
  hipStream_t captured = nullptr;
  HIP_REQUIRE(hipStreamCreateWithFlags(&captured, hipStreamNonBlocking));
  HIP_REQUIRE(hipStreamBeginCapture(captured, mode));
  hipError_t error = hipErrorUnknown;
  if (in_other_thread) {
    std::thread([&] {
      hipStreamCaptureMode own = hipStreamCaptureModeThreadLocal;
      HIP_REQUIRE(hipThreadExchangeStreamCaptureMode(&own));
      error = launch_twice(size, instance.stream);
    }).join();
  } else {
    error = launch_twice(size, instance.stream);
  }
  hipGraph_t graph = nullptr;
  const hipError_t end = hipStreamEndCapture(captured, &graph);
  std::printf("hipStreamEndCapture: %s\n", hipGetErrorName(end));
  repro_observe("hipStreamEndCapture", hipGetErrorName(end));
  return report(error);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return REPRO_BROKEN;
  const std::string what = argv[1];
  const size_t size = std::strtoul(argv[2], nullptr, 10);
  const int rounds = std::atoi(argv[3]);
  HIP_REQUIRE(hipHostMalloc(&shared.staging, kGlobalFrom, hipHostMallocDefault));
  HIP_REQUIRE(hipMalloc(&shared.scratch, kGlobalFrom));
  HIP_REQUIRE(hipMalloc(reinterpret_cast<void**>(&shared.sum), sizeof(long)));
  HIP_REQUIRE(hipMemset(shared.sum, 0, sizeof(long)));
  HIP_REQUIRE(hipEventCreateWithFlags(&shared.event, hipEventDisableTiming));
  HIP_REQUIRE(launch_size(size, nullptr));  // loads the kernel and records the event
  HIP_REQUIRE(hipDeviceSynchronize());

  shared.remembers = what == "need-sync-flag";
  shared.relaxed_wait = what == "capture-and-relaxed-wait";
  if (what == "instances-come-and-go" || what == "need-sync-flag") leave(instances_come_and_go(size, rounds));
  if (what == "instances-kept") leave(instances_kept(size, rounds));
  if (what == "default-instance") leave(default_instance(size, rounds));
  if (what == "capture-global") leave(during_capture(size, hipStreamCaptureModeGlobal, false));
  if (what == "capture-in-other-thread") leave(during_capture(size, hipStreamCaptureModeGlobal, true));
  if (what == "capture-and-relaxed-wait") leave(during_capture(size, hipStreamCaptureModeGlobal, false));
  if (what == "capture-relaxed") leave(during_capture(size, hipStreamCaptureModeRelaxed, false));
  return REPRO_BROKEN;
}
