#include "executables.hpp"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "blits.hpp"
#include "memory.hpp"

namespace sg::kernels {
namespace {

struct Table {
  std::shared_mutex mutex;
  std::unordered_map<uint64_t, const Kernel*> objects;
  std::atomic<uint64_t> generation{1};
};

Table& table() {
  static Table* instance = new Table;
  return *instance;
}

}  // namespace

void add(uint64_t object, const Kernel* kernel) {
  Table& t = table();
  std::unique_lock<std::shared_mutex> lock(t.mutex);
  t.objects[object] = kernel;
  t.generation.fetch_add(1);
}

void remove(uint64_t object) {
  Table& t = table();
  std::unique_lock<std::shared_mutex> lock(t.mutex);
  t.objects.erase(object);
  t.generation.fetch_add(1);
}

const Kernel* find(uint64_t object) {
  Table& t = table();
  std::shared_lock<std::shared_mutex> lock(t.mutex);
  auto it = t.objects.find(object);
  return it == t.objects.end() ? nullptr : it->second;
}

uint64_t generation() { return table().generation.load(std::memory_order_acquire); }

}  // namespace sg::kernels

namespace sg::executables {
namespace {

// e_flags: https://llvm.org/docs/AMDGPUUsage.html#header
constexpr uint32_t kMachMask = 0xff;
constexpr uint32_t kXnackMask = 0x300, kXnackOff = 0x200, kXnackOn = 0x300;
constexpr uint32_t kSramEccMask = 0xc00, kSramEccOff = 0x800, kSramEccOn = 0xc00;

// Whether code for these flags may run on the agent: the processor must be the same, and a feature that the
// code fixes must be set that way.
bool compatible(uint32_t flags, const Agent& agent) {
  if ((flags & kMachMask) != agent.chip->mach) return false;
  const bool xnack = runtime().xnack;
  if ((flags & kXnackMask) == kXnackOff && xnack) return false;
  if ((flags & kXnackMask) == kXnackOn && !xnack) return false;
  if ((flags & kSramEccMask) == kSramEccOff && agent.chip->sramecc) return false;
  if ((flags & kSramEccMask) == kSramEccOn && !agent.chip->sramecc) return false;
  return true;
}

hsa_status_t relocate(const CodeObject& code, const Executable& executable, Agent& agent, uint64_t base,
                      char* alias) {
  for (const CodeObject::Relocation& r : code.relocations) {
    uint64_t value = base + static_cast<uint64_t>(r.addend);
    if (!r.symbol.empty() && r.defined) {
      value += r.symbol_address;
    } else if (!r.symbol.empty()) {
      auto it = executable.defined.find({&agent, r.symbol});
      if (it == executable.defined.end()) return HSA_STATUS_ERROR_VARIABLE_UNDEFINED;
      value = it->second + static_cast<uint64_t>(r.addend);
    }
    std::memcpy(alias + r.address, &value, r.bytes);
  }
  return HSA_STATUS_SUCCESS;
}

const Kernel* publish_kernel(const CodeObject& code, const std::string& name) {
  for (const Kernel& found : code.kernels) {
    if (found.name != name) continue;
    auto* kernel = new Kernel(found);
    std::string plain = name.substr(0, name.size() - 3);  // without ".kd"
    kernel->blit = blits::find(plain, kernel->arguments);
    report::Kind kind = report::Kind::kKernel;
    if (blits::reserved(plain)) kind = kernel->blit ? report::Kind::kBlit : report::Kind::kUnknownBlit;
    kernel->counter = report::counter(kind, plain.c_str());
    return kernel;
  }
  return nullptr;
}

void add_symbols(const CodeObject& code, Executable& executable, Agent& agent, uint64_t base) {
  for (const CodeObject::Symbol& found : code.symbols) {
    auto symbol = std::make_unique<ExecutableSymbol>();
    symbol->name = found.name;
    symbol->agent = &agent;
    symbol->kernel = found.kernel;
    symbol->global = found.global;
    symbol->address = base + found.address;
    symbol->size = found.size;
    if (found.kernel) {
      symbol->info = publish_kernel(code, found.name);
      if (!symbol->info) continue;
      kernels::add(symbol->address, symbol->info);
      executable.kernel_objects.push_back(symbol->address);
    }
    executable.symbols.push_back(std::move(symbol));
  }
}

}  // namespace

hsa_status_t load(Executable& executable, Agent& agent, const uint8_t* bytes, size_t size,
                  LoadedObject* loaded) {
  CodeObject code;
  std::string error;
  if (!read_code_object(bytes, size, &code, &error)) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  if (!compatible(code.flags, agent)) return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
  void* memory = nullptr;
  hsa_status_t status = memory::allocate(*agent.pools[0], code.load_size, &memory);
  if (status != HSA_STATUS_SUCCESS) return status;
  const uint64_t base = reinterpret_cast<uint64_t>(memory);
  char* alias = agent.heap.alias(agent.heap.offset(base));
  for (const CodeObject::Segment& s : code.segments)
    std::memcpy(alias + s.address, bytes + s.file_offset, s.file_size);
  status = relocate(code, executable, agent, base, alias);
  if (status != HSA_STATUS_SUCCESS) {
    memory::release(memory);
    return status;
  }
  add_symbols(code, executable, agent, base);
  *loaded = {&agent, memory, code.load_size};
  executable.objects.push_back(*loaded);
  return HSA_STATUS_SUCCESS;
}

void unload(Executable& executable) {
  for (uint64_t object : executable.kernel_objects) kernels::remove(object);
  for (const LoadedObject& object : executable.objects) memory::release(object.memory);
}

}  // namespace sg::executables
