#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "faults.hpp"
#include "report.hpp"

namespace sg::memory {
namespace {

struct Table {
  std::shared_mutex mutex;
  std::map<uintptr_t, Block> blocks;
};

Table& table() {
  static Table* instance = new Table;
  return *instance;
}

// The caller holds the lock.
Block* holder(Table& t, uintptr_t address) {
  auto it = t.blocks.upper_bound(address);
  // Only locked ranges may overlap: behind one that ends too early a longer one may begin earlier.
  for (int looks = 0; it != t.blocks.begin() && looks < 64; ++looks) {
    Block& block = (--it)->second;
    if (address - block.base < block.size) return &block;
    if (block.kind != BlockKind::kLocked) break;
  }
  return nullptr;
}

// Like holder(), but mappings are made of whole pages: what shares a page with a block is there, too.
const Block* covering(Table& t, uintptr_t address) {
  if (const Block* block = holder(t, address)) return block;
  auto next = t.blocks.upper_bound(address);
  if (next != t.blocks.end() && (next->first & ~(kPage - 1)) <= address) return &next->second;
  if (next == t.blocks.begin()) return nullptr;
  const Block& before = std::prev(next)->second;
  return address < page_up(before.base + before.size) ? &before : nullptr;
}

// With HMM a GPU reaches host memory: whatever is mapped when XNACK is on, else what SVM attributes opened to
// it (so HIP makes managed memory). One page at a time, since neighbours may differ.
Span pageable(uint32_t agents, uintptr_t address) {
  const Runtime& rt = runtime();
  uintptr_t page = address & ~(kPage - 1);
  if (!rt.hmm || (!rt.xnack && !svm::accessible(address, agents)) || !mapped(page, kPage)) return {};
  static report::Counter* soft = report::counter(report::Kind::kSoft, "pageable memory accessed by the GPU");
  report::add(soft);
  return {reinterpret_cast<char*>(address), page + kPage - address};
}

hsa_status_t allocate_device(Pool& pool, uint64_t size, void** out) {
  Agent& agent = *pool.agent;
  uint64_t offset = 0;
  if (!faults::may_allocate(size) || !agent.heap.allocate(size, &offset))
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  agent.heap.expose(offset, size, true);
  Block block;
  block.base = agent.heap.device(offset);
  block.size = size;
  block.alias = agent.heap.alias(offset);
  block.kind = BlockKind::kDevice;
  block.owner = &agent;
  block.flags = pool.flags;
  block.readers = block.writers = agent.bit();
  block.host_visible = agent.heap.host_visible();
  insert(block);
  *out = reinterpret_cast<void*>(block.base);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t allocate_host(Pool& pool, uint64_t size, void** out) {
  void* at = mmap(nullptr, page_up(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
  if (at == MAP_FAILED) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  Block block;
  block.base = reinterpret_cast<uintptr_t>(at);
  block.size = size;
  block.alias = static_cast<char*>(at);
  block.kind = BlockKind::kHost;
  block.owner = pool.agent;
  block.flags = pool.flags;
  block.readers = block.writers = pool.agent->bit();
  insert(block);
  *out = at;
  return HSA_STATUS_SUCCESS;
}

}  // namespace

bool insert(const Block& block) {
  Table& t = table();
  std::unique_lock<std::shared_mutex> lock(t.mutex);
  return t.blocks.emplace(block.base, block).second;
}

bool remove(uintptr_t base, Block* removed) {
  Table& t = table();
  std::unique_lock<std::shared_mutex> lock(t.mutex);
  auto it = t.blocks.find(base);
  if (it == t.blocks.end()) return false;
  if (removed) *removed = it->second;
  t.blocks.erase(it);
  return true;
}

bool find(uintptr_t address, Block* found) {
  Table& t = table();
  std::shared_lock<std::shared_mutex> lock(t.mutex);
  const Block* block = holder(t, address);
  if (block && found) *found = *block;
  return block != nullptr;
}

bool change(uintptr_t address, const std::function<void(Block&)>& edit) {
  Table& t = table();
  std::unique_lock<std::shared_mutex> lock(t.mutex);
  Block* block = holder(t, address);
  if (block) edit(*block);
  return block != nullptr;
}

void* map_shared(uint64_t bytes, uint32_t access) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  Block block;
  block.base = reinterpret_cast<uintptr_t>(at);
  block.size = bytes;
  block.alias = static_cast<char*>(at);
  block.owner = runtime().cpu;
  block.flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  block.readers = block.writers = access;
  insert(block);
  return at;
}

void unmap_shared(void* at, uint64_t bytes) {
  if (!at) return;
  remove(reinterpret_cast<uintptr_t>(at), nullptr);
  munmap(at, bytes);
}

bool mapped(uintptr_t address, uint64_t size) {
  uintptr_t first = address & ~(kPage - 1);
  uint64_t bytes = page_up(address + size - first);
  unsigned char state[256];
  for (uint64_t done = 0; done < bytes; done += sizeof state * kPage) {
    uint64_t part = std::min<uint64_t>(bytes - done, sizeof state * kPage);
    if (mincore(reinterpret_cast<void*>(first + done), part, state)) return false;
  }
  return true;
}

Span translate(uint32_t agents, uintptr_t address, Access access) {
  Table& t = table();
  {
    std::shared_lock<std::shared_mutex> lock(t.mutex);
    const Block* block = covering(t, address);
    if (block) {
      uint32_t allowed = access == Access::kRead ? block->readers : block->writers;
      if (!(allowed & agents)) return {};
      uintptr_t end = page_up(block->base + block->size);
      return {block->alias + static_cast<ptrdiff_t>(address - block->base), end - address};
    }
  }
  return pageable(agents, address);
}

hsa_status_t allocate(Pool& pool, uint64_t size, void** out) {
  SG_REQUIRE(pool.kind != PoolKind::kGroup, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  SG_REQUIRE(size && out, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(size <= pool.size, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  return pool.agent->gpu ? allocate_device(pool, size, out) : allocate_host(pool, size, out);
}

hsa_status_t release(void* pointer) {
  if (!pointer) return HSA_STATUS_SUCCESS;
  Block block;
  uintptr_t base = reinterpret_cast<uintptr_t>(pointer);
  if (!find(base, &block) || block.base != base) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  if (block.kind != BlockKind::kDevice && block.kind != BlockKind::kHost)
    return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  remove(base, nullptr);
  if (block.kind == BlockKind::kHost) {
    munmap(pointer, page_up(block.size));
  } else {
    uint64_t offset = block.owner->heap.offset(base);
    block.owner->heap.expose(offset, block.size, false);
    block.owner->heap.release(offset, block.size);
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace sg::memory

namespace sg::transfer {
namespace {

using memory::Access;
using memory::Span;

Span reach(const Context& context, uintptr_t address, Access access) {
  Span span = memory::translate(context.agents, address, access);
  if (!span.at) faults::memory_fault(*context.agent, address, access == Access::kWrite);
  return span;
}

}  // namespace

void copy(const Context& context, uintptr_t to, uintptr_t from, uint64_t size) {
  while (size) {
    Span source = reach(context, from, Access::kRead), target = reach(context, to, Access::kWrite);
    uint64_t part = std::min({size, source.size, target.size});
    std::memmove(target.at, source.at, part);
    to += part;
    from += part;
    size -= part;
  }
}

void fill(const Context& context, uintptr_t to, const void* pattern, uint64_t pattern_size, uint64_t size) {
  uint64_t phase = 0;  // position in the pattern: a span may end within one
  const char* bytes = static_cast<const char*>(pattern);
  while (size) {
    Span target = reach(context, to, Access::kWrite);
    uint64_t part = std::min(size, target.size);
    if (pattern_size == 1) {
      std::memset(target.at, *bytes, part);
    } else {
      for (uint64_t i = 0; i < part;) {
        uint64_t at = (phase + i) % pattern_size, run = std::min(pattern_size - at, part - i);
        std::memcpy(target.at + i, bytes + at, run);
        i += run;
      }
    }
    phase += part;
    to += part;
    size -= part;
  }
}

void read(const Context& context, void* to, uintptr_t from, uint64_t size) {
  for (char* out = static_cast<char*>(to); size;) {
    Span source = reach(context, from, Access::kRead);
    uint64_t part = std::min(size, source.size);
    std::memcpy(out, source.at, part);
    out += part;
    from += part;
    size -= part;
  }
}

void write(const Context& context, uintptr_t to, const void* from, uint64_t size) {
  for (const char* in = static_cast<const char*>(from); size;) {
    Span target = reach(context, to, Access::kWrite);
    uint64_t part = std::min(size, target.size);
    std::memcpy(target.at, in, part);
    in += part;
    to += part;
    size -= part;
  }
}

char* atomic(const Context& context, uintptr_t address, uint64_t size) {
  Span target = reach(context, address, Access::kWrite);
  if (target.size < size) faults::memory_fault(*context.agent, address + target.size, true);
  return target.at;
}

}  // namespace sg::transfer
