#include "faults.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "report.hpp"

namespace sg::faults {
namespace {

using Handler = hsa_status_t (*)(const hsa_amd_event_t*, void*);

std::mutex handlers_mutex;
std::vector<std::pair<Handler, void*>>& handlers() {
  static auto* list = new std::vector<std::pair<Handler, void*>>;
  return *list;
}

// True when one of the program's handlers says that it dealt with the event.
bool handled(const hsa_amd_event_t& event) {
  std::vector<std::pair<Handler, void*>> list;
  {
    std::lock_guard<std::mutex> lock(handlers_mutex);
    list = handlers();
  }
  bool done = false;
  for (auto& [handler, data] : list) done |= handler(&event, data) == HSA_STATUS_SUCCESS;
  return done;
}

}  // namespace

// Text and order of events: Runtime::VMFaultHandler in
// https://github.com/ROCm/ROCR-Runtime/blob/rocm-6.2.4/runtime/hsa-runtime/core/runtime/runtime.cpp
void memory_fault(Agent& agent, uintptr_t address, bool write) {
  uintptr_t page = address & ~(kPage - 1);  // the hardware reports pages
  char note[96];
  std::snprintf(note, sizeof note, "memory access fault: %s of 0x%zx", write ? "write" : "read",
                static_cast<size_t>(page));
  report::add(report::Kind::kEvent, note);
  report::flush();
  hsa_amd_event_t event = {};
  event.event_type = HSA_AMD_GPU_MEMORY_FAULT_EVENT;
  event.memory_fault.agent = agent.handle();
  event.memory_fault.virtual_address = page;
  event.memory_fault.fault_reason_mask = HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT;
  if (handled(event)) throw Stopped{page};
  std::fprintf(
      stderr,
      "Memory access fault by GPU node-%u (Agent handle: %p) on address %p. Reason: Page not present or "
      "supervisor privilege.\n",
      agent.node, static_cast<void*>(&agent), reinterpret_cast<void*>(page));
  std::abort();
}

// Text: Runtime::HwExceptionHandler in the same file.
void device_lost(Agent& agent) {
  report::add(report::Kind::kEvent, "device lost");
  report::flush();
  // hsa_amd_gpu_hw_exception_info_t, which old headers lack: agent, reset type (other), cause (hang).
  struct {
    hsa_agent_t agent;
    uint32_t reset_type, reset_cause;
  } info = {agent.handle(), 1, 1};
  hsa_amd_event_t event = {};
  event.event_type = static_cast<hsa_amd_event_type_t>(1);  // HSA_AMD_GPU_HW_EXCEPTION_EVENT
  static_assert(sizeof info <= sizeof event.memory_fault, "it shares its place with the memory fault");
  std::memcpy(&event.memory_fault, &info, sizeof info);
  if (handled(event)) throw Stopped();
  std::fprintf(stderr, "HW Exception by GPU node-%u (Agent handle: %p) reason :GPU Hang\n", agent.node,
               static_cast<void*>(&agent));
  std::abort();
}

bool may_allocate(uint64_t size) {
  static std::atomic<uint64_t> given{0};
  const Config& config = runtime().config;
  if (!config.has_oom_after) return true;
  if (given.fetch_add(size) + size <= config.oom_after) return true;
  given.fetch_sub(size);
  report::add(report::Kind::kEvent, "out of memory on demand");
  return false;
}

Verdict next_dispatch() {
  static std::atomic<uint64_t> dispatched{0};
  const Config& config = runtime().config;
  uint64_t number = dispatched.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number == config.hang_at) return Verdict::kHang;
  if (number == config.queue_error_at) return Verdict::kQueueError;
  if (number == config.lost_at) return Verdict::kLost;
  return Verdict::kRun;
}

}  // namespace sg::faults

using namespace sg;

SG_API hsa_status_t hsa_amd_register_system_event_handler(hsa_amd_system_event_callback_t callback,
                                                          void* data) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(callback, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  std::lock_guard<std::mutex> lock(faults::handlers_mutex);
  faults::handlers().emplace_back(callback, data);
  return HSA_STATUS_SUCCESS;
}
