// Zero memory through HIP that the host has allocated and the GPU can reach.
// https://github.com/kokkos/kokkos/issues/7377
#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hip_check.h"

namespace {

const size_t kSize = 16384, kRows = 4, kPage = 4096;
unsigned char* stack_memory = nullptr;

// Memory that only the host knows of: the GPU reaches it where it can access pageable memory.
bool is_pageable(const std::string& kind) {
  return kind == "malloc" || kind == "calloc" || kind == "stack" || kind == "mmap";
}

void* allocate(const std::string& kind) {
  void* memory = nullptr;
  if (kind == "malloc") memory = std::malloc(kSize);
  if (kind == "calloc") memory = std::calloc(kSize, 1);
  if (kind == "stack") memory = stack_memory;
  if (kind == "mmap") memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (kind == "hipMalloc") HIP_REQUIRE(hipMalloc(&memory, kSize));
  if (kind == "hipMallocManaged") HIP_REQUIRE(hipMallocManaged(&memory, kSize, hipMemAttachGlobal));
  if (kind == "hipHostMalloc") HIP_REQUIRE(hipHostMalloc(&memory, kSize, hipHostMallocDefault));
  if (kind == "hipHostRegister") {
    memory = std::aligned_alloc(kPage, kSize);
    HIP_REQUIRE(hipHostRegister(memory, kSize, hipHostRegisterDefault));
  }
  if (memory == nullptr || memory == MAP_FAILED) leave(REPRO_BROKEN);
  return memory;
}

hipError_t set_zero(const std::string& call, void* memory, hipStream_t stream) {
  const hipDeviceptr_t address = reinterpret_cast<hipDeviceptr_t>(memory);
  const size_t row = kSize / kRows;
  if (call == "hipMemset") return hipMemset(memory, 0, kSize);
  if (call == "hipMemsetAsync") return hipMemsetAsync(memory, 0, kSize, stream);
  if (call == "hipMemsetD8") return hipMemsetD8(address, 0, kSize);
  if (call == "hipMemsetD32Async") return hipMemsetD32Async(address, 0, kSize / 4, stream);
  if (call == "hipMemset2DAsync") return hipMemset2DAsync(memory, row, 0, row, kRows, stream);
  if (call == "zero-length") return hipMemsetAsync(memory, 0, 0, stream);
  leave(REPRO_BROKEN);
}

std::vector<unsigned char> contents(const std::string& kind, void* memory) {
  std::vector<unsigned char> copy(kSize);
  if (kind == "hipMalloc") HIP_REQUIRE(hipMemcpy(copy.data(), memory, kSize, hipMemcpyDeviceToHost));
  if (kind != "hipMalloc") std::copy_n(static_cast<unsigned char*>(memory), kSize, copy.begin());
  return copy;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  unsigned char on_stack[kSize];
  stack_memory = on_stack;
  const std::string kind = argv[1], call = argv[2];

  int pageable = 0;
  HIP_REQUIRE(hipDeviceGetAttribute(&pageable, hipDeviceAttributePageableMemoryAccess, 0));
  repro_observe("hipDeviceAttributePageableMemoryAccess", pageable ? "1" : "0");
  void* const memory = allocate(kind);
  if (kind == "hipMalloc") HIP_REQUIRE(hipMemset(memory, 1, kSize));
  if (kind != "hipMalloc") std::fill_n(static_cast<unsigned char*>(memory), kSize, 1);
  hipStream_t stream = nullptr;
  HIP_REQUIRE(hipStreamCreate(&stream));
  HIP_REQUIRE(hipDeviceSynchronize());

  // Where the GPU cannot reach pageable memory a rejection is right, and an acceptance could only end in a fault.
  if (is_pageable(kind) && call != "zero-length" && !pageable) {
    const hipError_t error = set_zero(call, memory, stream);
    repro_observe(argv[2], hipGetErrorName(error));
    std::printf("no pageable memory access here (XNACK is off), so %s is right to reject host memory: %s\n", argv[2],
                hipGetErrorName(error));
    leave(REPRO_SKIP);
  }

  if (hip_expect(argv[2], set_zero(call, memory, stream), hipSuccess) != 0) return 1;
  HIP_REQUIRE(hipStreamSynchronize(stream));
  HIP_REQUIRE(hipDeviceSynchronize());
  const std::vector<unsigned char> seen = contents(kind, memory);
  const unsigned char wanted = call == "zero-length" ? 1 : 0;
  const size_t wrong = kSize - std::count(seen.begin(), seen.end(), wanted);
  std::printf("%zu of %zu bytes are wrong\n", wrong, kSize);
  if (wrong == 0) return 0;
  repro_signature("wrong contents");
  return 1;
}
