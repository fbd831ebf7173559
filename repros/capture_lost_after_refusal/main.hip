// Make one call during a capture, ignore what it says, and end the capture: is there a graph?
// https://github.com/ROCm/clr/commit/19b4660cbb84f3c5b61a744700678f5bd0e1425a
#include <string>

#include "hip_check.h"

static hipError_t run(const std::string& call, void* device_memory) {
  void* memory = nullptr;
  hipStream_t stream = nullptr;
  static char host_memory[64];
  if (call == "hipMalloc") return hipMalloc(&memory, 64);
  if (call == "hipHostMalloc") return hipHostMalloc(&memory, 64, 0);
  if (call == "hipMemcpy") return hipMemcpy(device_memory, host_memory, 64, hipMemcpyHostToDevice);
  if (call == "hipStreamCreate") return hipStreamCreate(&stream);
  leave(REPRO_BROKEN);
}

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  hipStream_t stream = nullptr;
  void* memory = nullptr;
  HIP_REQUIRE(hipStreamCreate(&stream));
  HIP_REQUIRE(hipMalloc(&memory, 64));
  HIP_REQUIRE(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  HIP_REQUIRE(hipMemsetAsync(memory, 0, 64, stream));
  const hipError_t error = run(argv[1], memory);
  std::printf("%s: %s\n", argv[1], hipGetErrorName(error));
  repro_observe(argv[1], hipGetErrorName(error));
  hipGraph_t graph = nullptr;
  return hip_expect("hipStreamEndCapture", hipStreamEndCapture(stream, &graph), hipSuccess);
}
