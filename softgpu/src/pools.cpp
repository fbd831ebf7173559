// Memory pools: what agents offer, who may reach it, and allocation.
#include "answers.hpp"
#include "memory.hpp"

namespace sg {
namespace {

hsa_status_t pool_info(const Pool& pool, uint32_t attribute, void* value) {
  const bool group = pool.kind == PoolKind::kGroup, gpu = pool.agent->gpu;
  switch (attribute) {
    case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
      return put<uint32_t>(value, group ? HSA_AMD_SEGMENT_GROUP : HSA_AMD_SEGMENT_GLOBAL);
    case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
      return put<uint32_t>(value, pool.flags);
    case HSA_AMD_MEMORY_POOL_INFO_SIZE:
      return put<size_t>(value, pool.size);
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED:
      return put<bool>(value, !group);
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE:
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT:
      return put<size_t>(value, group ? 0 : kPage);
    case HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL:
      return put<bool>(value, !gpu);
    case HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE:
      return put<size_t>(value, group ? 0 : pool.size);
    case abi::kPoolLocation:
      SG_REQUIRE(!group, HSA_STATUS_ERROR_INVALID_ARGUMENT);
      return put<uint32_t>(value, gpu ? 1 : 0);
    case abi::kPoolRecGranule:
      return put<size_t>(value, group ? 0 : gpu ? 2u << 20 : kPage);
    default:
      return refuse("pool", attribute);
  }
}

// https://github.com/ROCm/ROCR-Runtime/blob/rocm-6.2.4/runtime/hsa-runtime/core/runtime/amd_memory_region.cpp
// (MemoryRegion::GetAccessInfo). Without a large BAR the CPU can never reach GPU memory.
hsa_amd_memory_pool_access_t access(const Agent& agent, const Pool& pool) {
  if (&agent == pool.agent) return HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT;
  if (pool.kind == PoolKind::kGroup) return HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
  if (!pool.agent->gpu) return HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT;
  if (!agent.gpu && !runtime().large_bar) return HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
  if (pool.kind == PoolKind::kFine && !runtime().chip->xgmi) return HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
  return HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT;
}

hsa_status_t link_info(const Agent& agent, const Pool& pool, void* value) {
  hsa_amd_memory_pool_link_info_t link = {};
  if (&agent != pool.agent && access(agent, pool) != HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED) {
    const bool fabric = agent.gpu && pool.agent->gpu && runtime().chip->xgmi;
    link.min_latency = 0;
    link.atomic_support_32bit = true;
    link.atomic_support_64bit = true;
    link.coherent_support = true;
    link.link_type = fabric ? HSA_AMD_LINK_INFO_TYPE_XGMI : HSA_AMD_LINK_INFO_TYPE_PCIE;
    link.numa_distance = fabric ? 15 : 20;
  }
  return put(value, link);
}

// Calls back for each pool of the agent; Handle is hsa_amd_memory_pool_t, or hsa_region_t for the older view.
template <typename Handle>
hsa_status_t each_pool(hsa_agent_t handle, hsa_status_t (*callback)(Handle, void*), void* data) {
  SG_REQUIRE_INIT();
  Agent* agent = agent_of(handle);
  SG_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
  SG_REQUIRE(callback, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  for (const auto& pool : agent->pools) {
    hsa_status_t status = callback({reinterpret_cast<uint64_t>(pool.get())}, data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace
}  // namespace sg

using namespace sg;

SG_API hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t agent,
                                                       hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*),
                                                       void* data) {
  return each_pool(agent, callback, data);
}

SG_API hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t handle,
                                                 hsa_amd_memory_pool_info_t attribute, void* value) {
  SG_REQUIRE_INIT();
  Pool* pool = pool_of(handle.handle);
  SG_REQUIRE(pool, static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL));
  SG_REQUIRE(value, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  return pool_info(*pool, static_cast<uint32_t>(attribute), value);
}

SG_API hsa_status_t hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent_handle, hsa_amd_memory_pool_t handle,
                                                       hsa_amd_agent_memory_pool_info_t attribute,
                                                       void* value) {
  SG_REQUIRE_INIT();
  Agent* agent = agent_of(agent_handle);
  Pool* pool = pool_of(handle.handle);
  SG_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
  SG_REQUIRE(pool, static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL));
  SG_REQUIRE(value, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const bool reachable = access(*agent, *pool) != HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
  switch (attribute) {
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS:
      return put(value, access(*agent, *pool));
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS:
      return put<uint32_t>(value, agent != pool->agent && reachable ? 1 : 0);
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO:
      return link_info(*agent, *pool, value);
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

SG_API hsa_status_t hsa_amd_memory_pool_can_migrate(hsa_amd_memory_pool_t from, hsa_amd_memory_pool_t to,
                                                    bool* result) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(result, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(pool_of(from.handle) && pool_of(to.handle),
             static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL));
  *result = false;
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

SG_API hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t handle, size_t size, uint32_t flags,
                                                 void** out) {
  (void)flags;  // contiguous, executable, uncached: no difference here
  SG_REQUIRE_INIT();
  Pool* pool = pool_of(handle.handle);
  SG_REQUIRE(pool, static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL));
  return memory::allocate(*pool, size, out);
}

SG_API hsa_status_t hsa_amd_memory_pool_free(void* pointer) {
  SG_REQUIRE_INIT();
  return memory::release(pointer);
}

// The agents named, and only they, may access the allocation; its owner always may.
SG_API hsa_status_t hsa_amd_agents_allow_access(uint32_t count, const hsa_agent_t* agents,
                                                const uint32_t* flags, const void* pointer) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(count && agents && pointer && !flags, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  uint32_t bits = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Agent* agent = agent_of(agents[i]);
    SG_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
    bits |= agent->bit();
  }
  bool found = memory::change(reinterpret_cast<uintptr_t>(pointer),
                              [bits](Block& b) { b.readers = b.writers = bits | b.owner->bit(); });
  return found ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

// Regions are the older view of the same pools; the attributes that both have share their numbers.
SG_API hsa_status_t hsa_agent_iterate_regions(hsa_agent_t agent,
                                              hsa_status_t (*callback)(hsa_region_t, void*), void* data) {
  return each_pool(agent, callback, data);
}

SG_API hsa_status_t hsa_region_get_info(hsa_region_t region, hsa_region_info_t attribute, void* value) {
  SG_REQUIRE_INIT();
  Pool* pool = pool_of(region.handle);
  SG_REQUIRE(pool, HSA_STATUS_ERROR_INVALID_REGION);
  SG_REQUIRE(value, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  if (attribute == HSA_REGION_INFO_ALLOC_MAX_SIZE) {
    return put<size_t>(value, pool->kind == PoolKind::kGroup ? 0 : pool->size);
  }
  return pool_info(*pool, static_cast<uint32_t>(attribute), value);
}

SG_API hsa_status_t hsa_memory_allocate(hsa_region_t region, size_t size, void** out) {
  SG_REQUIRE_INIT();
  Pool* pool = pool_of(region.handle);
  SG_REQUIRE(pool, HSA_STATUS_ERROR_INVALID_REGION);
  hsa_status_t status = memory::allocate(*pool, size, out);
  // Unlike pools, regions of system memory are open to every agent from the start.
  if (status == HSA_STATUS_SUCCESS && !pool->agent->gpu) {
    memory::change(reinterpret_cast<uintptr_t>(*out), [](Block& b) { b.readers = b.writers = ~0u; });
  }
  return status;
}

SG_API hsa_status_t hsa_memory_free(void* pointer) {
  SG_REQUIRE_INIT();
  return memory::release(pointer);
}

SG_API hsa_status_t hsa_memory_register(void* pointer, size_t size) {
  SG_REQUIRE_INIT();
  return pointer || !size ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

SG_API hsa_status_t hsa_memory_deregister(void*, size_t) {
  SG_REQUIRE_INIT();
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_memory_assign_agent(void* pointer, hsa_agent_t agent, hsa_access_permission_t) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(pointer, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  return agent_of(agent) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT;
}
