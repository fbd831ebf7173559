// Virtual memory: address ranges, memory without an address, and mappings of one into the other.
//
// Memory handles are memfds, so that exporting one is handing over a file descriptor. The host's view of a
// mapping and the GPUs' rights to it are separate, as on hardware: the runtime reads through a mapping of its
// own.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "faults.hpp"
#include "memfd.hpp"
#include "memory.hpp"
#include "report.hpp"

namespace sg {
namespace {

struct Physical {
  int file = -1;
  uint64_t size = 0;
  char* alias = nullptr;
  Pool* pool = nullptr;
  uint32_t type = 0;
  uint32_t references = 1;  // the handle, and one a mapping
  bool charged = false;     // counts as used memory of the pool's GPU
};

struct Mapping {
  Physical* physical = nullptr;
  uint64_t size = 0;
  uint64_t offset = 0;
};

struct Table {
  std::mutex mutex;
  std::map<uintptr_t, uint64_t> reserved;
  std::map<uintptr_t, Mapping> mappings;
  std::map<uint64_t, Physical*> handles;
};

Table& table() {
  static Table* instance = new Table;
  return *instance;
}

Physical* physical_of(Table& t, uint64_t handle) {
  auto it = t.handles.find(handle);
  return it == t.handles.end() ? nullptr : it->second;
}

void drop(Table& t, Physical* physical) {
  if (--physical->references) return;
  t.handles.erase(reinterpret_cast<uint64_t>(physical));
  if (physical->charged) physical->pool->agent->heap.discharge(physical->size);
  munmap(physical->alias, physical->size);
  close(physical->file);
  delete physical;
}

hsa_status_t adopt(int file, uint64_t size, Pool* pool, uint32_t type, bool charged, abi::VmemHandle* out) {
  void* alias = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (alias == MAP_FAILED) {
    close(file);
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  auto* physical = new Physical{file, size, static_cast<char*>(alias), pool, type, 1, charged};
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  out->handle = reinterpret_cast<uint64_t>(physical);
  t.handles[out->handle] = physical;
  return HSA_STATUS_SUCCESS;
}

bool blank(uintptr_t address, uint64_t size) {
  return mmap(reinterpret_cast<void*>(address), size, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

bool inside(const Table& t, uintptr_t address, uint64_t size) {
  auto it = t.reserved.upper_bound(address);
  if (it == t.reserved.begin()) return false;
  --it;
  return address + size <= it->first + it->second;
}

hsa_status_t reserve(void** out, size_t size, uint64_t wish, uint64_t alignment, uint64_t flags) {
  SG_REQUIRE_INIT();
  // HIP 7 makes managed memory from ranges that it does not register: plain memory of any size, which the host
  // uses at once.
  const bool plain = flags & abi::kReserveNoRegister;
  SG_REQUIRE(out && size && (plain || size % kPage == 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  if (alignment < kPage) alignment = kPage;
  SG_REQUIRE((alignment & (alignment - 1)) == 0, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const int protection = plain ? PROT_READ | PROT_WRITE : PROT_NONE;
  const uint64_t pages = page_up(size);
  uint64_t room = pages + (alignment > kPage ? alignment : 0);
  void* at = mmap(reinterpret_cast<void*>(wish), room, protection,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  SG_REQUIRE(at != MAP_FAILED, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  uintptr_t begin = reinterpret_cast<uintptr_t>(at), aligned = (begin + alignment - 1) & ~(alignment - 1);
  if (aligned > begin) munmap(at, aligned - begin);
  if (aligned + pages < begin + room) {
    munmap(reinterpret_cast<void*>(aligned + pages), begin + room - aligned - pages);
  }
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  t.reserved[aligned] = size;
  *out = reinterpret_cast<void*>(aligned);
  return HSA_STATUS_SUCCESS;
}

}  // namespace

namespace vmem {

// Declared under the C names whatever the headers of the build image know of them.
hsa_status_t address_reserve(void** out, size_t size, uint64_t wish, uint64_t flags)
    SG_EXPORT(hsa_amd_vmem_address_reserve);
hsa_status_t address_reserve(void** out, size_t size, uint64_t wish, uint64_t flags) {
  return reserve(out, size, wish, 0, flags);
}

hsa_status_t address_reserve_align(void** out, size_t size, uint64_t wish, uint64_t alignment, uint64_t flags)
    SG_EXPORT(hsa_amd_vmem_address_reserve_align);
hsa_status_t address_reserve_align(void** out, size_t size, uint64_t wish, uint64_t alignment,
                                   uint64_t flags) {
  return reserve(out, size, wish, alignment, flags);
}

hsa_status_t address_free(void* pointer, size_t size) SG_EXPORT(hsa_amd_vmem_address_free);
hsa_status_t address_free(void* pointer, size_t size) {
  SG_REQUIRE_INIT();
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  auto it = t.reserved.find(address);
  SG_REQUIRE(it != t.reserved.end(), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  SG_REQUIRE(it->second == size, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  auto mapping = t.mappings.lower_bound(address);
  SG_REQUIRE(mapping == t.mappings.end() || mapping->first >= address + size, abi::kStatusResourceBusy);
  munmap(pointer, size);
  t.reserved.erase(it);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t handle_create(hsa_amd_memory_pool_t pool_handle, size_t size, int type, uint64_t flags,
                           abi::VmemHandle* out) SG_EXPORT(hsa_amd_vmem_handle_create);
hsa_status_t handle_create(hsa_amd_memory_pool_t pool_handle, size_t size, int type, uint64_t,
                           abi::VmemHandle* out) {
  SG_REQUIRE_INIT();
  Pool* pool = pool_of(pool_handle.handle);
  SG_REQUIRE(pool, static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL));
  SG_REQUIRE(size && size % kPage == 0 && out && type >= 0 && type <= 1, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(pool->kind != PoolKind::kGroup, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  if (pool->agent->gpu && !faults::may_allocate(size)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  if (pool->agent->gpu && !pool->agent->heap.charge(size)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  int file = make_memfd("softgpu-vmem", size);
  if (file < 0) {
    if (pool->agent->gpu) pool->agent->heap.discharge(size);
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  return adopt(file, size, pool, static_cast<uint32_t>(type), pool->agent->gpu, out);
}

hsa_status_t handle_release(abi::VmemHandle handle) SG_EXPORT(hsa_amd_vmem_handle_release);
hsa_status_t handle_release(abi::VmemHandle handle) {
  SG_REQUIRE_INIT();
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  Physical* physical = physical_of(t, handle.handle);
  SG_REQUIRE(physical, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  drop(t, physical);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t map(void* pointer, size_t size, size_t offset, abi::VmemHandle handle, uint64_t flags)
    SG_EXPORT(hsa_amd_vmem_map);
hsa_status_t map(void* pointer, size_t size, size_t offset, abi::VmemHandle handle, uint64_t) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(pointer && size && size % kPage == 0, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  Physical* physical = physical_of(t, handle.handle);
  SG_REQUIRE(physical, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  SG_REQUIRE(inside(t, address, size), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(offset <= physical->size && size <= physical->size - offset, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(!t.mappings.count(address), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  void* at = mmap(pointer, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, physical->file,
                  static_cast<off_t>(offset));
  SG_REQUIRE(at != MAP_FAILED, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  Block block;
  block.base = address;
  block.size = size;
  block.alias = physical->alias + offset;
  block.kind = BlockKind::kVmem;
  block.owner = physical->pool->agent;
  block.flags = physical->pool->flags;
  block.host_visible = false;
  memory::insert(block);
  ++physical->references;
  t.mappings[address] = {physical, size, offset};
  return HSA_STATUS_SUCCESS;
}

hsa_status_t unmap(void* pointer, size_t size) SG_EXPORT(hsa_amd_vmem_unmap);
hsa_status_t unmap(void* pointer, size_t size) {
  SG_REQUIRE_INIT();
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  auto it = t.mappings.find(address);
  SG_REQUIRE(it != t.mappings.end() && it->second.size == size, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  memory::remove(address, nullptr);
  blank(address, size);
  drop(t, it->second.physical);
  t.mappings.erase(it);
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t grant(uintptr_t address, uint64_t size, const Agent& agent,
                          hsa_access_permission_t permission) {
  const bool read = permission == HSA_ACCESS_PERMISSION_RO || permission == HSA_ACCESS_PERMISSION_RW;
  const bool write = permission == HSA_ACCESS_PERMISSION_WO || permission == HSA_ACCESS_PERMISSION_RW;
  if (!agent.gpu) {
    int protection = (read ? PROT_READ : 0) | (write ? PROT_WRITE : 0);
    if (mprotect(reinterpret_cast<void*>(address), size, protection)) return HSA_STATUS_ERROR;
  }
  memory::change(address, [&](Block& b) {
    b.readers = read ? b.readers | agent.bit() : b.readers & ~agent.bit();
    b.writers = write ? b.writers | agent.bit() : b.writers & ~agent.bit();
    if (!agent.gpu) b.host_visible = read || write;
  });
  return HSA_STATUS_SUCCESS;
}

hsa_status_t set_access(void* pointer, size_t size, const abi::MemoryAccess* list, size_t count)
    SG_EXPORT(hsa_amd_vmem_set_access);
hsa_status_t set_access(void* pointer, size_t size, const abi::MemoryAccess* list, size_t count) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(pointer && size && list && count, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(pointer);
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  for (uintptr_t address = begin;
       address < begin + size;) {  // the range may span several mappings, without gaps
    auto it = t.mappings.find(address);
    SG_REQUIRE(it != t.mappings.end(), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    for (size_t i = 0; i < count; ++i) {
      Agent* agent = agent_of(list[i].agent);
      SG_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
      hsa_status_t status = grant(address, it->second.size, *agent, list[i].permissions);
      if (status != HSA_STATUS_SUCCESS) return status;
    }
    address += it->second.size;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t get_access(void* pointer, hsa_access_permission_t* out, hsa_agent_t handle)
    SG_EXPORT(hsa_amd_vmem_get_access);
hsa_status_t get_access(void* pointer, hsa_access_permission_t* out, hsa_agent_t handle) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(out, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Agent* agent = agent_of(handle);
  SG_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
  Block block;
  bool known = memory::find(reinterpret_cast<uintptr_t>(pointer), &block) && block.kind == BlockKind::kVmem;
  SG_REQUIRE(known, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  const bool read = block.readers & agent->bit(), write = block.writers & agent->bit();
  *out = static_cast<hsa_access_permission_t>((read ? HSA_ACCESS_PERMISSION_RO : 0) |
                                              (write ? HSA_ACCESS_PERMISSION_WO : 0));
  return HSA_STATUS_SUCCESS;
}

hsa_status_t export_handle(int* file, abi::VmemHandle handle, uint64_t flags)
    SG_EXPORT(hsa_amd_vmem_export_shareable_handle);
hsa_status_t export_handle(int* file, abi::VmemHandle handle, uint64_t) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(file, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  Physical* physical = physical_of(t, handle.handle);
  SG_REQUIRE(physical, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  *file = fcntl(physical->file, F_DUPFD_CLOEXEC, 0);
  return *file < 0 ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

// The importer cannot know whose memory it was: it takes the first GPU, and charges nobody twice.
hsa_status_t import_handle(int file, abi::VmemHandle* out) SG_EXPORT(hsa_amd_vmem_import_shareable_handle);
hsa_status_t import_handle(int file, abi::VmemHandle* out) {
  SG_REQUIRE_INIT();
  struct stat info = {};
  SG_REQUIRE(out && file >= 0 && fstat(file, &info) == 0 && info.st_size > 0,
             HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(!runtime().gpus.empty(), HSA_STATUS_ERROR);
  int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
  SG_REQUIRE(own >= 0, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  Pool* pool = runtime().gpus[0]->pools[0].get();
  return adopt(own, static_cast<uint64_t>(info.st_size), pool, 0, false, out);
}

hsa_status_t retain(abi::VmemHandle* out, void* pointer) SG_EXPORT(hsa_amd_vmem_retain_alloc_handle);
hsa_status_t retain(abi::VmemHandle* out, void* pointer) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(out, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  auto it = t.mappings.upper_bound(address);
  SG_REQUIRE(it != t.mappings.begin(), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  --it;
  SG_REQUIRE(address - it->first < it->second.size, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  ++it->second.physical->references;
  out->handle = reinterpret_cast<uint64_t>(it->second.physical);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t properties(abi::VmemHandle handle, hsa_amd_memory_pool_t* pool, int* type)
    SG_EXPORT(hsa_amd_vmem_get_alloc_properties_from_handle);
hsa_status_t properties(abi::VmemHandle handle, hsa_amd_memory_pool_t* pool, int* type) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(pool && type, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  Physical* physical = physical_of(t, handle.handle);
  SG_REQUIRE(physical, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  pool->handle = reinterpret_cast<uint64_t>(physical->pool);
  *type = static_cast<int>(physical->type);
  return HSA_STATUS_SUCCESS;
}

}  // namespace vmem
}  // namespace sg
