// Launch 1000 threads in blocks of 256. https://github.com/ROCm/clr/commit/e82eecf33e8d9d47a77c9b3a84bfa3144bc6cee2
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>

#include "hip_check.h"

extern "C" __global__ void kernel() {}

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const unsigned threads = static_cast<unsigned>(std::atoi(argv[1]));
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  HIP_REQUIRE(hipModuleLoad(&module, "kernel.co"));
  HIP_REQUIRE(hipModuleGetFunction(&function, module, "kernel"));
  void* no_arguments[] = {nullptr};
  return hip_expect("hipExtModuleLaunchKernel",
                    hipExtModuleLaunchKernel(function, threads, 1, 1, 256, 1, 1, 0, nullptr, no_arguments, nullptr,
                                             nullptr, nullptr, 0),
                    hipSuccess);
}
