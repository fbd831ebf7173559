// The packet processor: takes packets in order, waits for barriers, runs blit kernels, completes signals.
#include <time.h>

#include <algorithm>
#include <cstring>

#include "blits.hpp"
#include "faults.hpp"
#include "memory.hpp"
#include "queues.hpp"
#include "report.hpp"

namespace sg::queues {
namespace {

constexpr int kSpins = 400;                // looks at the ring before sleeping
constexpr uint64_t kIdleLook = 100000000;  // a worker with nothing to do looks up at least this often (ns)

union Packet {
  uint16_t header;
  hsa_kernel_dispatch_packet_t dispatch;
  hsa_barrier_and_packet_t barrier;
  hsa_amd_barrier_value_packet_t value;
  char bytes[64];
};
static_assert(sizeof(Packet) == 64, "AQL packets are 64 bytes");

uint8_t type_of(uint16_t header) { return (header >> HSA_PACKET_HEADER_TYPE) & 0xff; }

void pause_for(const Queue& queue, uint64_t microseconds) {
  const uint64_t end = now() + microseconds * 1000;
  for (uint64_t time = now(); time < end && !queue.stop.load(); time = now()) {
    uint64_t left = std::min<uint64_t>(end - time, 1000000);
    timespec request = {0, static_cast<long>(left)};
    nanosleep(&request, nullptr);
  }
}

// Ends the queue: nothing after this packet completes, and HIP (which registered the callback) aborts.
void fail(Queue& queue, hsa_status_t status) {
  const char* text = nullptr;
  hsa_status_string(status, &text);
  report::add(report::Kind::kEvent, (std::string("queue error: ") + (text ? text : "unknown")).c_str());
  report::flush();
  queue.inactive.store(true);
  if (queue.callback) queue.callback(status, queue.handle(), queue.callback_data);
}

// A packet's signals were checked by nobody before.
Signal* dependency(hsa_signal_t handle) { return handle.handle ? signals::of(handle) : nullptr; }

bool wait_all(Queue& queue, const hsa_signal_t* list) {
  for (int i = 0; i < 5; ++i) {
    Signal* signal = dependency(list[i]);
    if (signal) signals::wait(signal, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, &queue.stop);
  }
  return !queue.stop.load();
}

bool wait_any(Queue& queue, const hsa_signal_t* list) {
  while (!queue.stop.load()) {
    Signal* first = nullptr;
    for (int i = 0; i < 5; ++i) {
      Signal* signal = dependency(list[i]);
      if (signal && signals::load(signal) == 0) return true;
      if (signal && !first) first = signal;
    }
    if (!first) return true;  // no dependency at all
    // Sleeps on one of them only; the others are found by the poll.
    signals::wait(first, HSA_SIGNAL_CONDITION_EQ, 0, 1000000, &queue.stop);
  }
  return false;
}

bool wait_value(Queue& queue, const hsa_amd_barrier_value_packet_t& packet) {
  Signal* signal = dependency(packet.signal);
  while (signal && !queue.stop.load()) {
    int64_t value = signals::load(signal);
    if (signals::holds(static_cast<hsa_signal_condition_t>(packet.cond), value & packet.mask, packet.value))
      break;
    signals::wait(signal, HSA_SIGNAL_CONDITION_NE, value, 1000000, &queue.stop);
  }
  return !queue.stop.load();
}

const Kernel* kernel_of(Queue& queue, uint64_t object) {
  uint64_t generation = kernels::generation();
  if (queue.last && queue.last_object == object && queue.generation == generation) return queue.last;
  queue.last = kernels::find(object);
  queue.last_object = object;
  queue.generation = generation;
  return queue.last;
}

// What the hardware's packet processor refuses, and the status the real runtime makes of it (the error bits
// in
// https://github.com/ROCm/ROCR-Runtime/blob/rocm-6.2.4/runtime/hsa-runtime/core/runtime/amd_aql_queue.cpp).
hsa_status_t check(const Queue& queue, const hsa_kernel_dispatch_packet_t& p, const Kernel* kernel) {
  const uint32_t dims = p.setup & 3;
  if (!dims || !p.workgroup_size_x || !p.workgroup_size_y || !p.workgroup_size_z || !p.grid_size_x ||
      !p.grid_size_y || !p.grid_size_z) {
    return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
  }
  if (uint32_t{p.workgroup_size_x} * p.workgroup_size_y * p.workgroup_size_z > 1024) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  if (p.group_segment_size > queue.agent->chip->lds_kb << 10) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  if (!kernel) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  return HSA_STATUS_SUCCESS;
}

// A user kernel: not executed, but it takes its time and its arguments must be there.
hsa_status_t pretend(Queue& queue, const hsa_kernel_dispatch_packet_t& p, const Kernel& kernel) {
  if (kernel.kernarg_size) {
    transfer::Context context = {queue.agent->bit(), queue.agent};
    char last;
    transfer::read(context, &last, reinterpret_cast<uintptr_t>(p.kernarg_address) + kernel.kernarg_size - 1,
                   1);
  }
  switch (faults::next_dispatch()) {
    case faults::Verdict::kRun:
      break;
    case faults::Verdict::kQueueError:
      return static_cast<hsa_status_t>(runtime().config.queue_error_status);
    case faults::Verdict::kLost:
      faults::device_lost(*queue.agent);
    case faults::Verdict::kHang:
      report::add(report::Kind::kEvent, "hang on demand");
      while (!queue.stop.load()) pause_for(queue, 1000000);
      return HSA_STATUS_SUCCESS;
  }
  if (uint64_t us = runtime().config.kernel_us) pause_for(queue, us);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t dispatch(Queue& queue, const hsa_kernel_dispatch_packet_t& packet) {
  const Kernel* kernel = kernel_of(queue, packet.kernel_object);
  hsa_status_t status = check(queue, packet, kernel);
  if (status != HSA_STATUS_SUCCESS) return status;
  report::add(kernel->counter);
  if (!kernel->blit) return pretend(queue, packet, *kernel);
  blits::run(*queue.agent, *kernel, packet, queue.stop);
  if (uint64_t us = runtime().config.copy_us) pause_for(queue, us);
  return HSA_STATUS_SUCCESS;
}

// Executes one packet; false when the queue must not go on. `completion` is what to signal.
bool execute(Queue& queue, const Packet& packet, hsa_signal_t* completion) {
  *completion = packet.barrier.completion_signal;  // at the same place in all packets
  switch (type_of(packet.header)) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH: {
      hsa_status_t status = dispatch(queue, packet.dispatch);
      if (status != HSA_STATUS_SUCCESS) fail(queue, status);
      return status == HSA_STATUS_SUCCESS;
    }
    case HSA_PACKET_TYPE_BARRIER_AND:
      return wait_all(queue, packet.barrier.dep_signal);
    case HSA_PACKET_TYPE_BARRIER_OR:
      return wait_any(queue, packet.barrier.dep_signal);
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      if (packet.value.header.AmdFormat == HSA_AMD_PACKET_TYPE_BARRIER_VALUE) {
        return wait_value(queue, packet.value);
      }
      [[fallthrough]];
    default:
      fail(queue, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
      return false;
  }
}

// A fault that the program takes care of ends the queue, as it is evicted on hardware.
bool guarded(Queue& queue, const Packet& packet, hsa_signal_t* completion) {
  try {
    return execute(queue, packet, completion);
  } catch (const faults::Stopped& fault) {
    queue.fault_address.store(fault.address);
    queue.inactive.store(true);
    return false;
  }
}

// The next packet, or nullptr when there is none yet. Producers raise the write index first and the header
// last.
Packet* next(Queue& queue, uint64_t index) {
  if (index >= __atomic_load_n(&queue.shared.write_dispatch_id, __ATOMIC_ACQUIRE)) return nullptr;
  auto* ring = static_cast<Packet*>(queue.shared.hsa_queue.base_address);
  Packet* packet = &ring[index & (queue.shared.hsa_queue.size - 1)];
  uint16_t header = __atomic_load_n(&packet->header, __ATOMIC_ACQUIRE);
  return type_of(header) == HSA_PACKET_TYPE_INVALID ? nullptr : packet;
}

Packet* await(Queue& queue, uint64_t index) {
  for (;;) {
    for (int i = 0; i < kSpins; ++i) {
      if (Packet* packet = next(queue, index)) return packet;
      if (queue.stop.load(std::memory_order_relaxed)) return nullptr;
      __builtin_ia32_pause();
    }
    uint32_t seen = queue.doorbell->sequence.load();
    if (Packet* packet = next(queue, index)) return packet;
    if (queue.stop.load()) return nullptr;
    // A packet whose index is taken but whose header is not written yet may come without a further doorbell.
    bool announced = index < __atomic_load_n(&queue.shared.write_dispatch_id, __ATOMIC_ACQUIRE);
    signals::sleep_on(queue.doorbell, seen, announced ? 100000 : kIdleLook);
  }
}

}  // namespace

void work(void* raw) {
  Queue& queue = *static_cast<Queue*>(raw);
  for (uint64_t index = 0;;) {
    Packet* slot = await(queue, index);
    if (!slot) break;
    Packet packet = *slot;
    uint64_t begin = now();
    hsa_signal_t completion = {};
    if (!guarded(queue, packet, &completion)) break;
    uint64_t end = now();
    // The slot is free, and seen to be free, before the program can know that the packet is done.
    __atomic_store_n(&slot->header, static_cast<uint16_t>(HSA_PACKET_TYPE_INVALID), __ATOMIC_RELEASE);
    __atomic_store_n(&queue.shared.read_dispatch_id, ++index, __ATOMIC_RELEASE);
    if (Signal* signal = dependency(completion)) {
      signal->shared.start_ts = begin;
      signal->shared.end_ts = end;
      signals::add(signal, -1);
    }
    if (queue.inactive.load()) break;
  }
  queue.finished.store(1);
}

}  // namespace sg::queues
