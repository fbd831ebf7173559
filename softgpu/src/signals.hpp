// Signals. The handle is the address of an amd_signal_t, since HIP reads timestamps and the value straight
// from it.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime.hpp"

namespace sg {

struct Signal {
  amd_signal_t shared;             // the part that the ABI fixes; value changes may come without a call
  std::atomic<uint32_t> sequence;  // changes with every store; waiters sleep on it
  std::atomic<uint32_t> waiters;
  std::atomic<uint32_t> state;    // kLive or kDead
  std::atomic<uint32_t> watched;  // handlers and waits on several signals that look at this one
  uint32_t reserved[12];
};
static_assert(sizeof(Signal) == 128 && alignof(Signal) == 64, "signals are laid out in slabs");

namespace signals {

constexpr uint32_t kLive = 0x51967a1e, kDead = 0xdead51ee;

Signal* create(int64_t value);
void destroy(Signal* signal);
Signal* of(hsa_signal_t handle);  // nullptr when it is none, or destroyed
inline hsa_signal_t handle(Signal* signal) { return {reinterpret_cast<uint64_t>(signal)}; }

inline int64_t load(const Signal* signal) {
  return __atomic_load_n(&const_cast<Signal*>(signal)->shared.value, __ATOMIC_ACQUIRE);
}
void store(Signal* signal, int64_t value);
int64_t add(Signal* signal, int64_t value);
// Wakes those who wait. Call it after each change of the value.
void notify(Signal* signal);

bool holds(hsa_signal_condition_t condition, int64_t value, int64_t compare);

// Sleeps until the signal's sequence leaves `seen`, at most `nanoseconds`.
void sleep_on(Signal* signal, uint32_t seen, uint64_t nanoseconds);

// Waits for the condition; returns the value last seen. `stop` ends the wait early.
int64_t wait(Signal* signal, hsa_signal_condition_t condition, int64_t compare, uint64_t timeout_ns,
             const std::atomic<bool>* stop = nullptr);

}  // namespace signals
}  // namespace sg
