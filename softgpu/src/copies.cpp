// Copies and fills, and what tools ask about their times.
#include "dma.hpp"
#include "faults.hpp"
#include "report.hpp"

namespace sg {
namespace {

hsa_status_t async_copy(uint32_t engine_bits, void* to, hsa_agent_t to_handle, const void* from,
                        hsa_agent_t from_handle, size_t size, uint32_t count,
                        const hsa_signal_t* dependencies, hsa_signal_t completion) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(to && from, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Agent *to_agent = agent_of(to_handle), *from_agent = agent_of(from_handle);
  SG_REQUIRE(to_agent && from_agent, HSA_STATUS_ERROR_INVALID_AGENT);
  SG_REQUIRE(signals::of(completion), HSA_STATUS_ERROR_INVALID_SIGNAL);
  if (!size) return HSA_STATUS_SUCCESS;
  const uint32_t number = engine_bits ? 16 + static_cast<uint32_t>(__builtin_ctz(engine_bits))
                                      : dma::engine_for(to_agent, from_agent);
  const transfer::Context context = dma::context(to_agent, from_agent);
  const auto target = reinterpret_cast<uintptr_t>(to), source = reinterpret_cast<uintptr_t>(from);
  return dma::submit(context.agent, number, count, dependencies, completion,
                     [=] { transfer::copy(context, target, source, size); });
}

// Timings are the emulation's, not a GPU's: whoever asks gets a soft answer.
template <typename Time>
hsa_status_t times_of(hsa_signal_t handle, Time* time) {
  SG_REQUIRE_INIT();
  Signal* signal = signals::of(handle);
  SG_REQUIRE(signal, HSA_STATUS_ERROR_INVALID_SIGNAL);
  SG_REQUIRE(time, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  report::add(report::Kind::kSoft, "timings");
  *time = {signal->shared.start_ts, signal->shared.end_ts};
  return HSA_STATUS_SUCCESS;
}

uint32_t engine_mask(const Agent& agent) {
  uint32_t engines = agent.chip->sdma_engines + agent.chip->sdma_xgmi_engines;
  return engines >= 16 ? 0xffff : (1u << engines) - 1;
}

}  // namespace
}  // namespace sg

using namespace sg;

SG_API hsa_status_t hsa_amd_memory_async_copy(void* to, hsa_agent_t to_agent, const void* from,
                                              hsa_agent_t from_agent, size_t size, uint32_t count,
                                              const hsa_signal_t* dependencies, hsa_signal_t completion) {
  return async_copy(0, to, to_agent, from, from_agent, size, count, dependencies, completion);
}

namespace sg::copies {

hsa_status_t copy_on_engine(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent,
                            size_t size, uint32_t count, const hsa_signal_t* dependencies,
                            hsa_signal_t completion, uint32_t engine, bool force)
    SG_EXPORT(hsa_amd_memory_async_copy_on_engine);
hsa_status_t copy_on_engine(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent,
                            size_t size, uint32_t count, const hsa_signal_t* dependencies,
                            hsa_signal_t completion, uint32_t engine, bool) {
  SG_REQUIRE(engine && !(engine & (engine - 1)), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  return async_copy(engine, to, to_agent, from, from_agent, size, count, dependencies, completion);
}

hsa_status_t engine_status(hsa_agent_t to, hsa_agent_t from, uint32_t* mask)
    SG_EXPORT(hsa_amd_memory_copy_engine_status);
hsa_status_t engine_status(hsa_agent_t to, hsa_agent_t from, uint32_t* mask) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(mask, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Agent *to_agent = agent_of(to), *from_agent = agent_of(from);
  SG_REQUIRE(to_agent && from_agent, HSA_STATUS_ERROR_INVALID_AGENT);
  SG_REQUIRE(to_agent->gpu || from_agent->gpu, HSA_STATUS_ERROR_INVALID_AGENT);
  *mask = engine_mask(*dma::copier(to_agent, from_agent));
  return HSA_STATUS_SUCCESS;
}

hsa_status_t preferred_engine(hsa_agent_t to, hsa_agent_t from, uint32_t* mask)
    SG_EXPORT(hsa_amd_memory_get_preferred_copy_engine);
hsa_status_t preferred_engine(hsa_agent_t to, hsa_agent_t from, uint32_t* mask) {
  return engine_status(to, from, mask);
}

}  // namespace sg::copies

SG_API hsa_status_t hsa_amd_memory_async_copy_rect(const hsa_pitched_ptr_t* to, const hsa_dim3_t* to_offset,
                                                   const hsa_pitched_ptr_t* from,
                                                   const hsa_dim3_t* from_offset, const hsa_dim3_t* range,
                                                   hsa_agent_t agent_handle, hsa_amd_copy_direction_t,
                                                   uint32_t count, const hsa_signal_t* dependencies,
                                                   hsa_signal_t completion) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(to && from && to_offset && from_offset && range, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Agent* agent = agent_of(agent_handle);
  SG_REQUIRE(agent && agent->gpu, HSA_STATUS_ERROR_INVALID_AGENT);
  transfer::Context context = {agent->bit(), agent};
  auto start = [](const hsa_pitched_ptr_t& p, const hsa_dim3_t& o) {
    return reinterpret_cast<uintptr_t>(p.base) + o.x + o.y * p.pitch + o.z * p.slice;
  };
  const hsa_pitched_ptr_t target = *to, source = *from;
  const uintptr_t first_to = start(target, *to_offset), first_from = start(source, *from_offset);
  const hsa_dim3_t size = *range;
  return dma::submit(agent, 2, count, dependencies, completion, [=] {
    for (uint64_t z = 0; z < size.z; ++z) {
      for (uint64_t y = 0; y < size.y; ++y) {
        transfer::copy(context, first_to + y * target.pitch + z * target.slice,
                       first_from + y * source.pitch + z * source.slice, size.x);
      }
    }
  });
}

// Both are synchronous; addresses that are no GPU memory are plain host memory to them.
SG_API hsa_status_t hsa_memory_copy(void* to, const void* from, size_t size) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(to && from, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  auto host = [](const void* pointer) {
    Block block;
    uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
    if (!memory::find(address, &block)) return static_cast<char*>(const_cast<void*>(pointer));
    return block.alias + (address - block.base);
  };
  __builtin_memmove(host(to), host(from), size);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_memory_fill(void* pointer, uint32_t value, size_t count) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(pointer, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Block block;
  SG_REQUIRE(memory::find(reinterpret_cast<uintptr_t>(pointer), &block), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  Agent* agent = block.owner->gpu ? block.owner : runtime().gpus.empty() ? nullptr : runtime().gpus[0];
  SG_REQUIRE(agent, HSA_STATUS_ERROR);
  transfer::Context context = {~0u, agent};
  try {
    transfer::fill(context, reinterpret_cast<uintptr_t>(pointer), &value, sizeof value, count * sizeof value);
  } catch (const faults::Stopped&) {
    return HSA_STATUS_ERROR;
  }
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_profiling_async_copy_enable(bool) {
  SG_REQUIRE_INIT();
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_profiling_get_async_copy_time(hsa_signal_t handle,
                                                          hsa_amd_profiling_async_copy_time_t* time) {
  return times_of(handle, time);
}

SG_API hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t, hsa_signal_t handle,
                                                        hsa_amd_profiling_dispatch_time_t* time) {
  return times_of(handle, time);
}

SG_API hsa_status_t hsa_amd_profiling_convert_tick_to_system_domain(hsa_agent_t agent, uint64_t tick,
                                                                    uint64_t* time) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(agent_of(agent), HSA_STATUS_ERROR_INVALID_AGENT);
  SG_REQUIRE(time, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  *time = tick;  // there is one clock
  return HSA_STATUS_SUCCESS;
}
