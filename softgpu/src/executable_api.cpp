// The hsa_code_object_reader_* and hsa_executable_* functions, and the loader extension.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <set>

#include "executables.hpp"
#include "memory.hpp"
#include "answers.hpp"

namespace sg {
namespace {

// Handles that are alive, so that a stale one is an error and no crash.
struct Live {
  std::mutex mutex;
  std::set<uint64_t> readers, executables;
};

Live& live() {
  static Live* instance = new Live;
  return *instance;
}

Reader* reader_of(hsa_code_object_reader_t handle) {
  Live& l = live();
  std::lock_guard<std::mutex> lock(l.mutex);
  return l.readers.count(handle.handle) ? reinterpret_cast<Reader*>(handle.handle) : nullptr;
}

Executable* executable_of(hsa_executable_t handle) {
  Live& l = live();
  std::lock_guard<std::mutex> lock(l.mutex);
  return l.executables.count(handle.handle) ? reinterpret_cast<Executable*>(handle.handle) : nullptr;
}

hsa_status_t keep(Reader* reader, hsa_code_object_reader_t* out) {
  Live& l = live();
  std::lock_guard<std::mutex> lock(l.mutex);
  out->handle = reinterpret_cast<uint64_t>(reader);
  l.readers.insert(out->handle);
  return HSA_STATUS_SUCCESS;
}

hsa_executable_symbol_t handle_of(const std::unique_ptr<ExecutableSymbol>& symbol) {
  return {reinterpret_cast<uint64_t>(symbol.get())};
}

hsa_status_t variable_info(const ExecutableSymbol& symbol, uint32_t attribute, void* value) {
  switch (attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS:
      return put<uint64_t>(value, symbol.address);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION:
      return put(value, HSA_VARIABLE_ALLOCATION_AGENT);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT:
      return put(value, HSA_VARIABLE_SEGMENT_GLOBAL);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT:
      return put<uint32_t>(value, 16);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE:
      return put<uint32_t>(value, static_cast<uint32_t>(symbol.size));
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST:
      return put<bool>(value, false);
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

hsa_status_t kernel_info(const ExecutableSymbol& symbol, uint32_t attribute, void* value) {
  const Kernel& kernel = *symbol.info;
  switch (attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
      return put<uint64_t>(value, symbol.address);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
      return put<uint32_t>(value, kernel.kernarg_size);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT:
      return put<uint32_t>(value, std::max(kernel.kernarg_align, 16u));
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
      return put<uint32_t>(value, kernel.group_size);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
      return put<uint32_t>(value, kernel.private_size);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK:
      return put<bool>(value, kernel.dynamic_stack);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION:
      return put<uint32_t>(value, 0);
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

// Tells whether any kind of symbol has the attribute: ROCr, too, refuses those of variables for a kernel.
// https://github.com/ROCm/ROCR-Runtime/blob/rocm-6.4.3/runtime/hsa-runtime/loader/executable.cpp (GetInfo)
bool is_symbol_attribute(uint32_t attribute) {
  switch (attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS:
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION:
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT:
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT:
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE:
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST:
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT:
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK:
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION:
      return true;
    default:
      return false;
  }
}

}  // namespace
}  // namespace sg

using namespace sg;

SG_API hsa_status_t hsa_code_object_reader_create_from_memory(const void* bytes, size_t size,
                                                              hsa_code_object_reader_t* out) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(bytes && size && out, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  auto* reader = new Reader;
  reader->bytes.assign(static_cast<const uint8_t*>(bytes), static_cast<const uint8_t*>(bytes) + size);
  return keep(reader, out);
}

SG_API hsa_status_t hsa_code_object_reader_create_from_file(hsa_file_t file, hsa_code_object_reader_t* out) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(out, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  struct stat info = {};
  SG_REQUIRE(fstat(file, &info) == 0 && info.st_size > 0, HSA_STATUS_ERROR_INVALID_FILE);
  auto reader = std::make_unique<Reader>();
  reader->bytes.resize(static_cast<size_t>(info.st_size));
  ssize_t got = pread(file, reader->bytes.data(), reader->bytes.size(), 0);
  SG_REQUIRE(got == static_cast<ssize_t>(reader->bytes.size()), HSA_STATUS_ERROR_INVALID_FILE);
  return keep(reader.release(), out);
}

SG_API hsa_status_t hsa_code_object_reader_destroy(hsa_code_object_reader_t handle) {
  SG_REQUIRE_INIT();
  Reader* reader = reader_of(handle);
  SG_REQUIRE(reader, HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER);
  {
    Live& l = live();
    std::lock_guard<std::mutex> lock(l.mutex);
    l.readers.erase(handle.handle);
  }
  delete reader;
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_executable_create_alt(hsa_profile_t, hsa_default_float_rounding_mode_t, const char*,
                                              hsa_executable_t* out) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(out, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Live& l = live();
  std::lock_guard<std::mutex> lock(l.mutex);
  out->handle = reinterpret_cast<uint64_t>(new Executable);
  l.executables.insert(out->handle);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_executable_destroy(hsa_executable_t handle) {
  SG_REQUIRE_INIT();
  Executable* executable = executable_of(handle);
  SG_REQUIRE(executable, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  {
    Live& l = live();
    std::lock_guard<std::mutex> lock(l.mutex);
    l.executables.erase(handle.handle);
  }
  executables::unload(*executable);
  delete executable;
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_executable_load_agent_code_object(hsa_executable_t handle, hsa_agent_t agent_handle,
                                                          hsa_code_object_reader_t reader_handle, const char*,
                                                          hsa_loaded_code_object_t* out) {
  SG_REQUIRE_INIT();
  Executable* executable = executable_of(handle);
  SG_REQUIRE(executable, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  SG_REQUIRE(!executable->frozen, HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
  Agent* agent = agent_of(agent_handle);
  SG_REQUIRE(agent && agent->gpu, HSA_STATUS_ERROR_INVALID_AGENT);
  Reader* reader = reader_of(reader_handle);
  SG_REQUIRE(reader, HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER);
  LoadedObject loaded;
  hsa_status_t status =
      executables::load(*executable, *agent, reader->bytes.data(), reader->bytes.size(), &loaded);
  if (status == HSA_STATUS_SUCCESS && out) out->handle = reinterpret_cast<uint64_t>(loaded.memory);
  return status;
}

SG_API hsa_status_t hsa_executable_freeze(hsa_executable_t handle, const char*) {
  SG_REQUIRE_INIT();
  Executable* executable = executable_of(handle);
  SG_REQUIRE(executable, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  SG_REQUIRE(!executable->frozen, HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
  executable->frozen = true;
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_executable_validate(hsa_executable_t handle, uint32_t* result) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(executable_of(handle), HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  SG_REQUIRE(result, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  *result = 0;
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_executable_agent_global_variable_define(hsa_executable_t handle,
                                                                hsa_agent_t agent_handle, const char* name,
                                                                void* address) {
  SG_REQUIRE_INIT();
  Executable* executable = executable_of(handle);
  SG_REQUIRE(executable, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  SG_REQUIRE(!executable->frozen, HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
  Agent* agent = agent_of(agent_handle);
  SG_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
  SG_REQUIRE(name, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  bool added = executable->defined
                   .emplace(std::make_pair(agent, std::string(name)), reinterpret_cast<uint64_t>(address))
                   .second;
  return added ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED;
}

SG_API hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t handle, const char* name,
                                                      const hsa_agent_t* agent,
                                                      hsa_executable_symbol_t* out) {
  SG_REQUIRE_INIT();
  Executable* executable = executable_of(handle);
  SG_REQUIRE(executable, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  SG_REQUIRE(name && out, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Agent* wanted = agent ? agent_of(*agent) : nullptr;
  SG_REQUIRE(!agent || wanted, HSA_STATUS_ERROR_INVALID_AGENT);
  for (const auto& symbol : executable->symbols) {
    if (symbol->name == name && (!wanted || symbol->agent == wanted)) {
      *out = handle_of(symbol);
      return HSA_STATUS_SUCCESS;
    }
  }
  return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
}

using SymbolCallback = hsa_status_t (*)(hsa_executable_t, hsa_executable_symbol_t, void*);

SG_API hsa_status_t hsa_executable_iterate_symbols(hsa_executable_t handle, SymbolCallback callback,
                                                   void* data) {
  SG_REQUIRE_INIT();
  Executable* executable = executable_of(handle);
  SG_REQUIRE(executable, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  SG_REQUIRE(callback, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  for (const auto& symbol : executable->symbols) {
    hsa_status_t status = callback(handle, handle_of(symbol), data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_executable_iterate_agent_symbols(
    hsa_executable_t handle, hsa_agent_t agent,
    hsa_status_t (*callback)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void*), void* data) {
  SG_REQUIRE_INIT();
  Executable* executable = executable_of(handle);
  SG_REQUIRE(executable, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
  SG_REQUIRE(callback, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  for (const auto& symbol : executable->symbols) {
    if (symbol->agent != agent_of(agent)) continue;
    hsa_status_t status = callback(handle, agent, handle_of(symbol), data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_executable_symbol_get_info(hsa_executable_symbol_t handle,
                                                   hsa_executable_symbol_info_t attribute, void* value) {
  SG_REQUIRE_INIT();
  const auto* symbol = reinterpret_cast<const ExecutableSymbol*>(handle.handle);
  SG_REQUIRE(symbol, HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL);
  SG_REQUIRE(value, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  switch (static_cast<uint32_t>(attribute)) {
    case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
      return put(value, symbol->kernel ? HSA_SYMBOL_KIND_KERNEL : HSA_SYMBOL_KIND_VARIABLE);
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
      return put<uint32_t>(value, static_cast<uint32_t>(symbol->name.size()));
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
      std::memcpy(value, symbol->name.data(), symbol->name.size());
      return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH:
      return put<uint32_t>(value, 0);
    case HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME:
      return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_AGENT:
      return put(value, symbol->agent->handle());
    case HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE:
      return put(value, symbol->global ? HSA_SYMBOL_LINKAGE_PROGRAM : HSA_SYMBOL_LINKAGE_MODULE);
    case HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION:
      return put<bool>(value, true);
    default:
      break;
  }
  hsa_status_t status =
      symbol->kernel ? kernel_info(*symbol, attribute, value) : variable_info(*symbol, attribute, value);
  return status == HSA_STATUS_SUCCESS || is_symbol_attribute(attribute) ? status : refuse("symbol", attribute);
}

namespace {

// Where the host can read what lies at a device address: HIP and tools use it for code.
hsa_status_t host_address(const void* device, const void** host) {
  SG_REQUIRE(device && host, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Block block;
  SG_REQUIRE(memory::find(reinterpret_cast<uintptr_t>(device), &block), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  *host = block.alias + (reinterpret_cast<uintptr_t>(device) - block.base);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t no_loader_function() {
  report::add(report::Kind::kStub, "hsa_ven_amd_loader");
  return HSA_STATUS_ERROR;
}

}  // namespace

SG_API hsa_status_t hsa_system_get_major_extension_table(uint16_t extension, uint16_t major, size_t size,
                                                         void* table) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(table && size, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(extension == HSA_EXTENSION_AMD_LOADER && major == 1, HSA_STATUS_ERROR);
  // The table grows with the versions; the caller says how large its own is.
  auto** entries = static_cast<void**>(table);
  for (size_t i = 0; i < size / sizeof(void*); ++i) entries[i] = reinterpret_cast<void*>(no_loader_function);
  if (size >= sizeof(void*)) entries[0] = reinterpret_cast<void*>(host_address);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_system_get_extension_table(uint16_t extension, uint16_t major, uint16_t,
                                                   void* table) {
  return hsa_system_get_major_extension_table(extension, major, sizeof(void*), table);
}
