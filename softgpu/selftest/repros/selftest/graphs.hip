// Captured and hand-made graphs: what was put in happens at each launch, and not before.
#include <atomic>

#include "check.hpp"

__global__ void empty(int) {}
static std::atomic<int> calls{0};

static void captured() {
  hipStream_t s;
  OK(hipStreamCreate(&s));
  unsigned char *d = nullptr, *h = nullptr;
  OK(hipMalloc(reinterpret_cast<void**>(&d), 4096));
  OK(hipHostMalloc(reinterpret_cast<void**>(&h), 4096, hipHostMallocDefault));
  std::memset(h, 0, 4096);
  OK(hipMemset(d, 1, 4096));
  OK(hipDeviceSynchronize());
  OK(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  OK(hipMemsetAsync(d, 0x77, 4096, s));
  empty<<<1, 64, 0, s>>>(1);
  OK(hipMemcpyAsync(h, d, 4096, hipMemcpyDeviceToHost, s));
  hipStreamCaptureStatus status;
  OK(hipStreamIsCapturing(s, &status));
  CHECK(status == hipStreamCaptureStatusActive);
  hipGraph_t graph = nullptr;
  OK(hipStreamEndCapture(s, &graph));
  CHECK(h[0] == 0);  // nothing ran yet
  size_t nodes = 0;
  OK(hipGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == 3);
  hipGraphExec_t exec = nullptr;
  if (!OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0))) return;
  for (int i = 0; i < 20; ++i) {
    std::memset(h, 0, 4096);
    OK(hipMemset(d, 1, 4096));
    OK(hipDeviceSynchronize());
    OK(hipGraphLaunch(exec, s));
    OK(hipStreamSynchronize(s));
    CHECK(h[0] == 0x77 && h[4095] == 0x77);
  }
  OK(hipGraphExecDestroy(exec));
  OK(hipGraphDestroy(graph));
  OK(hipHostFree(h));
  OK(hipFree(d));
  OK(hipStreamDestroy(s));
}

static void by_hand() {
  hipGraph_t graph;
  OK(hipGraphCreate(&graph, 0));
  std::vector<unsigned char> in = noise(3000), out(3000, 0);
  void* d = nullptr;
  OK(hipMalloc(&d, 3000));
  hipGraphNode_t to, from, host, fill;
  OK(hipGraphAddMemcpyNode1D(&to, graph, nullptr, 0, d, in.data(), 3000, hipMemcpyHostToDevice));
  hipMemsetParams m = {};
  m.dst = d;
  m.elementSize = 1;
  m.width = 10;
  m.height = 1;
  m.value = 9;
  OK(hipGraphAddMemsetNode(&fill, graph, &to, 1, &m));
  OK(hipGraphAddMemcpyNode1D(&from, graph, &fill, 1, out.data(), d, 3000, hipMemcpyDeviceToHost));
  hipHostNodeParams f = {};
  f.fn = [](void*) { ++calls; };
  OK(hipGraphAddHostNode(&host, graph, &from, 1, &f));
  hipGraphExec_t exec;
  OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  OK(hipGraphLaunch(exec, nullptr));
  OK(hipStreamSynchronize(nullptr));
  OK(hipDeviceSynchronize());
  CHECK(calls == 1);
  CHECK(out[0] == 9 && out[9] == 9 && std::memcmp(&out[10], &in[10], 2990) == 0);
  OK(hipGraphExecDestroy(exec));
  OK(hipGraphDestroy(graph));
  OK(hipFree(d));
}

static void invalidated() {
  hipStream_t s;
  OK(hipStreamCreate(&s));
  OK(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
  GIVES(hipStreamSynchronize(s), hipErrorStreamCaptureUnsupported);
  hipGraph_t graph = nullptr;
  GIVES(hipStreamEndCapture(s, &graph), hipErrorStreamCaptureInvalidated);
  (void)hipGetLastError();
  OK(hipStreamDestroy(s));
}

int main() {
  captured();
  by_hand();
  // The documented rule that a wrong call invalidates a capture was not kept before ROCm 6.
  if (HIP_VERSION >= 60000000) invalidated();
  return done();
}
