// Instantiate a graph whose nodes depend on each other in one long chain, in a thread with a stack of 8 MiB.
// https://github.com/ROCm/rocm-systems/pull/2876
#include <pthread.h>

#include "hip_check.h"

static void* build_and_run(void* argument) {
  const int count = *static_cast<int*>(argument);
  hipGraph_t graph = nullptr;
  hipGraphNode_t node = nullptr;
  hipGraphExec_t executable = nullptr;
  HIP_REQUIRE(hipGraphCreate(&graph, 0));
  for (int i = 0; i < count; ++i) {
    const hipGraphNode_t previous = node;
    HIP_REQUIRE(hipGraphAddEmptyNode(&node, graph, i == 0 ? nullptr : &previous, i == 0 ? 0 : 1));
  }
  std::printf("%d nodes\n", count);
  std::fflush(stdout);
  const hipError_t error = hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
  if (hip_expect("hipGraphInstantiate", error, hipSuccess) != 0) leave(1);
  HIP_REQUIRE(hipGraphLaunch(executable, nullptr));
  HIP_REQUIRE(hipStreamSynchronize(nullptr));
  std::puts("launched");
  leave(0);
}

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  int count = std::atoi(argv[1]);
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 8 << 20);  // what most systems give the first thread
  if (pthread_create(&thread, &attributes, build_and_run, &count) != 0) return REPRO_BROKEN;
  pthread_join(thread, nullptr);
}
