// Code objects loaded by hand, kernels and variables looked up by name, device variables of the program.
#include <hip/hiprtc.h>

#include <string>

#include "check.hpp"

__device__ int counter = 11;
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int* pointer = &counter;

static const char kSource[] =
    "extern \"C\" __device__ int answer = 42;"
    "extern \"C\" { __device__ unsigned char zeros[1000]; }"
    "extern \"C\" __global__ void work(int* p, int n) { if (threadIdx.x < n) p[threadIdx.x] = answer + "
    "zeros[n]; }"
    "extern \"C\" __global__ void __launch_bounds__(128) shared(int* p) { __shared__ int s[64];"
    "s[threadIdx.x & 63] = p[threadIdx.x]; __syncthreads(); p[threadIdx.x] = s[63 - (threadIdx.x & 63)]; }";

static std::vector<char> compile() {
  hipDeviceProp_t p;
  OK(hipGetDeviceProperties(&p, 0));
  std::string arch = std::string("--offload-arch=") + p.gcnArchName;
  const char* options[] = {arch.c_str()};
  hiprtcProgram program;
  std::vector<char> code;
  if (hiprtcCreateProgram(&program, kSource, "work.hip", 0, nullptr, nullptr) != HIPRTC_SUCCESS) return code;
  hiprtcResult result = hiprtcCompileProgram(program, 1, options);
  if (result != HIPRTC_SUCCESS) {
    size_t length = 0;
    hiprtcGetProgramLogSize(program, &length);
    std::string log(length, ' ');
    hiprtcGetProgramLog(program, &log[0]);
    std::printf("%s: %s\n", hiprtcGetErrorString(result), log.c_str());
  } else {
    size_t size = 0;
    hiprtcGetCodeSize(program, &size);
    code.resize(size);
    hiprtcGetCode(program, code.data());
  }
  hiprtcDestroyProgram(&program);
  return code;
}

static void loaded() {
  std::vector<char> code = compile();
  CHECK(!code.empty());
  if (code.empty()) return;
  hipModule_t module;
  if (!OK(hipModuleLoadData(&module, code.data()))) return;
  hipFunction_t function;
  OK(hipModuleGetFunction(&function, module, "work"));
  hipDeviceptr_t address = nullptr;
  size_t size = 0;
  OK(hipModuleGetGlobal(&address, &size, module, "answer"));
  CHECK(size == 4);
  int value = 0;
  OK(hipMemcpyDtoH(&value, address, 4));
  CHECK(value == 42);
  OK(hipModuleGetGlobal(&address, &size, module, "zeros"));
  CHECK(size == 1000);
  std::vector<unsigned char> zeros(1000, 1);
  OK(hipMemcpyDtoH(zeros.data(), address, 1000));
  CHECK(zeros == std::vector<unsigned char>(1000, 0));
  int* p = nullptr;
  OK(hipMalloc(reinterpret_cast<void**>(&p), 4096));
  int n = 64;
  void* arguments[] = {&p, &n};
  OK(hipModuleLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  OK(hipDeviceSynchronize());
  int attribute = 0;
  OK(hipFuncGetAttribute(&attribute, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  CHECK(attribute == 1024);
  OK(hipModuleGetFunction(&function, module, "shared"));
  OK(hipFuncGetAttribute(&attribute, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
  CHECK(attribute == 64 * sizeof(int));
  OK(hipFuncGetAttribute(&attribute, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  CHECK(attribute == 128);
  hipFunction_t none;
  GIVES(hipModuleGetFunction(&none, module, "no_such_kernel"), hipErrorNotFound);
  (void)hipGetLastError();
  CHECK(hipModuleGetGlobal(&address, &size, module, "no_such_variable") != hipSuccess);
  (void)hipGetLastError();
  OK(hipFree(p));
  OK(hipModuleUnload(module));
}

static void symbols() {
  int value = 0;
  OK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(counter), sizeof value));
  CHECK(value == 11);
  value = 12;
  OK(hipMemcpyToSymbol(HIP_SYMBOL(counter), &value, sizeof value));
  void* address = nullptr;
  size_t size = 0;
  OK(hipGetSymbolAddress(&address, HIP_SYMBOL(counter)));
  OK(hipGetSymbolSize(&size, HIP_SYMBOL(counter)));
  CHECK(size == sizeof(int));
  value = 0;
  OK(hipMemcpy(&value, address, sizeof value, hipMemcpyDeviceToHost));
  CHECK(value == 12);
  float floats[4] = {};
  OK(hipMemcpyFromSymbol(floats, HIP_SYMBOL(table), sizeof floats));
  CHECK(floats[0] == 1 && floats[3] == 4);
  float nine = 9;
  OK(hipMemcpyToSymbol(HIP_SYMBOL(table), &nine, sizeof nine, 2 * sizeof nine));
  OK(hipMemcpyFromSymbol(floats, HIP_SYMBOL(table), sizeof floats));
  CHECK(floats[2] == 9 && floats[1] == 2);
  void* stored = nullptr;  // an initialiser that holds an address is relocated by the loader
  OK(hipMemcpyFromSymbol(&stored, HIP_SYMBOL(pointer), sizeof stored));
  CHECK(stored == address);
}

int main() {
  symbols();
  loaded();
  std::vector<char> rubbish(4096, 'x');
  hipModule_t module;
  CHECK(hipModuleLoadData(&module, rubbish.data()) != hipSuccess);
  (void)hipGetLastError();
  return done();
}
