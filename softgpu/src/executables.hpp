// Executables: code objects loaded into the memory of a GPU.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "code_object.hpp"
#include "runtime.hpp"

namespace sg {

struct Reader {
  std::vector<uint8_t> bytes;
};

struct ExecutableSymbol {
  std::string name;
  Agent* agent = nullptr;
  bool kernel = false;
  bool global = false;
  uint64_t address = 0;
  uint64_t size = 0;
  const Kernel* info = nullptr;
};

struct LoadedObject {
  Agent* agent = nullptr;
  void* memory = nullptr;
  uint64_t size = 0;
};

struct Executable {
  bool frozen = false;
  std::vector<LoadedObject> objects;
  std::vector<std::unique_ptr<ExecutableSymbol>> symbols;
  std::map<std::pair<Agent*, std::string>, uint64_t>
      defined;  // by hsa_executable_agent_global_variable_define
  std::vector<uint64_t> kernel_objects;
};

namespace executables {

hsa_status_t load(Executable& executable, Agent& agent, const uint8_t* bytes, size_t size,
                  LoadedObject* loaded);
void unload(Executable& executable);

}  // namespace executables
}  // namespace sg
