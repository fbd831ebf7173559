/* One kernel and the ways to launch it by name, so that a reproducer can take one as its parameter. The same file,
 * built with --genco into kernel.co, serves the ways that take a module. C++11, for hipcc. */
#ifndef HIP_LAUNCH_H
#define HIP_LAUNCH_H

#include <dlfcn.h>
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>

#include <string>

#include "hip_check.h"

/* It uses a register: ROCm 5.2 divides by their number for a cooperative launch. Launched with a null pointer. */
extern "C" __global__ void repro_kernel(int *out) {
  if (out != nullptr) out[threadIdx.x] = 1;
}

typedef hipError_t (*ModuleCooperative)(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                        unsigned, hipStream_t, void **);

/* Launch through the function called `api`. Leave with a skip where this version does not have it. */
static inline hipError_t launch(const std::string &api, dim3 grid, dim3 block, unsigned shared = 0) {
  const void *const kernel = reinterpret_cast<const void *>(repro_kernel);
  int *out = nullptr;
  void *arguments[] = {&out};
  if (api == "hipLaunchKernel") return hipLaunchKernel(kernel, grid, block, arguments, shared, nullptr);
  if (api == "hipExtLaunchKernel") {
    return hipExtLaunchKernel(kernel, grid, block, arguments, shared, nullptr, nullptr, nullptr, 0);
  }
  if (api == "hipLaunchCooperativeKernel") {
    return hipLaunchCooperativeKernel(kernel, grid, block, arguments, shared, nullptr);
  }

  static hipFunction_t function = nullptr;
  if (function == nullptr) {
    hipModule_t module = nullptr;
    HIP_REQUIRE(hipModuleLoad(&module, "kernel.co"));
    HIP_REQUIRE(hipModuleGetFunction(&function, module, "repro_kernel"));
  }
  if (api == "hipModuleLaunchKernel") {
    return hipModuleLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, nullptr,
                                 arguments, nullptr);
  }
  if (api == "hipExtModuleLaunchKernel") {
    return hipExtModuleLaunchKernel(function, grid.x * block.x, grid.y * block.y, grid.z * block.z, block.x, block.y,
                                    block.z, shared, nullptr, arguments, nullptr, nullptr, nullptr, 0);
  }
  if (api == "hipModuleLaunchCooperativeKernel") {
    const ModuleCooperative call = reinterpret_cast<ModuleCooperative>(dlsym(RTLD_DEFAULT, api.c_str()));
    if (call != nullptr) {
      return call(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, nullptr, arguments);
    }
    std::printf("this version has no %s\n", api.c_str());
    leave(REPRO_SKIP);
  }
  leave(REPRO_BROKEN);
}

/* Leave with a skip unless the device is one that repro_kernel was built for. */
static inline void require_kernel() {
  const hipError_t error = launch("hipLaunchKernel", dim3(1), dim3(64));
  if (error == hipSuccess) return;
  std::printf("repro_kernel does not start on this device (%s); it is built for gfx90a\n", hipGetErrorName(error));
  leave(REPRO_SKIP);
}

#endif
