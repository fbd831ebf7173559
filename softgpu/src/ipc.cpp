// Sharing device memory with other processes: IPC handles, and exports as file descriptors.
//
// A handle names the process, its VRAM file and a place in it. The other process opens that file through
// /proc, which needs the same user and the same PID namespace, as two ranks in one container have.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "memory.hpp"
#include "report.hpp"

namespace sg {
namespace {

constexpr uint32_t kMagic = 0x50f79c;

struct Handle {
  uint32_t magic;
  uint32_t pid;
  uint32_t file;
  uint32_t node;
  uint64_t offset;
  uint64_t size;
};
static_assert(sizeof(Handle) == sizeof(hsa_amd_ipc_memory_t), "an IPC handle is 32 bytes");

void* map_file(int file, const Handle& handle, int protection) {
  void* at = mmap(nullptr, page_up(handle.size), protection, MAP_SHARED | MAP_NORESERVE, file,
                  static_cast<off_t>(handle.offset));
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace
}  // namespace sg

using namespace sg;

SG_API hsa_status_t hsa_amd_ipc_memory_create(void* pointer, size_t size, hsa_amd_ipc_memory_t* out) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(pointer && size && out, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Block block;
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  SG_REQUIRE(memory::find(address, &block) && block.base == address, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(block.kind == BlockKind::kDevice && size <= page_up(block.size),
             HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const Heap& heap = block.owner->heap;
  Handle handle = {kMagic,
                   static_cast<uint32_t>(getpid()),
                   static_cast<uint32_t>(heap.file()),
                   block.owner->node,
                   heap.offset(address),
                   block.size};
  std::memcpy(out, &handle, sizeof handle);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_ipc_memory_attach(const hsa_amd_ipc_memory_t* in, size_t size, uint32_t count,
                                              const hsa_agent_t* agents, void** out) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(in && out && (count == 0) == (agents == nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Handle handle;
  std::memcpy(&handle, in, sizeof handle);
  SG_REQUIRE(handle.magic == kMagic && size <= page_up(handle.size), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  uint32_t bits = count ? 0 : ~0u;
  for (uint32_t i = 0; i < count; ++i) {
    Agent* agent = agent_of(agents[i]);
    SG_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
    bits |= agent->bit();
  }
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%u/fd/%u", handle.pid, handle.file);
  int file = open(path, O_RDWR | O_CLOEXEC);
  SG_REQUIRE(file >= 0, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const bool visible = runtime().large_bar;
  void* alias = map_file(file, handle, PROT_READ | PROT_WRITE);
  void* device = map_file(file, handle, visible ? PROT_READ | PROT_WRITE : PROT_NONE);
  close(file);
  SG_REQUIRE(alias && device, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  Block block;
  block.base = reinterpret_cast<uintptr_t>(device);
  block.size = handle.size;
  block.alias = static_cast<char*>(alias);
  block.kind = BlockKind::kIpc;
  block.owner = runtime().gpus[0];
  for (Agent* gpu : runtime().gpus) {
    if (gpu->node == handle.node) block.owner = gpu;
  }
  block.flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
  block.readers = block.writers = bits | block.owner->bit();
  block.host_visible = visible;
  memory::insert(block);
  *out = device;
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_ipc_memory_detach(void* pointer) {
  SG_REQUIRE_INIT();
  Block block;
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  SG_REQUIRE(memory::find(address, &block) && block.base == address && block.kind == BlockKind::kIpc,
             HSA_STATUS_ERROR_INVALID_ARGUMENT);
  memory::remove(address, nullptr);
  munmap(pointer, page_up(block.size));
  munmap(block.alias, page_up(block.size));
  return HSA_STATUS_SUCCESS;
}

namespace sg::ipc {

hsa_status_t export_dmabuf(const void* pointer, size_t size, int* file, uint64_t* offset)
    SG_EXPORT(hsa_amd_portable_export_dmabuf);
hsa_status_t export_dmabuf(const void* pointer, size_t size, int* file, uint64_t* offset) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(pointer && size && file && offset, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Block block;
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  SG_REQUIRE(memory::find(address, &block), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  SG_REQUIRE(block.kind == BlockKind::kDevice, HSA_STATUS_ERROR_INVALID_AGENT);
  SG_REQUIRE(address + size <= block.base + page_up(block.size), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  *file = fcntl(block.owner->heap.file(), F_DUPFD_CLOEXEC, 0);
  *offset = block.owner->heap.offset(address);
  return *file < 0 ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

hsa_status_t export_dmabuf_v2(const void* pointer, size_t size, int* file, uint64_t* offset, uint64_t flags)
    SG_EXPORT(hsa_amd_portable_export_dmabuf_v2);
hsa_status_t export_dmabuf_v2(const void* pointer, size_t size, int* file, uint64_t* offset, uint64_t) {
  return export_dmabuf(pointer, size, file, offset);
}

hsa_status_t close_dmabuf(int file) SG_EXPORT(hsa_amd_portable_close_dmabuf);
hsa_status_t close_dmabuf(int file) {
  return close(file) ? HSA_STATUS_ERROR_RESOURCE_FREE : HSA_STATUS_SUCCESS;
}

}  // namespace sg::ipc
