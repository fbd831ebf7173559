#include "dma.hpp"

#include <time.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "faults.hpp"

namespace sg::dma {
namespace {

struct Job {
  std::vector<Signal*> dependencies;
  Signal* completion = nullptr;
  Body body;
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
Engine& engine_of(Agent* agent, uint32_t number) {
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

}  // namespace

hsa_status_t submit(Agent* gpu, uint32_t number, uint32_t count, const hsa_signal_t* dependencies,
                    hsa_signal_t completion, Body body) {
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
  Engine& engine = engine_of(gpu, number);
  {
    std::lock_guard<std::mutex> lock(engine.mutex);
    engine.jobs.push_back(std::move(job));
  }
  engine.filled.notify_one();
  return HSA_STATUS_SUCCESS;
}

}  // namespace sg::dma
