// Faults that a program earns, and those that SOFTGPU_* asks for.
#pragma once

#include <cstdint>

#include "runtime.hpp"

namespace sg::faults {

// Thrown when a fault was the program's business (its handler took it): what faulted stops, the process lives
// on.
struct Stopped {
  uintptr_t address = 0;  // of a memory fault
};

// Ends the process as the real runtime does when a GPU touches an address that it may not; throws Stopped if
// the program has a handler that takes the event.
[[noreturn]] void memory_fault(Agent& agent, uintptr_t address, bool write);

// The GPU was reset under the program (SOFTGPU_LOST_AT). Throws Stopped as memory_fault() does.
[[noreturn]] void device_lost(Agent& agent);

// False once SOFTGPU_OOM_AFTER bytes of device memory have been handed out in all.
bool may_allocate(uint64_t size);

enum class Verdict { kRun, kHang, kQueueError, kLost };
// What the environment wants for the next user kernel of the process.
Verdict next_dispatch();

}  // namespace sg::faults
