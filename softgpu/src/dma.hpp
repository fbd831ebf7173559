// The DMA engines: one thread each, that does its jobs in order once their signals are there.
#pragma once

#include <functional>

#include "memory.hpp"
#include "signals.hpp"

namespace sg::dma {

using Body = std::function<void()>;

// Runs `body` on engine `number` of the GPU, after the dependencies; then takes 1 from `completion`, if there is one.
hsa_status_t submit(Agent* gpu, uint32_t number, uint32_t count, const hsa_signal_t* dependencies,
                    hsa_signal_t completion, Body body);

// The GPU whose engine copies: the source's when both are GPUs, as the real runtime chooses.
inline Agent* copier(Agent* to, Agent* from) { return from->gpu ? from : to; }

// The engine that the runtime chooses. 0: host to device, 1: device to host, 2: within a device, 3: to a peer.
inline uint32_t engine_for(const Agent* to, const Agent* from) {
  if (!from->gpu) return 0;
  if (!to->gpu) return 1;
  return to == from ? 2 : 3;
}

inline transfer::Context context(Agent* to, Agent* from) {
  return {to->bit() | from->bit(), copier(to, from)};
}

}  // namespace sg::dma
