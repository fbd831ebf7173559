// Each wrong program runs in a process of its own.
#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <fstream>

#include "check.hpp"

static bool aborted(const Outcome& o) { return WIFSIGNALED(o.status) && WTERMSIG(o.status) == SIGABRT; }

int act(const std::string& what) {
  System system = find_system();
  void *host = nullptr, *device = nullptr;
  OK(hsa_amd_memory_pool_allocate(system.host, 8192, 0, &host));
  OK(hsa_amd_memory_pool_allocate(system.device, 8192, 0, &device));
  if (what == "no access") copy(device, system.gpus[0], host, system.gpus[0], 16);
  OK(hsa_amd_agents_allow_access(1, system.gpus.data(), nullptr, host));
  if (what == "handled") {  // the program takes the fault itself and lives on
    static std::atomic<bool> seen{false};
    OK(hsa_amd_register_system_event_handler(
        [](const hsa_amd_event_t* event, void*) {
          seen = event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT;
          return HSA_STATUS_SUCCESS;
        },
        nullptr));
    hsa_signal_t done = make_signal(1);
    OK(hsa_amd_memory_pool_free(device));
    OK(hsa_amd_memory_async_copy(device, system.gpus[0], host, system.cpu, 16, 0, nullptr, done));
    CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 50000000, HSA_WAIT_STATE_BLOCKED) == 1);
    CHECK(seen);
    return failures;
  }
  if (what == "beyond") copy(static_cast<char*>(device) + 4096, system.gpus[0], host, system.cpu, 8192);
  if (what == "freed") {
    OK(hsa_amd_memory_pool_free(device));
    copy(device, system.gpus[0], host, system.cpu, 16);
  }
  if (what == "pageable") {
    std::vector<char> bytes(100);
    copy(device, system.gpus[0], bytes.data(), system.cpu, 100);
  }
  if (what == "host touch") return *static_cast<volatile char*>(device);
  if (what == "soft") {
    int unknown = 0;
    hsa_agent_get_info(system.gpus[0], static_cast<hsa_agent_info_t>(0xBEEF), &unknown);
    hsa_agent_iterate_caches(system.gpus[0], nullptr, nullptr);
  }
  if (what == "killed") kill(getpid(), SIGKILL);
  return failures;
}

void test_faults(System&) {
  for (const char* what : {"no access", "beyond", "freed", "pageable"}) {
    Outcome o = again(what, {{"SOFTGPU_LARGE_BAR", "0"}});
    CHECK(aborted(o));
    CHECK(o.text.find("Memory access fault by GPU node-1") != std::string::npos);
    CHECK(o.text.find("Reason: Page not present or supervisor privilege.") != std::string::npos);
  }
  Outcome handled = again("handled", {});
  CHECK(WIFEXITED(handled.status) && WEXITSTATUS(handled.status) == 0);
  Outcome xnack = again("pageable", {{"HSA_XNACK", "1"}, {"SOFTGPU_GFX", "mi300a"}});
  CHECK(WIFEXITED(xnack.status) && WEXITSTATUS(xnack.status) == 0);
  Outcome touch = again(
      "host touch",
      {{"SOFTGPU_LARGE_BAR", "0"}, {"ASAN_OPTIONS", "handle_segv=0"}, {"TSAN_OPTIONS", "handle_segv=0"}});
  CHECK(WIFSIGNALED(touch.status) && WTERMSIG(touch.status) == SIGSEGV);
  Outcome bar = again("host touch", {{"SOFTGPU_LARGE_BAR", "1"}});
  CHECK(WIFEXITED(bar.status) && WEXITSTATUS(bar.status) == 0);
  Outcome wrong = again("soft", {{"SOFTGPU_GFX", "gfx1"}});
  CHECK(wrong.text.find("SOFTGPU_GFX=gfx1: no such chip") != std::string::npos);
}

void test_report(System&) {
  char path[] = "/tmp/softgpu-report-XXXXXX";
  int file = mkstemp(path);
  CHECK(file >= 0);
  again("soft", {{"SOFTGPU_REPORT", path}});
  again("freed", {{"SOFTGPU_REPORT", path}});
  again("killed", {{"SOFTGPU_REPORT", path}, {"SOFTGPU_KERNEL_US", "7"}});
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  CHECK(lines.size() == 3);
  if (lines.size() == 3) {
    CHECK(lines[0].find("\"agent:0xbeef\": 1") != std::string::npos);
    CHECK(lines[0].find("\"state\": \"ended\"") != std::string::npos);
    CHECK(lines[1].find("memory access fault: write") != std::string::npos);
    CHECK(lines[2].find("\"state\": \"running\"") != std::string::npos);
    CHECK(lines[2].find("\"kernel_us\": 7") != std::string::npos);
  }
  close(file);
  unlink(path);
}
