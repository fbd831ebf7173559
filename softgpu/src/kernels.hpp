// The kernels that were loaded: what the packet processor has to know of a kernel object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report.hpp"
#include "runtime.hpp"

namespace sg {

namespace blits {
struct Blit;
}

struct KernelArgument {
  std::string name;  // empty when the compiler left it out
  std::string kind;  // by_value, global_buffer, image, hidden_…
  uint32_t offset = 0;
  uint32_t size = 0;
};

struct Kernel {
  std::string name;
  uint32_t group_size = 0;
  uint32_t private_size = 0;
  uint32_t kernarg_size = 0;
  uint32_t kernarg_align = 16;
  bool dynamic_stack = false;
  std::vector<KernelArgument> arguments;
  const blits::Blit* blit = nullptr;   // how to emulate it; nullptr for a user kernel
  report::Counter* counter = nullptr;  // dispatches
};

namespace kernels {

// Kernels are never freed: a queue may hold a packet of an executable that is being destroyed.
void add(uint64_t object, const Kernel* kernel);
void remove(uint64_t object);
const Kernel* find(uint64_t object);
// Changes with each add and remove, so that queues can keep the kernel that they ran last.
uint64_t generation();

}  // namespace kernels
}  // namespace sg
