#include "chip.hpp"

namespace sg {

const std::vector<Chip>& chips() {
  static const std::vector<Chip>* all = new std::vector<Chip>{
#include "chips.inc"  // made from chips/*.chip by the Makefile
  };
  return *all;
}

const Chip* find_chip(const std::string& name) {
  for (const Chip& chip : chips()) {
    if (name == chip.id || name == chip.alias) return &chip;
  }
  for (const Chip& chip : chips()) {
    if (name == chip.gfx) return &chip;
  }
  return nullptr;
}

// Order and spelling of the features: https://llvm.org/docs/AMDGPUUsage.html#target-id
std::string isa_name(const Chip& chip, bool xnack) {
  std::string name = std::string("amdgcn-amd-amdhsa--") + chip.gfx;
  if (chip.sramecc) name += ":sramecc+";
  if (chip.xnack) name += xnack ? ":xnack+" : ":xnack-";
  return name;
}

}  // namespace sg
