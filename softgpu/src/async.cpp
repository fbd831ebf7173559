#include "async.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>

#include "report.hpp"
#include "signals.hpp"

namespace sg::async {
namespace {

struct Handler {
  Signal* signal = nullptr;  // nullptr: runs at once, one time (hsa_amd_async_function)
  hsa_signal_condition_t condition = HSA_SIGNAL_CONDITION_EQ;
  hsa_signal_value_t compare = 0;
  hsa_amd_signal_handler handler = nullptr;
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
};

struct Dispatcher {
  std::mutex mutex;
  std::condition_variable ended;
  std::list<Handler> added;  // not yet seen by the thread
  bool running = false;
  std::atomic<bool> ending{false};
  std::atomic<pid_t> process{0}, thread{0};  // of the thread: a forked child has none
};

Dispatcher& dispatcher() {
  static Dispatcher* instance = new Dispatcher;
  return *instance;
}

// One event for everybody who watches more than one signal.
std::atomic<uint32_t> changes{0};
std::atomic<uint32_t> sleepers{0};

void sleep_for(uint32_t seen, long nanoseconds) {
  timespec timeout = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  sleepers.fetch_add(1);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&changes), FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
  sleepers.fetch_sub(1);
}

// Runs a handler whose time has come; true when it is done with for good.
bool ran_out(Handler& h) {
  if (!h.signal) {
    h.function(h.argument);
    return true;
  }
  hsa_signal_value_t value = signals::load(h.signal);
  if (!signals::holds(h.condition, value, h.compare)) return h.signal->state.load() != signals::kLive;
  h.signal->watched.fetch_sub(1);
  if (!h.handler(value, h.argument)) return true;  // the signal may be gone by now
  h.signal->watched.fetch_add(1);
  return false;
}

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

void run(void*) {
  Dispatcher& d = dispatcher();
  d.thread.store(this_thread());
  std::list<Handler> watched;
  while (!d.ending.load()) {
    uint32_t seen = changes.load();
    {
      std::lock_guard<std::mutex> lock(d.mutex);
      watched.splice(watched.end(), d.added);
    }
    bool worked = false;
    for (auto it = watched.begin(); it != watched.end() && !d.ending.load();) {
      if (ran_out(*it)) {
        it = watched.erase(it);
        worked = true;
      } else {
        ++it;
      }
    }
    // Values may change without a call, so a list that is not empty is looked at every millisecond.
    if (!worked && !d.ending.load()) sleep_for(seen, watched.empty() ? 1000000000 : 1000000);
  }
  std::lock_guard<std::mutex> lock(d.mutex);
  d.added.clear();
  d.running = false;
  d.ending.store(false);
  d.ended.notify_all();
}

void add(const Handler& handler) {
  Dispatcher& d = dispatcher();
  {
    std::lock_guard<std::mutex> lock(d.mutex);
    d.added.push_back(handler);
    if (!d.running) {
      d.process.store(getpid());
      d.thread.store(0);
      d.running = spawn("softgpu-async", run, nullptr);
    }
  }
  value_changed();
}

}  // namespace

void value_changed() {
  changes.fetch_add(1);
  if (!sleepers.load()) return;
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&changes), FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr,
          0);
}

void end() {
  Dispatcher& d = dispatcher();
  std::unique_lock<std::mutex> lock(d.mutex);
  if (!d.running || d.process.load() != getpid()) return;
  d.ending.store(true);
  value_changed();
  // A handler that ends the process waits for nobody: it is what would be waited for.
  if (d.thread.load() == this_thread()) return;
  d.ended.wait(lock, [&d] { return !d.running; });
}

void settle() {
  Dispatcher& d = dispatcher();
  static bool settled = false;
  {
    std::unique_lock<std::mutex> lock(d.mutex);
    if (!d.running || d.process.load() != getpid() || d.thread.load() == this_thread()) return;
    settled = false;
  }
  Handler last;  // it comes after all others
  last.function = [](void*) {
    std::lock_guard<std::mutex> lock(dispatcher().mutex);
    settled = true;
    dispatcher().ended.notify_all();
  };
  add(last);
  std::unique_lock<std::mutex> lock(d.mutex);
  d.ended.wait_for(lock, std::chrono::seconds(2), [&d] { return settled || !d.running; });
}

uint32_t ticket() { return changes.load(); }
void sleep(uint32_t ticket) { sleep_for(ticket, 1000000); }

}  // namespace sg::async

using namespace sg;

SG_API hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t handle, hsa_signal_condition_t condition,
                                                 hsa_signal_value_t compare, hsa_amd_signal_handler handler,
                                                 void* argument) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(handler, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Signal* signal = signals::of(handle);
  SG_REQUIRE(signal, HSA_STATUS_ERROR_INVALID_SIGNAL);
  async::Handler entry;
  entry.signal = signal;
  entry.condition = condition;
  entry.compare = compare;
  entry.handler = handler;
  entry.argument = argument;
  signal->watched.fetch_add(1);
  async::add(entry);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_async_function(void (*function)(void*), void* argument) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(function, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  async::Handler entry;
  entry.function = function;
  entry.argument = argument;
  async::add(entry);
  return HSA_STATUS_SUCCESS;
}
