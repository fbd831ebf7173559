// The hsa_signal_* functions. The names differ by memory order only; all are done sequentially consistent.
#include <vector>

#include "async.hpp"
#include "report.hpp"
#include "signals.hpp"

using namespace sg;

namespace {

using Value = hsa_signal_value_t;

// The HSA functions below return no status: a bad handle is undefined behaviour. It is reported, not obeyed.
Signal* checked(hsa_signal_t handle) {
  Signal* signal = signals::of(handle);
  if (!signal) report::add(report::Kind::kEvent, "signal used after its end");
  return signal;
}

template <typename Change>
Value exchange_with(hsa_signal_t handle, Change change) {
  Signal* signal = checked(handle);
  if (!signal) return 0;
  Value before = change(&signal->shared.value);
  signals::notify(signal);
  return before;
}

Value wait(hsa_signal_t handle, hsa_signal_condition_t condition, Value compare, uint64_t timeout) {
  Signal* signal = checked(handle);
  return signal ? signals::wait(signal, condition, compare, timeout) : 0;
}

}  // namespace

#define ORDERS_LOAD(M) M(relaxed) M(scacquire) M(acquire)
#define ORDERS_STORE(M) M(relaxed) M(screlease) M(release)
#define ORDERS_ALL(M) M(relaxed) M(acq_rel) M(scacq_screl) M(acquire) M(scacquire) M(release) M(screlease)

#define LOAD(order)                                           \
  SG_API Value hsa_signal_load_##order(hsa_signal_t handle) { \
    Signal* signal = checked(handle);                         \
    return signal ? signals::load(signal) : 0;                \
  }
#define STORE(order)                                                       \
  SG_API void hsa_signal_store_##order(hsa_signal_t handle, Value value) { \
    if (Signal* signal = checked(handle)) signals::store(signal, value);   \
  }
#define SILENT_STORE(order)                                                       \
  SG_API void hsa_signal_silent_store_##order(hsa_signal_t handle, Value value) { \
    if (Signal* signal = checked(handle)) {                                       \
      __atomic_store_n(&signal->shared.value, value, __ATOMIC_RELEASE);           \
    }                                                                             \
  }
#define CHANGE(name, builtin, order)                                                                       \
  SG_API void hsa_signal_##name##_##order(hsa_signal_t handle, Value value) {                              \
    exchange_with(handle, [value](volatile int64_t* at) { return builtin(at, value, __ATOMIC_SEQ_CST); }); \
  }
#define ADD(order) CHANGE(add, __atomic_fetch_add, order)
#define SUBTRACT(order) CHANGE(subtract, __atomic_fetch_sub, order)
#define AND(order) CHANGE(and, __atomic_fetch_and, order)
#define OR(order) CHANGE(or, __atomic_fetch_or, order)
#define XOR(order) CHANGE(xor, __atomic_fetch_xor, order)
#define EXCHANGE(order)                                                                                      \
  SG_API Value hsa_signal_exchange_##order(hsa_signal_t handle, Value value) {                               \
    return exchange_with(                                                                                    \
        handle, [value](volatile int64_t* at) { return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST); }); \
  }
#define CAS(order)                                                                              \
  SG_API Value hsa_signal_cas_##order(hsa_signal_t handle, Value expected, Value value) {       \
    return exchange_with(handle, [expected, value](volatile int64_t* at) {                      \
      Value seen = expected;                                                                    \
      __atomic_compare_exchange_n(at, &seen, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
      return seen;                                                                              \
    });                                                                                         \
  }
#define WAIT(order)                                                                                          \
  SG_API Value hsa_signal_wait_##order(hsa_signal_t handle, hsa_signal_condition_t condition, Value compare, \
                                       uint64_t timeout, hsa_wait_state_t) {                                 \
    return wait(handle, condition, compare, timeout);                                                        \
  }

ORDERS_LOAD(LOAD)
ORDERS_LOAD(WAIT)
ORDERS_STORE(STORE)
SILENT_STORE(relaxed)
SILENT_STORE(screlease)
ORDERS_ALL(ADD)
ORDERS_ALL(SUBTRACT)
ORDERS_ALL(AND)
ORDERS_ALL(OR)
ORDERS_ALL(XOR)
ORDERS_ALL(EXCHANGE)
ORDERS_ALL(CAS)

SG_API hsa_status_t hsa_signal_create(Value value, uint32_t, const hsa_agent_t*, hsa_signal_t* out) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(out, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Signal* signal = signals::create(value);
  SG_REQUIRE(signal, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  *out = signals::handle(signal);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_signal_create(Value value, uint32_t count, const hsa_agent_t* consumers, uint64_t,
                                          hsa_signal_t* out) {
  return hsa_signal_create(value, count, consumers, out);
}

SG_API hsa_status_t hsa_signal_destroy(hsa_signal_t handle) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(handle.handle, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Signal* signal = checked(handle);
  SG_REQUIRE(signal, HSA_STATUS_ERROR_INVALID_SIGNAL);
  signals::destroy(signal);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_signal_value_pointer(hsa_signal_t handle, volatile Value** pointer) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(pointer, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Signal* signal = checked(handle);
  SG_REQUIRE(signal, HSA_STATUS_ERROR_INVALID_SIGNAL);
  *pointer = &signal->shared.value;
  return HSA_STATUS_SUCCESS;
}

namespace {

// Index of a signal whose condition holds, or -1 (`all`: 0 once all hold).
int64_t satisfied(uint32_t count, hsa_signal_t* list, hsa_signal_condition_t* conditions, Value* compares,
                  bool all, Value* seen) {
  uint32_t done = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Signal* signal = signals::of(list[i]);
    if (!signal) return static_cast<int64_t>(count);
    Value value = signals::load(signal);
    bool holds = signals::holds(conditions[i], value, compares[i]);
    done += holds;
    if (all && seen) seen[i] = value;
    if (holds && !all) {
      if (seen) *seen = value;
      return i;
    }
  }
  return all && done == count ? 0 : -1;
}

void watch(uint32_t count, hsa_signal_t* list, uint32_t change) {
  for (uint32_t i = 0; i < count; ++i) {
    if (Signal* signal = signals::of(list[i])) signal->watched.fetch_add(change);
  }
}

uint32_t wait_many(uint32_t count, hsa_signal_t* list, hsa_signal_condition_t* conditions, Value* compares,
                   uint64_t timeout, bool all, Value* seen) {
  const uint64_t begin = now();
  watch(count, list, 1);
  int64_t index = -1;
  for (;;) {
    uint32_t ticket = async::ticket();
    index = satisfied(count, list, conditions, compares, all, seen);
    if (index >= 0 || now() - begin >= timeout) break;
    async::sleep(ticket);
  }
  watch(count, list, UINT32_MAX);
  return static_cast<uint32_t>(index);
}

}  // namespace

SG_API uint32_t hsa_amd_signal_wait_any(uint32_t count, hsa_signal_t* list,
                                        hsa_signal_condition_t* conditions, Value* compares, uint64_t timeout,
                                        hsa_wait_state_t, Value* seen) {
  return wait_many(count, list, conditions, compares, timeout, false, seen);
}

uint32_t wait_all(uint32_t count, hsa_signal_t* list, hsa_signal_condition_t* conditions, Value* compares,
                  uint64_t timeout, hsa_wait_state_t, Value* seen) SG_EXPORT(hsa_amd_signal_wait_all);
uint32_t wait_all(uint32_t count, hsa_signal_t* list, hsa_signal_condition_t* conditions, Value* compares,
                  uint64_t timeout, hsa_wait_state_t, Value* seen) {
  return wait_many(count, list, conditions, compares, timeout, true, seen);
}
