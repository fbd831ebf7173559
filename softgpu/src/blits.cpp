#include "blits.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "report.hpp"

namespace sg::blits {
namespace {

constexpr char kPrefix[] = "__amd_rocclr_";

const KernelArgument* named(const Kernel& kernel, const char* name) {
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.name == name) return &argument;
  }
  return nullptr;
}

std::string names_of(const std::vector<KernelArgument>& arguments) {
  std::string out;
  for (const KernelArgument& argument : arguments) {
    if (argument.kind.rfind("hidden", 0) == 0) continue;
    out += (out.empty() ? "" : " ") + argument.name;
  }
  return out;
}

}  // namespace

uint64_t Arguments::number(const char* name) const {
  uint64_t value = 0;
  const KernelArgument* argument = named(kernel_, name);
  if (argument)
    std::memcpy(&value, bytes_ + argument->offset, std::min<size_t>(argument->size, sizeof value));
  return value;
}

bool Arguments::vector(const char* name, void* out, size_t size) const {
  const KernelArgument* argument = named(kernel_, name);
  if (!argument || argument->size < size) return false;
  std::memcpy(out, bytes_ + argument->offset, size);
  return true;
}

bool reserved(const std::string& kernel) { return kernel.rfind(kPrefix, 0) == 0; }

const Blit* find(const std::string& kernel, const std::vector<KernelArgument>& arguments) {
  if (!reserved(kernel)) return nullptr;
  const std::string name = kernel.substr(sizeof kPrefix - 1), names = names_of(arguments);
  for (const auto* family : {&linear(), &stream_operations(), &image()}) {
    for (const Blit& blit : *family) {
      if (name == blit.name && names == blit.arguments) return &blit;
    }
  }
  return nullptr;
}

void run(Agent& agent, const Kernel& kernel, const hsa_kernel_dispatch_packet_t& packet,
         const std::atomic<bool>& stop) {
  transfer::Context context = {agent.bit(), &agent};
  std::vector<char> bytes(kernel.kernarg_size);
  transfer::read(context, bytes.data(), reinterpret_cast<uintptr_t>(packet.kernarg_address), bytes.size());
  Launch launch = {context,
                   agent,
                   Arguments(kernel, bytes.data()),
                   {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z},
                   stop};
  kernel.blit->run(launch);
}

}  // namespace sg::blits
