// Checks for the tests at HSA level. They are linked with the library's objects, so that sanitizers see all
// of it.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

inline int failures = 0;

inline void check_at(bool holds, const char* text, const char* file, int line) {
  if (holds) return;
  ++failures;
  std::printf("%s:%d: %s\n", file, line, text);
}

#define CHECK(condition) check_at((condition), #condition, __FILE__, __LINE__)
#define OK(call) check_at((call) == HSA_STATUS_SUCCESS, #call, __FILE__, __LINE__)
#define GIVES(call, status) \
  check_at(static_cast<int>(call) == static_cast<int>(status), #call " gives " #status, __FILE__, __LINE__)

struct System {
  hsa_agent_t cpu = {};
  std::vector<hsa_agent_t> gpus;
  hsa_amd_memory_pool_t host = {}, device = {};
};

inline System find_system() {
  System system;
  OK(hsa_init());
  OK(hsa_iterate_agents(
      [](hsa_agent_t agent, void* raw) {
        auto& found = *static_cast<System*>(raw);
        hsa_device_type_t type;
        OK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
        if (type == HSA_DEVICE_TYPE_GPU) found.gpus.push_back(agent);
        if (type == HSA_DEVICE_TYPE_CPU) found.cpu = agent;
        return HSA_STATUS_SUCCESS;
      },
      &system));
  auto first_pool = [](hsa_agent_t agent) {
    hsa_amd_memory_pool_t pool = {};
    hsa_amd_agent_iterate_memory_pools(
        agent,
        [](hsa_amd_memory_pool_t p, void* raw) {
          *static_cast<hsa_amd_memory_pool_t*>(raw) = p;
          return HSA_STATUS_INFO_BREAK;
        },
        &pool);
    return pool;
  };
  system.host = first_pool(system.cpu);
  system.device = first_pool(system.gpus[0]);
  return system;
}

inline hsa_signal_t make_signal(hsa_signal_value_t value) {
  hsa_signal_t signal = {};
  OK(hsa_signal_create(value, 0, nullptr, &signal));
  return signal;
}

inline void wait_zero(hsa_signal_t signal) {
  hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
}

// Copies and waits.
inline void copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, size_t size) {
  hsa_signal_t done = make_signal(1);
  OK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, 0, nullptr, done));
  wait_zero(done);
  OK(hsa_signal_destroy(done));
}

// Runs this program again as `name` with further variables; gives its wait status and what it printed.
struct Outcome {
  int status = 0;
  std::string text;
};
inline Outcome again(const char* name, const std::vector<std::pair<const char*, const char*>>& variables) {
  Outcome outcome;
  int pipes[2];
  if (pipe(pipes)) return outcome;
  pid_t pid = fork();
  if (pid == 0) {
    for (auto& [key, value] : variables) setenv(key, value, 1);
    dup2(pipes[1], 1);
    dup2(pipes[1], 2);
    close(pipes[0]);
    execl("/proc/self/exe", "again", name, nullptr);
    _exit(99);
  }
  close(pipes[1]);
  char buffer[4096];
  for (ssize_t got; (got = read(pipes[0], buffer, sizeof buffer)) > 0;)
    outcome.text.append(buffer, static_cast<size_t>(got));
  close(pipes[0]);
  waitpid(pid, &outcome.status, 0);
  return outcome;
}

void test_signals(System&);
void test_shut_down();
void test_queues(System&);
void test_memory(System&);
void test_virtual_memory(System&);
void test_newer(System&);
void test_faults(System&);
void test_report(System&);
int act(const std::string& what);  // what again() runs
