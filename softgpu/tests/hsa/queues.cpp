#include <atomic>
#include <thread>

#include "check.hpp"

namespace {

constexpr uint16_t header_of(int type) {
  return static_cast<uint16_t>(type << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER);
}

// Writes a packet as HSA asks for: index, body, header, doorbell.
void push(hsa_queue_t* queue, const void* body, int type) {
  uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) usleep(10);
  char* slot = static_cast<char*>(queue->base_address) + (index & (queue->size - 1)) * 64;
  std::memcpy(slot + 2, static_cast<const char*>(body) + 2, 62);
  __atomic_store_n(reinterpret_cast<uint16_t*>(slot), header_of(type), __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

void push_barrier(hsa_queue_t* queue, int type, const std::vector<hsa_signal_t>& on,
                  hsa_signal_t completion) {
  hsa_barrier_and_packet_t packet = {};
  for (size_t i = 0; i < on.size(); ++i) packet.dep_signal[i] = on[i];
  packet.completion_signal = completion;
  push(queue, &packet, type);
}

hsa_queue_t* make_queue(System& system, uint32_t size = 64) {
  hsa_queue_t* queue = nullptr;
  OK(hsa_queue_create(system.gpus[0], size, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue));
  return queue;
}

void barriers(System& system) {
  hsa_queue_t* queue = make_queue(system);
  hsa_signal_t a = make_signal(1), b = make_signal(1), done = make_signal(1);
  push_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, {a, b}, done);
  hsa_signal_store_relaxed(a, 0);
  CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 5000000, HSA_WAIT_STATE_BLOCKED) == 1);
  hsa_signal_store_relaxed(b, 0);
  wait_zero(done);
  hsa_signal_store_relaxed(a, 1);
  hsa_signal_store_relaxed(b, 1);
  hsa_signal_store_relaxed(done, 1);
  push_barrier(queue, HSA_PACKET_TYPE_BARRIER_OR, {a, b}, done);
  CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 5000000, HSA_WAIT_STATE_BLOCKED) == 1);
  hsa_signal_store_relaxed(b, 0);
  wait_zero(done);
  hsa_amd_profiling_dispatch_time_t time = {};
  OK(hsa_amd_profiling_get_dispatch_time(system.gpus[0], done, &time));
  CHECK(time.start && time.end >= time.start);
  OK(hsa_queue_destroy(queue));
  for (hsa_signal_t s : {a, b, done}) OK(hsa_signal_destroy(s));
}

// Several threads fill one small queue: every packet is executed, none twice.
void producers(System& system) {
  hsa_queue_t* queue = make_queue(system);
  constexpr int kThreads = 4, kPackets = 3000;
  hsa_signal_t done = make_signal(kThreads * kPackets);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kPackets; ++i) push_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, {}, done);
    });
  }
  for (auto& thread : threads) thread.join();
  wait_zero(done);
  CHECK(hsa_queue_load_read_index_relaxed(queue) == uint64_t{kThreads} * kPackets);
  OK(hsa_queue_destroy(queue));
  OK(hsa_signal_destroy(done));
}

void destroyed_while_blocked(System& system) {
  hsa_queue_t* queue = make_queue(system);
  hsa_signal_t never = make_signal(1);
  push_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, {never}, {0});
  OK(hsa_queue_destroy(queue));
  OK(hsa_signal_destroy(never));
  hsa_queue_t stale = {};
  GIVES(hsa_queue_destroy(&stale), HSA_STATUS_ERROR_INVALID_QUEUE);
}

void wrong_packets(System& system) {
  static std::atomic<int> status{0};
  for (int kind = 0; kind < 3; ++kind) {
    hsa_queue_t* queue = nullptr;
    OK(hsa_queue_create(
        system.gpus[0], 64, HSA_QUEUE_TYPE_MULTI,
        [](hsa_status_t got, hsa_queue_t*, void*) { status = static_cast<int>(got); }, nullptr, 0, 0,
        &queue));
    hsa_kernel_dispatch_packet_t p = {};
    p.setup = 1;
    p.workgroup_size_x = p.workgroup_size_y = p.workgroup_size_z = 1;
    p.grid_size_x = p.grid_size_y = p.grid_size_z = 1;
    int wanted = HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    if (kind == 1) p.workgroup_size_x = 2000, wanted = HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (kind == 2) p.group_segment_size = 1 << 20, wanted = HSA_STATUS_ERROR_INVALID_ALLOCATION;
    status = 0;
    push(queue, &p, HSA_PACKET_TYPE_KERNEL_DISPATCH);
    for (int i = 0; i < 2000 && !status; ++i) usleep(1000);
    CHECK(status == wanted);
    OK(hsa_queue_destroy(queue));
  }
  hsa_queue_t* queue = nullptr;
  GIVES(hsa_queue_create(system.gpus[0], 100, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue),
        HSA_STATUS_ERROR_INVALID_ARGUMENT);
  GIVES(hsa_queue_create(system.cpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue),
        HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
}

}  // namespace

void test_queues(System& system) {
  barriers(system);
  producers(system);
  destroyed_while_blocked(system);
  wrong_packets(system);
}
