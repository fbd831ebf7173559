// Set the parameters of a 2D memset node to what they are already. https://github.com/ROCm/hip/issues/3888
#include <string>

#include "hip_check.h"

static hipGraph_t graph_with(const hipMemsetParams& fill, hipGraphNode_t* node) {
  hipGraph_t graph = nullptr;
  HIP_REQUIRE(hipGraphCreate(&graph, 0));
  HIP_REQUIRE(hipGraphAddMemsetNode(node, graph, nullptr, 0, &fill));
  return graph;
}

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string call = argv[1];
  const size_t width = 16, height = 4;
  size_t pitch = 64;
  void* memory = nullptr;
  if (std::string(argv[2]) == "hipMalloc") HIP_REQUIRE(hipMalloc(&memory, pitch * height));
  if (std::string(argv[2]) == "hipMallocPitch") HIP_REQUIRE(hipMallocPitch(&memory, &pitch, width, height));

  hipMemsetParams fill = {};
  fill.dst = memory;
  fill.elementSize = 1;
  fill.width = width;
  fill.height = height;
  fill.pitch = pitch;
  fill.value = 1;
  hipGraphNode_t node = nullptr, same_node = nullptr;
  hipGraphExec_t executable = nullptr;
  const hipGraph_t graph = graph_with(fill, &node);
  HIP_REQUIRE(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));

  hipError_t error = hipErrorUnknown;
  if (call == "hipGraphMemsetNodeSetParams") error = hipGraphMemsetNodeSetParams(node, &fill);
  if (call == "hipGraphExecUpdate") {
    hipGraphNode_t culprit = nullptr;
    hipGraphExecUpdateResult result = hipGraphExecUpdateSuccess;
    error = hipGraphExecUpdate(executable, graph_with(fill, &same_node), &culprit, &result);
  }
  return hip_expect(call.c_str(), error, hipSuccess);
}
