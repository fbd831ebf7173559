// Asynchronous copies: one thread a DMA engine, each in order, with signals to wait for and to complete.
#include <time.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "faults.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "signals.hpp"

namespace sg {
namespace {

struct Job {
  std::vector<Signal*> dependencies;
  Signal* completion = nullptr;
  std::function<void()> body;
};

struct Engine {
  std::mutex mutex;
  std::condition_variable filled;
  std::deque<Job> jobs;
};

void pause_for(uint64_t microseconds) {
  timespec request = {static_cast<time_t>(microseconds / 1000000),
                      static_cast<long>(microseconds % 1000000 * 1000)};
  nanosleep(&request, nullptr);
}

void run(void* raw) {
  Engine& engine = *static_cast<Engine*>(raw);
  for (;;) {
    Job job;
    {
      std::unique_lock<std::mutex> lock(engine.mutex);
      engine.filled.wait(lock, [&] { return !engine.jobs.empty(); });
      job = std::move(engine.jobs.front());
      engine.jobs.pop_front();
    }
    for (Signal* signal : job.dependencies) signals::wait(signal, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX);
    uint64_t begin = now();
    try {
      job.body();
    } catch (const faults::Stopped&) {
      return;  // this engine copies no more
    }
    if (uint64_t us = runtime().config.copy_us) pause_for(us);
    if (!job.completion) continue;
    job.completion->shared.start_ts = begin;
    job.completion->shared.end_ts = now();
    signals::add(job.completion, -1);
  }
}

// Engines are made as they are used, and stay.
Engine& engine(Agent* agent, uint32_t number) {
  static std::mutex mutex;
  static auto* engines = new std::map<std::pair<Agent*, uint32_t>, Engine*>;
  std::lock_guard<std::mutex> lock(mutex);
  Engine*& found = (*engines)[{agent, number}];
  if (!found) {
    found = new Engine;
    spawn("softgpu-dma", run, found);
  }
  return *found;
}

hsa_status_t submit(Engine& engine, uint32_t count, const hsa_signal_t* dependencies, hsa_signal_t completion,
                    std::function<void()> body) {
  Job job;
  SG_REQUIRE((count == 0) == (dependencies == nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  for (uint32_t i = 0; i < count; ++i) {
    Signal* signal = signals::of(dependencies[i]);
    SG_REQUIRE(signal, HSA_STATUS_ERROR_INVALID_SIGNAL);
    job.dependencies.push_back(signal);
  }
  if (completion.handle) {
    job.completion = signals::of(completion);
    SG_REQUIRE(job.completion, HSA_STATUS_ERROR_INVALID_SIGNAL);
  }
  job.body = std::move(body);
  {
    std::lock_guard<std::mutex> lock(engine.mutex);
    engine.jobs.push_back(std::move(job));
  }
  engine.filled.notify_one();
  return HSA_STATUS_SUCCESS;
}

// The GPU whose engine copies: the source's when both are GPUs, as the real runtime chooses.
Agent* copier(Agent* to, Agent* from) { return from->gpu ? from : to; }

// 0: host to device, 1: device to host, 2: within a device, 3: to a peer.
uint32_t direction(const Agent* to, const Agent* from) {
  if (!from->gpu) return 0;
  if (!to->gpu) return 1;
  return to == from ? 2 : 3;
}

hsa_status_t copy_on(uint32_t number, void* to, Agent* to_agent, const void* from, Agent* from_agent,
                     size_t size, uint32_t count, const hsa_signal_t* dependencies, hsa_signal_t completion) {
  Agent* gpu = copier(to_agent, from_agent);
  transfer::Context context = {to_agent->bit() | from_agent->bit(), gpu};
  auto target = reinterpret_cast<uintptr_t>(to), source = reinterpret_cast<uintptr_t>(from);
  return submit(engine(gpu, number), count, dependencies, completion,
                [=] { transfer::copy(context, target, source, size); });
}

hsa_status_t async_copy(uint32_t engine_bits, void* to, hsa_agent_t to_handle, const void* from,
                        hsa_agent_t from_handle, size_t size, uint32_t count,
                        const hsa_signal_t* dependencies, hsa_signal_t completion) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(to && from, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Agent *to_agent = agent_of(to_handle), *from_agent = agent_of(from_handle);
  SG_REQUIRE(to_agent && from_agent, HSA_STATUS_ERROR_INVALID_AGENT);
  SG_REQUIRE(signals::of(completion), HSA_STATUS_ERROR_INVALID_SIGNAL);
  if (!size) return HSA_STATUS_SUCCESS;
  uint32_t number =
      engine_bits ? 16 + static_cast<uint32_t>(__builtin_ctz(engine_bits)) : direction(to_agent, from_agent);
  return copy_on(number, to, to_agent, from, from_agent, size, count, dependencies, completion);
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
  *mask = engine_mask(*copier(to_agent, from_agent));
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
  return submit(engine(agent, 2), count, dependencies, completion, [=] {
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

// Timings are the emulation's, not a GPU's: whoever asks gets a soft answer.
SG_API hsa_status_t hsa_amd_profiling_async_copy_enable(bool) {
  SG_REQUIRE_INIT();
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_profiling_get_async_copy_time(hsa_signal_t handle,
                                                          hsa_amd_profiling_async_copy_time_t* time) {
  SG_REQUIRE_INIT();
  Signal* signal = signals::of(handle);
  SG_REQUIRE(signal, HSA_STATUS_ERROR_INVALID_SIGNAL);
  SG_REQUIRE(time, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  report::add(report::Kind::kSoft, "timings");
  *time = {signal->shared.start_ts, signal->shared.end_ts};
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t, hsa_signal_t handle,
                                                        hsa_amd_profiling_dispatch_time_t* time) {
  SG_REQUIRE_INIT();
  Signal* signal = signals::of(handle);
  SG_REQUIRE(signal, HSA_STATUS_ERROR_INVALID_SIGNAL);
  SG_REQUIRE(time, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  report::add(report::Kind::kSoft, "timings");
  *time = {signal->shared.start_ts, signal->shared.end_ts};
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_profiling_convert_tick_to_system_domain(hsa_agent_t agent, uint64_t tick,
                                                                    uint64_t* time) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(agent_of(agent), HSA_STATUS_ERROR_INVALID_AGENT);
  SG_REQUIRE(time, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  *time = tick;  // there is one clock
  return HSA_STATUS_SUCCESS;
}
