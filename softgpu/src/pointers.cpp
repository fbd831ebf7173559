// What a pointer is (hsa_amd_pointer_info), and locking of host memory.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "memory.hpp"
#include "report.hpp"

namespace sg {
namespace {

uint32_t type_of(const Block& block) {
  switch (block.kind) {
    case BlockKind::kLocked:
      return HSA_EXT_POINTER_TYPE_LOCKED;
    case BlockKind::kIpc:
      return HSA_EXT_POINTER_TYPE_IPC;
    case BlockKind::kVmem:
      return abi::kPointerVmem;
    default:
      return HSA_EXT_POINTER_TYPE_HSA;
  }
}

hsa_status_t accessible(const Block& block, void* (*alloc)(size_t), uint32_t* count, hsa_agent_t** list) {
  std::vector<hsa_agent_t> agents;
  for (Agent* agent : runtime().agents) {
    if (block.readers & agent->bit()) agents.push_back(agent->handle());
  }
  *list = static_cast<hsa_agent_t*>(alloc(std::max<size_t>(agents.size(), 1) * sizeof(hsa_agent_t)));
  SG_REQUIRE(*list, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  *count = static_cast<uint32_t>(agents.size());
  std::copy(agents.begin(), agents.end(), *list);
  return HSA_STATUS_SUCCESS;
}

// Drivers without the SVM interface, and runtimes before they used it, give locked memory a second address
// that only GPUs can use; HIP 5.2 aborts in hipHostUnregister when it is the same.
// https://github.com/ROCm/ROCT-Thunk-Interface/blob/rocm-5.2.x/src/fmm.c (fmm_register_user_memory)
bool own_address() {
  static const bool old = hip_version_below(5, 5);
  return old || !runtime().hmm;
}

hsa_status_t lock_elsewhere(Block block, void** out) {
  Block known;
  if (memory::find(block.base, &known) && known.base == block.base) {
    if (known.kind == BlockKind::kLocked && known.partner) {
      memory::change(block.base, [](Block& b) { ++b.locks; });
      *out = reinterpret_cast<void*>(known.partner);
    } else {  // memory of a pool is locked already
      *out = reinterpret_cast<void*>(block.base);
    }
    return HSA_STATUS_SUCCESS;
  }
  const uint64_t lead = block.base & (kPage - 1), room = page_up(lead + block.size);
  void* at = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  SG_REQUIRE(at != MAP_FAILED, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  Block gpu = block;
  gpu.base = reinterpret_cast<uintptr_t>(at) + lead;
  gpu.partner = block.base;
  gpu.partner_is_host = true;
  block.partner = gpu.base;
  block.readers = block.writers = runtime().cpu->bit();
  memory::insert(gpu);
  memory::insert(block);
  *out = reinterpret_cast<void*>(gpu.base);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t lock(void* pointer, size_t size, const hsa_agent_t* agents, int count, void** out) {
  SG_REQUIRE(pointer && size && out && count >= 0, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(!(count == 0 && agents), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  uint32_t bits = runtime().cpu->bit();
  for (int i = 0; i < count; ++i) {
    Agent* agent = agent_of(agents[i]);
    SG_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
    bits |= agent->bit();
  }
  if (!count) bits = ~0u;
  const uintptr_t base = reinterpret_cast<uintptr_t>(pointer);
  // The driver pins pages: all of them must exist.
  SG_REQUIRE(memory::mapped(base, size), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  Block block;
  block.base = base;
  block.size = size;
  block.alias = static_cast<char*>(pointer);
  block.kind = BlockKind::kLocked;
  block.owner = runtime().cpu;
  block.flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  block.readers = block.writers = bits;
  block.locks = 1;
  if (own_address()) return lock_elsewhere(block, out);
  *out = pointer;
  if (memory::insert(block)) return HSA_STATUS_SUCCESS;
  // The same address again: one range, counted.
  memory::change(base, [&](Block& b) {
    b.readers = b.writers = b.readers | bits;
    if (b.kind != BlockKind::kLocked) return;
    b.size = std::max<uint64_t>(b.size, size);
    ++b.locks;
  });
  return HSA_STATUS_SUCCESS;
}

}  // namespace
}  // namespace sg

using namespace sg;

SG_API hsa_status_t hsa_amd_pointer_info(const void* pointer, hsa_amd_pointer_info_t* info,
                                         void* (*alloc)(size_t), uint32_t* count, hsa_agent_t** list) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(pointer && info && info->size, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  abi::PointerInfo found = {};
  found.size = static_cast<uint32_t>(std::min<size_t>(info->size, sizeof found));
  Block block;
  const bool known = memory::find(reinterpret_cast<uintptr_t>(pointer), &block);
  if (known) {
    found.type = type_of(block);
    found.agent_base = reinterpret_cast<void*>(block.base);
    found.host_base = block.host_visible || block.kind == BlockKind::kDevice ? found.agent_base : nullptr;
    if (block.partner && block.partner_is_host) found.host_base = reinterpret_cast<void*>(block.partner);
    if (block.partner && !block.partner_is_host) found.agent_base = reinterpret_cast<void*>(block.partner);
    found.bytes = block.size;
    found.user_data = block.user_data;
    found.owner = block.owner->handle();
    found.global_flags = block.flags;
    found.registered = true;
    found.alloc_flags = abi::kAllocNonPaged | (block.host_visible ? uint32_t{abi::kAllocHostAccess} : 0);
  } else if (runtime().hmm && runtime().xnack) {
    // Without XNACK it is certain that the driver does not know such memory; with it, what it says may vary.
    report::add(report::Kind::kSoft, "pointer info of pageable memory");
  }
  std::memcpy(info, &found, found.size);
  if (known && alloc && count && list) return accessible(block, alloc, count, list);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_pointer_info_set_userdata(const void* pointer, void* data) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(pointer, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  bool found = memory::change(reinterpret_cast<uintptr_t>(pointer), [data](Block& b) { b.user_data = data; });
  return found ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

SG_API hsa_status_t hsa_amd_memory_lock(void* pointer, size_t size, hsa_agent_t* agents, int count,
                                        void** out) {
  SG_REQUIRE_INIT();
  return lock(pointer, size, agents, count, out);
}

SG_API hsa_status_t hsa_amd_memory_lock_to_pool(void* pointer, size_t size, hsa_agent_t* agents, int count,
                                                hsa_amd_memory_pool_t handle, uint32_t, void** out) {
  SG_REQUIRE_INIT();
  Pool* pool = pool_of(handle.handle);
  SG_REQUIRE(pool, static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL));
  SG_REQUIRE(!pool->agent->gpu, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  return lock(pointer, size, agents, count, out);
}

SG_API hsa_status_t hsa_amd_memory_unlock(void* pointer) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(pointer, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const uintptr_t base = reinterpret_cast<uintptr_t>(pointer);
  bool last = false;
  memory::change(base,
                 [&](Block& b) { last = b.kind == BlockKind::kLocked && b.base == base && --b.locks == 0; });
  Block block;
  if (last && memory::remove(base, &block) && block.partner) {
    memory::remove(block.partner, nullptr);
    munmap(reinterpret_cast<void*>(block.partner & ~(kPage - 1)), page_up((base & (kPage - 1)) + block.size));
  }
  return HSA_STATUS_SUCCESS;  // like the real runtime, silent about memory that was not locked
}

SG_API hsa_status_t hsa_amd_coherency_get_type(hsa_agent_t handle, hsa_amd_coherency_type_t* type) {
  SG_REQUIRE_INIT();
  Agent* agent = agent_of(handle);
  SG_REQUIRE(agent && agent->gpu, HSA_STATUS_ERROR_INVALID_AGENT);
  SG_REQUIRE(type, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  *type = HSA_AMD_COHERENCY_TYPE_COHERENT;
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t handle, hsa_amd_coherency_type_t) {
  SG_REQUIRE_INIT();
  Agent* agent = agent_of(handle);
  return agent && agent->gpu ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT;
}

namespace sg::pointers {

hsa_status_t scratch_limit(hsa_agent_t handle, size_t threshold)
    SG_EXPORT(hsa_amd_agent_set_async_scratch_limit);
hsa_status_t scratch_limit(hsa_agent_t handle, size_t threshold) {
  SG_REQUIRE_INIT();
  Agent* agent = agent_of(handle);
  SG_REQUIRE(agent && agent->gpu, HSA_STATUS_ERROR_INVALID_AGENT);
  agent->scratch_limit.store(threshold);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t enable_logging(uint8_t* flags, void* file) SG_EXPORT(hsa_amd_enable_logging);
hsa_status_t enable_logging(uint8_t*, void*) { return HSA_STATUS_SUCCESS; }  // there is nothing to log

}  // namespace sg::pointers
