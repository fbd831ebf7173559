// Reader of AMDGPU code objects (ELF64 shared objects). Input comes out of container images: everything is
// checked. Format: https://llvm.org/docs/AMDGPUUsage.html#elf-code-object
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels.hpp"

namespace sg {

struct CodeObject {
  struct Segment {
    uint64_t address, file_offset, file_size;
  };
  struct Symbol {
    std::string name;
    uint64_t address = 0;
    uint64_t size = 0;
    bool kernel = false;  // a kernel descriptor, "name.kd"
    bool global = false;
  };
  struct Relocation {
    uint64_t address = 0;
    int64_t addend = 0;
    std::string symbol;  // empty: relative to the load address
    uint64_t symbol_address = 0;
    bool defined = true;
    uint8_t bytes = 8;
  };

  uint32_t flags = 0;      // e_flags
  uint64_t load_size = 0;  // bytes of memory to load it into
  std::vector<Segment> segments;
  std::vector<Symbol> symbols;
  std::vector<Relocation> relocations;
  std::vector<Kernel> kernels;  // from the metadata and the descriptors
};

// False, with the reason in `error`, when the bytes are no loadable code object.
bool read_code_object(const uint8_t* data, size_t size, CodeObject* out, std::string* error);

}  // namespace sg
