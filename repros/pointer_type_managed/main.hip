// Which type has managed memory?
// https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/CHANGELOG.md (HIP 5.7.1)
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string kind = argv[1];
  const size_t size = 4096;
  void* pointer = nullptr;
  if (kind == "managed") HIP_REQUIRE(hipMallocManaged(&pointer, size));
  if (kind == "device") HIP_REQUIRE(hipMalloc(&pointer, size));
  if (kind == "pinned") HIP_REQUIRE(hipHostMalloc(&pointer, size));
  const int managed = HIP_VERSION_MAJOR < 6 ? 4 : 3;  // hipMemoryTypeManaged; the headers of 5.2 do not have it
  const int wanted = kind == "managed" ? managed : kind == "device" ? hipMemoryTypeDevice : hipMemoryTypeHost;
  hipPointerAttribute_t attributes;
  HIP_REQUIRE(hipPointerGetAttributes(&attributes, pointer));
#if HIP_VERSION_MAJOR < 6
  const int type = attributes.memoryType;
#else
  const int type = attributes.type;
#endif
  std::printf("%s memory: type %d, wanted %d\n", argv[1], type, wanted);
  repro_observe(argv[1], std::to_string(type).c_str());
  if (type == wanted) return 0;
  repro_signature(type == hipMemoryTypeHost ? "hipMemoryTypeHost" : "another type");
  return 1;
}
