// Can a kernel write to memory that the host has allocated, and zero it where hipMemset does not?
// https://github.com/kokkos/kokkos/issues/7377
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hip_check.h"

namespace {

const size_t kSize = 16384;

// The kernel is compiled for the device that is there, XNACK and all, so that the binary fits every GPU.
const char kSource[] =
    "extern \"C\" __global__ void fill(unsigned char* memory, unsigned char value, unsigned size) {\n"
    "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < size) memory[i] = value;\n"
    "}\n";

hipFunction_t compile() {
  hipDeviceProp_t properties;
  HIP_REQUIRE(hipGetDeviceProperties(&properties, 0));
  const std::string arch = std::string("--offload-arch=") + properties.gcnArchName;
  const char* options[] = {arch.c_str()};
  hiprtcProgram program = nullptr;
  size_t size = 0;
  if (hiprtcCreateProgram(&program, kSource, "fill.hip", 0, nullptr, nullptr) != HIPRTC_SUCCESS) leave(REPRO_BROKEN);
  if (hiprtcCompileProgram(program, 1, options) != HIPRTC_SUCCESS) leave(REPRO_BROKEN);
  if (hiprtcGetCodeSize(program, &size) != HIPRTC_SUCCESS) leave(REPRO_BROKEN);
  std::vector<char> code(size);
  if (hiprtcGetCode(program, code.data()) != HIPRTC_SUCCESS) leave(REPRO_BROKEN);
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  HIP_REQUIRE(hipModuleLoadData(&module, code.data()));
  HIP_REQUIRE(hipModuleGetFunction(&function, module, "fill"));
  return function;
}

void* allocate(const std::string& kind) {
  void* memory = nullptr;
  if (kind == "malloc") memory = std::malloc(kSize);
  if (kind == "calloc") memory = std::calloc(kSize, 1);
  if (kind == "mmap") memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (kind == "hipHostMalloc") HIP_REQUIRE(hipHostMalloc(&memory, kSize, hipHostMallocDefault));
  if (memory == nullptr || memory == MAP_FAILED) leave(REPRO_BROKEN);
  return memory;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string kind = argv[1];
  const bool pinned = kind == "hipHostMalloc";
  unsigned char value = std::string(argv[2]) == "zero" ? 0 : 2;  // "zero" is the workaround, "two" its precondition
  int pageable = 0;
  HIP_REQUIRE(hipDeviceGetAttribute(&pageable, hipDeviceAttributePageableMemoryAccess, 0));
  if (!pageable && !pinned) {
    std::printf("hipDeviceAttributePageableMemoryAccess is 0 (XNACK is off): a kernel may not touch host memory\n");
    return REPRO_SKIP;
  }
  unsigned char* memory = static_cast<unsigned char*>(allocate(kind));
  std::fill_n(memory, kSize, 1);

  unsigned size = kSize;
  void* arguments[] = {&memory, &value, &size};
  HIP_REQUIRE(hipModuleLaunchKernel(compile(), kSize / 256, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr));
  if (hip_expect("hipDeviceSynchronize", hipDeviceSynchronize(), hipSuccess) != 0) return 1;
  const size_t wrong = kSize - std::count(memory, memory + kSize, value);
  std::printf("%zu of %zu bytes are wrong\n", wrong, kSize);
  if (wrong == 0) return 0;
  repro_signature("wrong contents");
  return 1;
}
