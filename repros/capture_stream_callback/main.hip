// Add a callback to a stream that is being captured. It must become a node of the graph, or be refused.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "hip_check.h"

// Not in the library of ROCm 5.2; weak, so that the program links without it.
extern "C" hipError_t hipLaunchHostFunc(hipStream_t, hipHostFn_t, void*) __attribute__((weak));

static std::atomic<int> runs(0);
static void count(void*) { ++runs; }
static void count_in_stream(hipStream_t, hipError_t, void*) { ++runs; }

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const bool host_function = std::string(argv[1]) == "hipLaunchHostFunc", capture = std::string(argv[2]) == "captured";
  if (host_function && hipLaunchHostFunc == nullptr) {
    std::puts("this version has no hipLaunchHostFunc");
    return REPRO_SKIP;
  }
  hipStream_t stream = nullptr;
  HIP_REQUIRE(hipStreamCreate(&stream));
  if (capture) HIP_REQUIRE(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  const hipError_t error = host_function ? hipLaunchHostFunc(stream, count, nullptr)
                                         : hipStreamAddCallback(stream, count_in_stream, nullptr, 0);
  if (!capture) {
    HIP_REQUIRE(hipStreamSynchronize(stream));
    std::printf("%s: %s, ran %d times\n", argv[1], hipGetErrorName(error), runs.load());
    return error != hipSuccess || runs != 1;
  }

  // A callback that runs by mistake does so soon: nothing is queued before it.
  for (int ms = 0; ms < 1000 && runs == 0; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const int early = runs;
  hipGraph_t graph = nullptr;
  const hipError_t end = hipStreamEndCapture(stream, &graph);
  size_t nodes = 0;
  if (end == hipSuccess) HIP_REQUIRE(hipGraphGetNodes(graph, nullptr, &nodes));
  std::printf("%s: %s, hipStreamEndCapture: %s, nodes %zu, ran %d times during the capture\n", argv[1],
              hipGetErrorName(error), hipGetErrorName(end), nodes, early);
  repro_observe(argv[1], hipGetErrorName(error));
  repro_observe("hipStreamEndCapture", hipGetErrorName(end));
  if (early == 0 && (error != hipSuccess || nodes == 1)) return 0;
  repro_signature(early ? "ran during the capture" : "neither captured nor refused");
  return 1;
}
