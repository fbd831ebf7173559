#include "queues.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <set>

#include "memory.hpp"
#include "report.hpp"

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

void* pages(uint64_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

// The ring and the indices are ordinary memory to the GPU, too.
void publish(Agent& agent, void* at, uint64_t bytes) {
  Block block;
  block.base = reinterpret_cast<uintptr_t>(at);
  block.size = bytes;
  block.alias = static_cast<char*>(at);
  block.owner = runtime().cpu;
  block.flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  block.readers = block.writers = agent.bit() | runtime().cpu->bit();
  memory::insert(block);
}

void unpublish(void* at, uint64_t bytes) {
  memory::remove(reinterpret_cast<uintptr_t>(at), nullptr);
  munmap(at, bytes);
}

Queue* create(Agent& agent, uint32_t size, hsa_queue_type32_t type) {
  static std::atomic<uint64_t> ids{0};
  uint64_t ring_bytes = std::max<uint64_t>(size * 64ull, kPage);
  void* ring = pages(ring_bytes);
  void* space = pages(page_up(sizeof(Queue)));
  Signal* doorbell = signals::create(0);
  if (!ring || !space || !doorbell) return nullptr;
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
  publish(agent, ring, ring_bytes);
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
  queues::unpublish(handle->base_address, queue->ring_bytes);
  munmap(queue, page_up(sizeof(Queue)));
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
  if (attribute == 0) {  // HSA_AMD_QUEUE_INFO_AGENT
    hsa_agent_t agent = queue->agent->handle();
    std::memcpy(value, &agent, sizeof agent);
  } else if (attribute == 1) {  // HSA_AMD_QUEUE_INFO_DOORBELL_ID
    uint64_t id = queue->shared.hsa_queue.id;
    std::memcpy(value, &id, sizeof id);
  } else {
    report::add(report::Kind::kUnknownAttribute, ("queue:" + std::to_string(attribute)).c_str());
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
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
