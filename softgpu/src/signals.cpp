#include "signals.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <new>

#include "async.hpp"
#include "memory.hpp"

namespace sg::signals {
namespace {

// HIP and programs change values behind our back (hsa_amd_signal_value_pointer, hipMallocSignalMemory), so no
// wait sleeps longer than this without looking.
constexpr uint64_t kPoll = 1000000;
constexpr int kSpins = 300;
constexpr size_t kSlab = 512;         // signals made at a time
constexpr size_t kQuarantine = 4096;  // dead signals before one is used again, so that late users see it dead

struct Store {
  std::mutex mutex;
  std::deque<Signal*> idle;
};

Store& spare() {
  static Store* instance = new Store;
  return *instance;
}

long futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), operation | FUTEX_PRIVATE_FLAG, value, timeout,
                 nullptr, 0);
}

// Signals live in memory that every GPU may write: streams write values into them (hipStreamWriteValue).
void refill(Store& store) {
  size_t bytes = kSlab * sizeof(Signal);
  void* at = memory::map_shared(bytes, ~0u);
  if (!at) return;
  for (size_t i = 0; i < kSlab; ++i) store.idle.push_back(static_cast<Signal*>(at) + i);
}

}  // namespace

Signal* create(int64_t value) {
  Store& store = spare();
  Signal* signal = nullptr;
  {
    std::lock_guard<std::mutex> lock(store.mutex);
    bool fresh = !store.idle.empty() && store.idle.front()->state.load() != kDead;
    if (store.idle.empty() || (!fresh && store.idle.size() < kQuarantine)) {
      Store made;
      refill(made);
      store.idle.insert(store.idle.begin(), made.idle.begin(), made.idle.end());
    }
    if (store.idle.empty()) return nullptr;
    signal = store.idle.front();
    store.idle.pop_front();
  }
  // Not a plain assignment: a late waiter may still look at the words of the signal that was here.
  signal->sequence.fetch_add(1);
  signal->shared.kind = AMD_SIGNAL_KIND_USER;
  signal->shared.start_ts = signal->shared.end_ts = 0;
  signal->shared.event_mailbox_ptr = 0;
  signal->shared.event_id = 0;
  signal->watched.store(0);
  __atomic_store_n(&signal->shared.value, value, __ATOMIC_RELEASE);
  signal->state.store(kLive, std::memory_order_release);
  return signal;
}

void destroy(Signal* signal) {
  signal->state.store(kDead, std::memory_order_release);
  signal->shared.kind = AMD_SIGNAL_KIND_INVALID;
  Store& store = spare();
  std::lock_guard<std::mutex> lock(store.mutex);
  store.idle.push_back(signal);
}

Signal* of(hsa_signal_t handle) {
  auto* signal = reinterpret_cast<Signal*>(handle.handle);
  if (!signal || handle.handle % alignof(Signal)) return nullptr;
  return signal->state.load(std::memory_order_acquire) == kLive ? signal : nullptr;
}

void notify(Signal* signal) {
  signal->sequence.fetch_add(1);
  if (signal->waiters.load()) futex(&signal->sequence, FUTEX_WAKE, INT32_MAX, nullptr);
  if (signal->watched.load()) async::value_changed();
}

void store(Signal* signal, int64_t value) {
  __atomic_store_n(&signal->shared.value, value, __ATOMIC_SEQ_CST);
  notify(signal);
}

int64_t add(Signal* signal, int64_t value) {
  int64_t before = __atomic_fetch_add(&signal->shared.value, value, __ATOMIC_SEQ_CST);
  notify(signal);
  return before;
}

bool holds(hsa_signal_condition_t condition, int64_t value, int64_t compare) {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ:
      return value == compare;
    case HSA_SIGNAL_CONDITION_NE:
      return value != compare;
    case HSA_SIGNAL_CONDITION_LT:
      return value < compare;
    case HSA_SIGNAL_CONDITION_GTE:
      return value >= compare;
    default:
      return false;
  }
}

void sleep_on(Signal* signal, uint32_t seen, uint64_t nanoseconds) {
  timespec timeout = {static_cast<time_t>(nanoseconds / 1000000000),
                      static_cast<long>(nanoseconds % 1000000000)};
  signal->waiters.fetch_add(1);
  futex(&signal->sequence, FUTEX_WAIT, seen, &timeout);
  signal->waiters.fetch_sub(1);
}

int64_t wait(Signal* signal, hsa_signal_condition_t condition, int64_t compare, uint64_t timeout_ns,
             const std::atomic<bool>* stop) {
  int64_t value = load(signal);
  for (int i = 0; i < kSpins && !holds(condition, value, compare); ++i) {
    __builtin_ia32_pause();
    value = load(signal);
  }
  const uint64_t begin = timeout_ns == UINT64_MAX ? 0 : now();
  while (!holds(condition, value, compare)) {
    if (stop && stop->load()) break;
    uint64_t left = UINT64_MAX;
    if (timeout_ns != UINT64_MAX) {
      uint64_t gone = now() - begin;
      if (gone >= timeout_ns) break;
      left = timeout_ns - gone;
    }
    uint32_t seen = signal->sequence.load();
    value = load(signal);
    if (holds(condition, value, compare)) break;
    sleep_on(signal, seen, std::min(left, kPoll));
    value = load(signal);
  }
  return value;
}

}  // namespace sg::signals
