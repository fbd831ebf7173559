// Launch a kernel into a captured stream and count the nodes of the graph.
// https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/CHANGELOG.md (HIP 6.2, stream capture)
#include <hip/hip_runtime.h>

#include <string>

#include "hip_check.h"

__global__ void nothing() {}

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const bool cooperative = std::string(argv[1]) == "cooperative";
  const void* const kernel = reinterpret_cast<const void*>(nothing);
  void* arguments[] = {nullptr};  // none, but a capture on ROCm 5 wants a list
  hipStream_t stream = nullptr;
  HIP_REQUIRE(hipStreamCreate(&stream));
  HIP_REQUIRE(hipLaunchKernel(kernel, dim3(1), dim3(64), arguments, 0, stream));  // the kernel can be launched at all
  HIP_REQUIRE(hipStreamSynchronize(stream));

  HIP_REQUIRE(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  const hipError_t error = cooperative
                               ? hipLaunchCooperativeKernel(kernel, dim3(1), dim3(64), arguments, 0, stream)
                               : hipLaunchKernel(kernel, dim3(1), dim3(64), arguments, 0, stream);
  hipGraph_t graph = nullptr;
  size_t nodes = 0;
  HIP_REQUIRE(hipStreamEndCapture(stream, &graph));
  HIP_REQUIRE(hipGraphGetNodes(graph, nullptr, &nodes));
  std::printf("launch: %s, nodes in the graph: %zu\n", hipGetErrorName(error), nodes);
  if (error == hipSuccess && nodes == 1) return 0;
  repro_signature(error == hipSuccess ? "not in the graph" : hipGetErrorName(error));
  return 1;
}
