// Handlers that run when a signal's value meets a condition (hsa_amd_signal_async_handler): HIP retires its
// commands and calls the program's callbacks there. One thread runs them all, as in the real runtime.
#pragma once

#include <cstdint>

namespace sg::async {

// Some signal's value changed: those who watch several signals look again.
void value_changed();

// For waits on several signals: take a ticket, look at the values, then sleep until a value changes (at most
// 1 ms).
uint32_t ticket();
void sleep(uint32_t ticket);

// Waits (at most 2 s) for the handlers that are due. HIP's destructors, at the end of a process, delete what its own
// handlers use and wait for none of them. A GPU's interrupt is there long before; our thread, which competes with the
// program for the processors of a busy host, is given its turn.
void settle();

// Ends the thread once the handler that runs now is done; those that still wait never run. Nothing of HIP's is
// touched after this, as after the real runtime's last hsa_shut_down: HIP calls that when it has destroyed its
// objects, at the end of the process.
// https://github.com/ROCm/ROCR-Runtime/blob/rocm-6.2.4/runtime/hsa-runtime/core/runtime/runtime.cpp (Unload)
void end();

}  // namespace sg::async
