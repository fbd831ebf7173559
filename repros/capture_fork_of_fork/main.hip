// Capture work of three streams. nested: origin forks B, B forks C, C joins B, B joins origin.
// https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/CHANGELOG.md (HIP 7.1, resolved issues)
#include <string>

#include "hip_check.h"

// Make `to` wait for all that `from` has been given.
static void order(hipStream_t from, hipStream_t to) {
  hipEvent_t event = nullptr;
  HIP_REQUIRE(hipEventCreate(&event));
  HIP_REQUIRE(hipEventRecord(event, from));
  HIP_REQUIRE(hipStreamWaitEvent(to, event, 0));
}

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string shape = argv[1];
  hipStream_t origin = nullptr, b = nullptr, c = nullptr;
  char* memory = nullptr;
  HIP_REQUIRE(hipMalloc(reinterpret_cast<void**>(&memory), 128));
  HIP_REQUIRE(hipMemset(memory, 0, 128));
  HIP_REQUIRE(hipStreamCreate(&origin));
  HIP_REQUIRE(hipStreamCreate(&b));
  HIP_REQUIRE(hipStreamCreate(&c));

  HIP_REQUIRE(hipStreamBeginCapture(origin, hipStreamCaptureModeGlobal));
  order(origin, b);
  HIP_REQUIRE(hipMemsetAsync(memory, 1, 64, b));
  if (shape != "one-fork") order(b, c);
  HIP_REQUIRE(hipMemsetAsync(memory + 64, 2, 64, shape == "one-fork" ? b : c));
  if (shape == "nested") order(c, b);
  if (shape == "nested-joined-by-origin") order(c, origin);
  order(b, origin);
  hipGraph_t graph = nullptr;
  if (hip_expect("hipStreamEndCapture", hipStreamEndCapture(origin, &graph), hipSuccess) != 0) return 1;

  // The graph must hold both fills, and do them.
  hipGraphExec_t executable = nullptr;
  char seen[128];
  HIP_REQUIRE(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  HIP_REQUIRE(hipGraphLaunch(executable, origin));
  HIP_REQUIRE(hipStreamSynchronize(origin));
  HIP_REQUIRE(hipMemcpy(seen, memory, 128, hipMemcpyDeviceToHost));
  if (seen[0] == 1 && seen[127] == 2) return 0;
  repro_signature("a node is missing");
  return 1;
}
