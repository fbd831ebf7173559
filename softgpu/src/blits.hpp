// The kernels that HIP itself brings to copy and fill. They are emulated, so that memory operations really
// happen.
//
// HIP compiles them at run time from OpenCL source that is a plain string in libamdhip64; their meaning was
// read from there and from the library functions that they call:
// https://github.com/ROCm/llvm-project/blob/amd-staging/amd/device-libs/opencl/src/misc/amdblit.cl
// tests/check_blits.sh fails when an image brings a blit kernel or a signature that is not known here.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "memory.hpp"

namespace sg::blits {

// The arguments of one launch, by name.
class Arguments {
 public:
  Arguments(const Kernel& kernel, const char* bytes) : kernel_(kernel), bytes_(bytes) {}

  uint64_t number(const char* name) const;  // an integer of its size, zero-extended
  bool vector(const char* name, void* out, size_t size) const;

 private:
  const Kernel& kernel_;
  const char* bytes_;
};

struct Launch {
  transfer::Context context;
  Agent& agent;
  Arguments arguments;
  uint64_t grid[3];
  const std::atomic<bool>& stop;
};

struct Blit {
  const char* name;
  const char* arguments;  // their names, in order, separated by blanks
  void (*run)(const Launch& launch);
};

// True for names that only HIP's own kernels have.
bool reserved(const std::string& kernel);

// The emulation for a kernel with these arguments; nullptr when there is none.
const Blit* find(const std::string& kernel, const std::vector<KernelArgument>& arguments);

void run(Agent& agent, const Kernel& kernel, const hsa_kernel_dispatch_packet_t& packet,
         const std::atomic<bool>& stop);

// The families, one source file each.
const std::vector<Blit>& linear();
const std::vector<Blit>& stream_operations();
const std::vector<Blit>& image();

}  // namespace sg::blits
