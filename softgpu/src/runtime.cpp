#include "runtime.hpp"

#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/sysinfo.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>

#include "report.hpp"

namespace sg {
namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "CPU";
}

void add_pool(Agent* agent, PoolKind kind, uint32_t flags, uint64_t size) {
  auto pool = std::make_unique<Pool>();
  pool->agent = agent;
  pool->kind = kind;
  pool->flags = flags;
  pool->size = size;
  agent->pools.push_back(std::move(pool));
}

Agent* make_cpu() {
  struct sysinfo info = {};
  sysinfo(&info);
  uint64_t memory = static_cast<uint64_t>(info.totalram) * info.mem_unit & ~(kPage - 1);
  auto* agent = new Agent;
  agent->name = cpu_name();
  agent->uuid = "CPU-XX";
  constexpr uint32_t fine = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  add_pool(agent, PoolKind::kFine, fine, memory);
  add_pool(agent, PoolKind::kKernarg, fine | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT, memory);
  add_pool(agent, PoolKind::kCoarse, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, memory);
  return agent;
}

Agent* make_gpu(const Runtime& rt, uint32_t index, uint64_t vram) {
  auto* agent = new Agent;
  agent->gpu = true;
  agent->node = index + 1;
  agent->chip = rt.chip;
  agent->name = rt.chip->gfx;
  char uuid[32];
  std::snprintf(uuid, sizeof uuid, "GPU-50f7%012x", index);
  agent->uuid = uuid;
  agent->isa.name = isa_name(*rt.chip, rt.xnack);
  if (!agent->heap.create("softgpu-vram", vram, rt.large_bar)) return nullptr;
  add_pool(agent, PoolKind::kCoarse, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, vram);
  add_pool(agent, PoolKind::kFine, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, vram);
  add_pool(agent, PoolKind::kGroup, 0, static_cast<uint64_t>(rt.chip->lds_kb) << 10);
  return agent;
}

// ROCR_VISIBLE_DEVICES: indices or UUIDs in the wanted order; the first that does not exist ends the list.
// https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
std::vector<Agent*> visible(const Config& config, const std::vector<Agent*>& all) {
  if (!config.has_visible) return all;
  std::vector<Agent*> chosen;
  std::stringstream words(config.visible);
  for (std::string word; std::getline(words, word, ',');) {
    Agent* found = nullptr;
    for (size_t i = 0; i < all.size(); ++i) {
      if (word == std::to_string(i) || (word.rfind("GPU-", 0) == 0 && word == all[i]->uuid)) found = all[i];
    }
    if (!found) break;
    chosen.push_back(found);
  }
  return chosen;
}

std::string active_faults(const Config& c) {
  std::string out;
  auto put = [&out](const char* name, uint64_t value) {
    out += std::string(out.empty() ? "" : ", ") + "\"" + name + "\": " + std::to_string(value);
  };
  if (c.kernel_us) put("kernel_us", c.kernel_us);
  if (c.copy_us) put("copy_us", c.copy_us);
  if (c.hang_at) put("hang_at", c.hang_at);
  if (c.queue_error_at) {
    put("queue_error_at", c.queue_error_at);
    put("queue_error_status", c.queue_error_status);
  }
  if (c.has_oom_after) put("oom_after", c.oom_after);
  if (c.lost_at) put("lost_at", c.lost_at);
  return "{" + out + "}";
}

bool choose(int wish, bool chip) { return wish < 0 ? chip : wish != 0; }

}  // namespace

hsa_status_t Runtime::start() {
  config = read_config();
  chip = find_chip(config.chip);
  if (!chip) config.errors.push_back("SOFTGPU_GFX=" + config.chip + ": no such chip");
  for (const std::string& error : config.errors) std::fprintf(stderr, "softgpu: %s\n", error.c_str());
  if (!config.errors.empty()) return HSA_STATUS_ERROR;
  xnack = chip->xnack && config.xnack == 1;
  hmm = choose(config.hmm, chip->hmm);
  large_bar = chip->apu || choose(config.large_bar, chip->large_bar);
  images = choose(config.images, chip->images);
  uint64_t vram = config.vram_mb ? config.vram_mb << 20 : chip->vram_kb << 10;
  cpu = make_cpu();
  std::vector<Agent*> all;
  for (uint32_t i = 0; i < config.gpus; ++i) {
    Agent* gpu = make_gpu(*this, i, vram);
    if (!gpu) {
      std::fprintf(stderr, "softgpu: the kernel refuses to map %llu MB of GPU memory\n",
                   static_cast<unsigned long long>(vram >> 20));
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    all.push_back(gpu);
  }
  gpus = visible(config, all);
  agents = {cpu};
  agents.insert(agents.end(), gpus.begin(), gpus.end());

  report::Machine machine;
  machine.chip = chip->id;
  machine.gfx = chip->gfx;
  machine.gpus = static_cast<uint32_t>(gpus.size());
  machine.vram_mb = vram >> 20;
  machine.xnack = xnack;
  machine.large_bar = large_bar;
  machine.faults = active_faults(config);
  report::start(config.report, machine);
  return HSA_STATUS_SUCCESS;
}

Runtime& runtime() {
  static Runtime* instance = new Runtime;
  return *instance;
}

Agent* agent_of(hsa_agent_t handle) {
  for (Agent* agent : runtime().agents) {
    if (reinterpret_cast<uint64_t>(agent) == handle.handle) return agent;
  }
  return nullptr;
}

Pool* pool_of(uint64_t handle) {
  for (Agent* agent : runtime().agents) {
    for (const auto& pool : agent->pools) {
      if (reinterpret_cast<uint64_t>(pool.get()) == handle) return pool.get();
    }
  }
  return nullptr;
}

uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

bool hip_version_below(int major, int minor) {
  struct Found {
    int major = 0, minor = 0;
  } found;
  // The file's real name ends in .so.<major>.<minor>.<patch>.
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* raw) {
        if (!std::strstr(info->dlpi_name, "libamdhip64.so")) return 0;
        char path[PATH_MAX];
        const char* name = realpath(info->dlpi_name, path) ? std::strstr(path, "libamdhip64.so.") : nullptr;
        auto* out = static_cast<Found*>(raw);
        return name && std::sscanf(name, "libamdhip64.so.%d.%d", &out->major, &out->minor) == 2 ? 1 : 0;
      },
      &found);
  return found.major && (found.major < major || (found.major == major && found.minor < minor));
}

namespace {

struct Start {
  void (*body)(void*);
  void* argument;
};

void* enter(void* raw) {
  Start start = *static_cast<Start*>(raw);
  delete static_cast<Start*>(raw);
  start.body(start.argument);
  return nullptr;
}

}  // namespace

bool spawn(const char* name, void (*body)(void*), void* argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t thread;
  int failed = pthread_create(&thread, nullptr, enter, new Start{body, argument});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failed) {
    std::fprintf(stderr, "softgpu: cannot start a thread: %s\n", std::strerror(failed));
    return false;
  }
  pthread_setname_np(thread, name);
  pthread_detach(thread);
  return true;
}

}  // namespace sg
