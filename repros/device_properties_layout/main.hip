// Load hipGetDeviceProperties at run time, as language bindings do, and compare what it fills in with the attributes.
// https://github.com/ROCm/clr/blob/rocm-6.0.2/CHANGELOG.md (known issue)
#include <dlfcn.h>
#include <stdint.h>

#include <cstring>
#include <string>

#include "hip_check.h"

typedef hipError_t (*GetProperties)(hipDeviceProp_t*, int);
typedef hipError_t (*GetProcAddress)(const char*, void**, int, uint64_t, int*);

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string way = argv[1];
  int warp = 0, processors = 0;
  HIP_REQUIRE(hipDeviceGetAttribute(&warp, hipDeviceAttributeWarpSize, 0));
  HIP_REQUIRE(hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, 0));

  void* function = reinterpret_cast<void*>(static_cast<GetProperties>(&hipGetDeviceProperties));  // a macro since 6.0
  if (way == "dlsym") function = dlsym(RTLD_DEFAULT, "hipGetDeviceProperties");
  if (way == "hipGetProcAddress") {
    const GetProcAddress look_up = reinterpret_cast<GetProcAddress>(dlsym(RTLD_DEFAULT, "hipGetProcAddress"));
    if (look_up == nullptr) {
      std::printf("this version has no hipGetProcAddress\n");
      return REPRO_SKIP;
    }
    HIP_REQUIRE(look_up("hipGetDeviceProperties", &function, HIP_VERSION, 0, nullptr));
  }
  hipDeviceProp_t properties;
  std::memset(&properties, 0, sizeof properties);
  HIP_REQUIRE(reinterpret_cast<GetProperties>(function)(&properties, 0));
  std::printf("warpSize %d, should be %d; multiProcessorCount %d, should be %d; gcnArchName '%s'\n",
              properties.warpSize, warp, properties.multiProcessorCount, processors, properties.gcnArchName);
  repro_observe("warpSize", std::to_string(properties.warpSize).c_str());
  if (properties.warpSize == warp && properties.multiProcessorCount == processors) return 0;
  repro_signature("fields of the ROCm 5 layout");
  return 1;
}
