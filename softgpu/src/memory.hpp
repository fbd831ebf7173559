// Every range of addresses that a GPU may touch, and how the runtime itself reaches the bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime.hpp"

namespace sg {

enum class BlockKind { kDevice, kHost, kLocked, kIpc, kVmem };

struct Block {
  uintptr_t base = 0;
  uint64_t size = 0;  // as asked for
  char* alias = nullptr;
  BlockKind kind = BlockKind::kHost;
  Agent* owner = nullptr;
  uint32_t flags = 0;    // HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_*
  uint32_t readers = 0;  // Agent::bit() of those that may read
  uint32_t writers = 0;
  bool host_visible = true;
  void* user_data = nullptr;
  uint32_t locks = 0;  // kLocked: how often
  // kLocked with an address of its own for GPUs: there are two blocks, each names the other's base.
  uintptr_t partner = 0;
  bool partner_is_host = false;
};

namespace memory {

bool insert(const Block& block);
// Removes the block that starts at `base`; false when there is none.
bool remove(uintptr_t base, Block* removed);
// Looks up the block that holds `address`.
bool find(uintptr_t address, Block* found);
// Changes the block that holds `address` under the lock; false when there is none.
bool change(uintptr_t address, const std::function<void(Block&)>& edit);

enum class Access { kRead, kWrite };

// Where the runtime finds the bytes at a GPU address: a pointer and how many bytes follow it; {nullptr, 0}
// when none of the agents in `agents` may access it that way.
struct Span {
  char* at = nullptr;
  uint64_t size = 0;
};
Span translate(uint32_t agents, uintptr_t address, Access access);

// Zeroed host memory of the runtime's own, for queues and signals, that the agents of `access` (Agent::bit()) reach as
// well; nullptr when there is none.
void* map_shared(uint64_t bytes, uint32_t access);
void unmap_shared(void* at, uint64_t bytes);

// True when the page is mapped in this process.
bool mapped(uintptr_t address, uint64_t size);

hsa_status_t allocate(Pool& pool, uint64_t size, void** out);
hsa_status_t release(void* pointer);

}  // namespace memory

namespace svm {

// True when attributes or XNACK let one of the agents access the page of ordinary host memory.
bool accessible(uintptr_t address, uint32_t agents);

}  // namespace svm

// Copies and fills between GPU addresses. On an inaccessible address they end the process as the hardware
// does.
namespace transfer {

struct Context {
  uint32_t agents = 0;     // whose page tables are used
  Agent* agent = nullptr;  // whom a fault names
};

void copy(const Context& context, uintptr_t to, uintptr_t from, uint64_t size);
void fill(const Context& context, uintptr_t to, const void* pattern, uint64_t pattern_size, uint64_t size);
void read(const Context& context, void* to, uintptr_t from, uint64_t size);
void write(const Context& context, uintptr_t to, const void* from, uint64_t size);
// A pointer for atomic access to `size` aligned bytes.
char* atomic(const Context& context, uintptr_t address, uint64_t size);

}  // namespace transfer
}  // namespace sg
