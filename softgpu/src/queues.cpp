#include "queues.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <set>

#include "answers.hpp"
#include "memory.hpp"

namespace sg::queues {
namespace {

struct Live {
  std::mutex mutex;
  std::set<Queue*> queues;
};

Live& live() {
  static Live* instance = new Live;
  return *instance;
}

Queue* create(Agent& agent, uint32_t size, hsa_queue_type32_t type) {
  static std::atomic<uint64_t> ids{0};
  uint64_t ring_bytes = std::max<uint64_t>(size * 64ull, kPage);
  const uint32_t access = agent.bit() | runtime().cpu->bit();
  void* ring = memory::map_shared(ring_bytes, access);
  void* space = memory::map_shared(page_up(sizeof(Queue)), access);
  Signal* doorbell = signals::create(0);
  if (!ring || !space || !doorbell) {
    memory::unmap_shared(ring, ring_bytes);
    memory::unmap_shared(space, page_up(sizeof(Queue)));
    if (doorbell) signals::destroy(doorbell);
    return nullptr;
  }
  auto* queue = new (space) Queue{};
  for (uint32_t i = 0; i < size; ++i) {
    // Not zero: a packet whose header is 0 would be a vendor packet.
    reinterpret_cast<hsa_barrier_and_packet_t*>(ring)[i].header = HSA_PACKET_TYPE_INVALID;
  }
  hsa_queue_t& q = queue->shared.hsa_queue;
  q.type = type;
  q.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
  q.base_address = ring;
  q.doorbell_signal = signals::handle(doorbell);
  q.size = size;
  q.id = ids.fetch_add(1);
  queue->shared.read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_t, read_dispatch_id);
  queue->shared.max_cu_id = agent.chip->compute_units - 1;
  queue->shared.max_wave_id = agent.chip->max_waves_per_cu - 1;
  queue->agent = &agent;
  queue->doorbell = doorbell;
  queue->ring_bytes = ring_bytes;
  std::fill(std::begin(queue->cu_mask), std::end(queue->cu_mask), 0xffffffffu);
  return queue;
}

}  // namespace

Queue* of(const hsa_queue_t* handle) {
  auto* queue = reinterpret_cast<Queue*>(const_cast<hsa_queue_t*>(handle));
  Live& l = live();
  std::lock_guard<std::mutex> lock(l.mutex);
  return l.queues.count(queue) ? queue : nullptr;
}

}  // namespace sg::queues

using namespace sg;

SG_API hsa_status_t hsa_queue_create(hsa_agent_t handle, uint32_t size, hsa_queue_type32_t type,
                                     void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                                     uint32_t, uint32_t, hsa_queue_t** out) {
  SG_REQUIRE_INIT();
  Agent* agent = agent_of(handle);
  SG_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
  SG_REQUIRE(out && size && (size & (size - 1)) == 0, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(agent->gpu && size <= 131072, HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
  Queue* queue = queues::create(*agent, std::max(size, 64u), type);
  SG_REQUIRE(queue, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  queue->callback = callback;
  queue->callback_data = data;
  {
    queues::Live& l = queues::live();
    std::lock_guard<std::mutex> lock(l.mutex);
    l.queues.insert(queue);
  }
  spawn("softgpu-queue", queues::work, queue);
  *out = queue->handle();
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_queue_destroy(hsa_queue_t* handle) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(handle, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Queue* queue = queues::of(handle);
  SG_REQUIRE(queue, HSA_STATUS_ERROR_INVALID_QUEUE);
  {
    queues::Live& l = queues::live();
    std::lock_guard<std::mutex> lock(l.mutex);
    l.queues.erase(queue);
  }
  queue->stop.store(true);
  signals::notify(queue->doorbell);
  // The worker looks at `stop` at least every millisecond, even in a kernel that hangs.
  while (!queue->finished.load()) {
    timespec timeout = {0, 1000000};
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&queue->finished), FUTEX_WAIT_PRIVATE, 0, &timeout,
            nullptr, 0);
  }
  signals::destroy(queue->doorbell);
  memory::unmap_shared(handle->base_address, queue->ring_bytes);
  memory::unmap_shared(queue, page_up(sizeof(Queue)));
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_queue_inactivate(hsa_queue_t* handle) {
  SG_REQUIRE_INIT();
  Queue* queue = queues::of(handle);
  SG_REQUIRE(queue, HSA_STATUS_ERROR_INVALID_QUEUE);
  queue->inactive.store(true);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_queue_set_priority(hsa_queue_t* handle, hsa_amd_queue_priority_t) {
  SG_REQUIRE_INIT();
  return queues::of(handle) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_QUEUE;
}

SG_API hsa_status_t hsa_amd_queue_cu_set_mask(const hsa_queue_t* handle, uint32_t bits,
                                              const uint32_t* mask) {
  SG_REQUIRE_INIT();
  Queue* queue = queues::of(handle);
  SG_REQUIRE(queue, HSA_STATUS_ERROR_INVALID_QUEUE);
  SG_REQUIRE(bits % 32 == 0 && (mask || !bits), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  std::fill(std::begin(queue->cu_mask), std::end(queue->cu_mask), bits ? 0 : 0xffffffffu);
  std::copy(mask, mask + std::min(bits / 32, 32u), queue->cu_mask);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_queue_cu_get_mask(const hsa_queue_t* handle, uint32_t bits, uint32_t* mask) {
  SG_REQUIRE_INIT();
  Queue* queue = queues::of(handle);
  SG_REQUIRE(queue, HSA_STATUS_ERROR_INVALID_QUEUE);
  SG_REQUIRE(bits && bits % 32 == 0 && mask, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  std::copy(queue->cu_mask, queue->cu_mask + std::min(bits / 32, 32u), mask);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t* handle, int) {
  SG_REQUIRE_INIT();
  return queues::of(handle) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_QUEUE;
}

namespace sg::queues {

hsa_status_t queue_info(hsa_queue_t* handle, int attribute, void* value) SG_EXPORT(hsa_amd_queue_get_info);
hsa_status_t queue_info(hsa_queue_t* handle, int attribute, void* value) {
  SG_REQUIRE_INIT();
  Queue* queue = queues::of(handle);
  SG_REQUIRE(queue, HSA_STATUS_ERROR_INVALID_QUEUE);
  SG_REQUIRE(value, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const uintptr_t fault = queue->fault_address.load();
  switch (attribute) {
    case abi::kQueueAgent:
      return put(value, queue->agent->handle());
    case abi::kQueueDoorbell:
      return put<uint64_t>(value, queue->shared.hsa_queue.id);
    case abi::kQueueUseCount:  // -1: not a counted queue
      return put<uint32_t>(value, UINT32_MAX);
    case abi::kQueueHardwareId:
      return put<uint32_t>(value, static_cast<uint32_t>(queue->shared.hsa_queue.id));
    case abi::kQueuePrefetchDispatchMajor:
    case abi::kQueuePrefetchDispatchMinor:
    case abi::kQueuePrefetchBarrierMajor:
    case abi::kQueuePrefetchBarrierMinor:
      return put<uint8_t>(value, 0xff);  // there is no prefetch of metadata
    case abi::kQueuePrefetchRing:
    case abi::kQueueProperties:
      return put<uint64_t>(value, 0);
    case abi::kQueueFaulted:
      return put<bool>(value, fault != 0);
    case abi::kQueueFaultAddress:
      return put<uint64_t>(value, fault);
    case abi::kQueueFaultReason:
      return put<uint32_t>(value, fault ? HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT : 0);
    case abi::kQueueEngine:
      return put<uint32_t>(value, abi::kEngineCompute);
    default:
      return refuse("queue", static_cast<uint32_t>(attribute));
  }
}

bool all_zero(const uint8_t* bytes, size_t count) {
  return std::all_of(bytes, bytes + count, [](uint8_t byte) { return byte == 0; });
}

hsa_status_t create_one(hsa_agent_t agent, abi::QueueDescriptor& d) {
  d.queue = nullptr;
  const auto& compute = d.parameters.compute;
  SG_REQUIRE(d.version == 1 && d.engine <= abi::kEngineAie && !d.traffic_class, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(all_zero(d.reserved_header, sizeof d.reserved_header) && all_zero(d.reserved, sizeof d.reserved),
             HSA_STATUS_ERROR_INVALID_ARGUMENT);
  // The ring of a DMA queue holds the engine's own packets, which nobody here reads.
  SG_REQUIRE(d.engine == abi::kEngineCompute, HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
  SG_REQUIRE(d.bytes % 64 == 0 && compute.cu_mask_count % 32 == 0, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_status_t status = hsa_queue_create(agent, d.bytes / 64, compute.type, d.callback, d.callback_data,
                                         compute.private_segment_size, UINT32_MAX, &d.queue);
  if (status == HSA_STATUS_SUCCESS && compute.cu_mask_count) {
    status = hsa_amd_queue_cu_set_mask(d.queue, compute.cu_mask_count, compute.cu_mask);
  }
  return status;
}

// Each descriptor is tried; the first error is the result.
hsa_status_t create_many(hsa_agent_t agent, abi::QueueDescriptor* list, uint32_t count)
    SG_EXPORT(hsa_amd_queue_create);
hsa_status_t create_many(hsa_agent_t agent, abi::QueueDescriptor* list, uint32_t count) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(list && count, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(agent_of(agent), HSA_STATUS_ERROR_INVALID_AGENT);
  hsa_status_t result = HSA_STATUS_SUCCESS;
  for (uint32_t i = 0; i < count; ++i) {
    hsa_status_t status = create_one(agent, list[i]);
    if (result == HSA_STATUS_SUCCESS) result = status;
  }
  return result;
}

}  // namespace sg::queues

namespace {

// The index functions are on HIP's hot path and take no lock: a queue that does not exist is undefined
// behaviour.
volatile uint64_t* write_index(const hsa_queue_t* handle) {
  return &reinterpret_cast<Queue*>(const_cast<hsa_queue_t*>(handle))->shared.write_dispatch_id;
}
volatile uint64_t* read_index(const hsa_queue_t* handle) {
  return &reinterpret_cast<Queue*>(const_cast<hsa_queue_t*>(handle))->shared.read_dispatch_id;
}

}  // namespace

#define LOAD_INDEX(which, order)                                                      \
  SG_API uint64_t hsa_queue_load_##which##_index_##order(const hsa_queue_t* handle) { \
    return __atomic_load_n(which##_index(handle), __ATOMIC_ACQUIRE);                  \
  }
#define STORE_INDEX(which, order)                                                                  \
  SG_API void hsa_queue_store_##which##_index_##order(const hsa_queue_t* handle, uint64_t value) { \
    __atomic_store_n(which##_index(handle), value, __ATOMIC_RELEASE);                              \
  }
#define CHANGE_INDEX(order)                                                                       \
  SG_API uint64_t hsa_queue_add_write_index_##order(const hsa_queue_t* handle, uint64_t value) {  \
    return __atomic_fetch_add(write_index(handle), value, __ATOMIC_ACQ_REL);                      \
  }                                                                                               \
  SG_API uint64_t hsa_queue_cas_write_index_##order(const hsa_queue_t* handle, uint64_t expected, \
                                                    uint64_t value) {                             \
    __atomic_compare_exchange_n(write_index(handle), &expected, value, false, __ATOMIC_ACQ_REL,   \
                                __ATOMIC_ACQUIRE);                                                \
    return expected;                                                                              \
  }

LOAD_INDEX(read, relaxed)
LOAD_INDEX(read, acquire)
LOAD_INDEX(read, scacquire)
LOAD_INDEX(write, relaxed)
LOAD_INDEX(write, acquire)
LOAD_INDEX(write, scacquire)
STORE_INDEX(read, relaxed)
STORE_INDEX(read, release)
STORE_INDEX(read, screlease)
STORE_INDEX(write, relaxed)
STORE_INDEX(write, release)
STORE_INDEX(write, screlease)
CHANGE_INDEX(relaxed)
CHANGE_INDEX(acq_rel)
CHANGE_INDEX(scacq_screl)
CHANGE_INDEX(acquire)
CHANGE_INDEX(scacquire)
CHANGE_INDEX(release)
CHANGE_INDEX(screlease)
