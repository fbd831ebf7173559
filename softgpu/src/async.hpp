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

}  // namespace sg::async
