// The one object behind the C interface: agents, pools and what hsa_init decided.
//
// It is never destroyed. HIP's static destructors still call in while the process ends, and worker threads
// run on.
#pragma once

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "abi.hpp"
#include "chip.hpp"
#include "config.hpp"
#include "heap.hpp"

namespace sg {

struct Agent;

enum class PoolKind { kFine, kKernarg, kCoarse, kGroup };

struct Pool {
  Agent* agent = nullptr;
  PoolKind kind = PoolKind::kFine;
  uint32_t flags = 0;  // HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_*
  uint64_t size = 0;
};

struct Isa {
  std::string name;
};

struct Agent {
  bool gpu = false;
  uint32_t node = 0;  // 0 is the CPU, GPUs follow
  std::string name;
  std::string uuid;
  const Chip* chip = nullptr;
  Isa isa;
  Heap heap;
  std::vector<std::unique_ptr<Pool>> pools;
  std::atomic<uint64_t> scratch_limit{0};
  uint32_t hdp[2] = {0, 0};  // the HDP flush registers: HIP writes to them

  hsa_agent_t handle() const { return {reinterpret_cast<uint64_t>(this)}; }
  uint32_t bit() const { return 1u << node; }
};

struct Runtime {
  std::atomic<uint32_t> references{0};
  Config config;
  const Chip* chip = nullptr;
  bool xnack = false;
  bool large_bar = false;
  bool images = false;
  bool hmm = false;
  Agent* cpu = nullptr;
  std::vector<Agent*> gpus;    // those that ROCR_VISIBLE_DEVICES leaves
  std::vector<Agent*> agents;  // the CPU first

  hsa_status_t start();
};

Runtime& runtime();

// The object behind a handle, or nullptr.
Agent* agent_of(hsa_agent_t handle);
Pool* pool_of(uint64_t handle);

// Nanoseconds of the clock that all timestamps use (HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY is 1 GHz).
uint64_t now();

// A detached thread with all signals blocked, so that the program's handlers never run on it.
bool spawn(const char* name, void (*body)(void*), void* argument);

// Whether the libamdhip64 of this process is older than that version; false without one. For the few answers
// that changed in the runtimes that were released together with HIP.
bool hip_version_below(int major, int minor);

inline bool initialised() { return runtime().references.load(std::memory_order_acquire) != 0; }

}  // namespace sg

#define SG_REQUIRE_INIT() \
  if (!sg::initialised()) return HSA_STATUS_ERROR_NOT_INITIALIZED
#define SG_REQUIRE(condition, status) \
  if (!(condition)) return status
