#include <atomic>
#include <thread>

#include "check.hpp"

static void values() {
  hsa_signal_t s = make_signal(5);
  CHECK(hsa_signal_load_relaxed(s) == 5);
  hsa_signal_store_relaxed(s, 7);
  hsa_signal_add_relaxed(s, 3);
  hsa_signal_subtract_relaxed(s, 1);
  CHECK(hsa_signal_load_scacquire(s) == 9);
  CHECK(hsa_signal_exchange_relaxed(s, 12) == 9);
  CHECK(hsa_signal_cas_relaxed(s, 1, 2) == 12);
  CHECK(hsa_signal_cas_relaxed(s, 12, 2) == 12);
  hsa_signal_or_relaxed(s, 4);
  hsa_signal_and_relaxed(s, 6);
  hsa_signal_xor_relaxed(s, 1);
  CHECK(hsa_signal_load_relaxed(s) == 7);
  CHECK(hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_LT, 0, 1000000, HSA_WAIT_STATE_BLOCKED) == 7);
  OK(hsa_signal_destroy(s));
  GIVES(hsa_signal_destroy(s), HSA_STATUS_ERROR_INVALID_SIGNAL);
  GIVES(hsa_signal_destroy({0}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

static void ping_pong() {
  hsa_signal_t a = make_signal(0), b = make_signal(0);
  std::thread other([&] {
    for (int i = 1; i <= 2000; ++i) {
      hsa_signal_wait_scacquire(a, HSA_SIGNAL_CONDITION_EQ, i, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
      hsa_signal_store_screlease(b, i);
    }
  });
  for (int i = 1; i <= 2000; ++i) {
    hsa_signal_store_screlease(a, i);
    hsa_signal_wait_scacquire(b, HSA_SIGNAL_CONDITION_GTE, i, UINT64_MAX, HSA_WAIT_STATE_ACTIVE);
  }
  other.join();
  OK(hsa_signal_destroy(a));
  OK(hsa_signal_destroy(b));
}

// A value that changes behind the runtime's back is seen as well.
static void silent_change() {
  hsa_signal_t s = make_signal(1);
  volatile hsa_signal_value_t* at = nullptr;
  OK(hsa_amd_signal_value_pointer(s, &at));
  std::thread other([at] {
    usleep(3000);
    __atomic_store_n(at, 0, __ATOMIC_RELEASE);
  });
  wait_zero(s);
  other.join();
  OK(hsa_signal_destroy(s));
}

static void any_of_many() {
  hsa_signal_t list[3] = {make_signal(1), make_signal(1), make_signal(1)};
  hsa_signal_condition_t conditions[3] = {HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_EQ,
                                          HSA_SIGNAL_CONDITION_EQ};
  hsa_signal_value_t compares[3] = {0, 0, 0}, seen = 9;
  CHECK(hsa_amd_signal_wait_any(3, list, conditions, compares, 1000000, HSA_WAIT_STATE_BLOCKED, &seen) ==
        UINT32_MAX);
  std::thread other([&] { hsa_signal_store_relaxed(list[2], 0); });
  CHECK(hsa_amd_signal_wait_any(3, list, conditions, compares, UINT64_MAX, HSA_WAIT_STATE_BLOCKED, &seen) ==
        2);
  CHECK(seen == 0);
  other.join();
  for (hsa_signal_t s : list) OK(hsa_signal_destroy(s));
}

static std::atomic<int> handled{0};

static void handlers() {
  hsa_signal_t done = make_signal(1000);
  std::vector<hsa_signal_t> list(1000);
  for (auto& s : list) {
    s = make_signal(1);
    OK(hsa_amd_signal_async_handler(
        s, HSA_SIGNAL_CONDITION_LT, 1,
        [](hsa_signal_value_t, void* raw) {
          ++handled;
          hsa_signal_subtract_relaxed(*static_cast<hsa_signal_t*>(raw), 1);
          return false;
        },
        &done));
  }
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&list, t] {
      for (size_t i = t; i < list.size(); i += 4) hsa_signal_subtract_relaxed(list[i], 1);
    });
  }
  for (auto& thread : threads) thread.join();
  wait_zero(done);
  CHECK(handled == 1000);
  // A handler that returns true stays.
  static std::atomic<int> repeats{0};
  hsa_signal_t s = make_signal(0);
  OK(hsa_amd_signal_async_handler(
      s, HSA_SIGNAL_CONDITION_EQ, 0, [](hsa_signal_value_t, void*) { return ++repeats < 3; }, nullptr));
  while (repeats < 3) usleep(1000);
  usleep(5000);
  CHECK(repeats == 3);
  for (hsa_signal_t one : list) OK(hsa_signal_destroy(one));
  OK(hsa_signal_destroy(s));
  OK(hsa_signal_destroy(done));
}

// HIP destroys its objects and then shuts the runtime down: no handler may touch them afterwards. That includes those
// of a process that starts the runtime again.
void test_shut_down() {
  for (int round = 0; round < 3; ++round) {
    if (round) OK(hsa_init());
    static std::atomic<int> begun{0}, ended{0};
    begun = ended = 0;
    hsa_signal_t signals[2] = {make_signal(1), make_signal(1)};
    for (hsa_signal_t& signal : signals) {
      OK(hsa_amd_signal_async_handler(
          signal, HSA_SIGNAL_CONDITION_LT, 1,
          [](hsa_signal_value_t, void*) {
            ++begun;
            usleep(50000);
            ++ended;
            return false;
          },
          nullptr));
    }
    for (hsa_signal_t& signal : signals) hsa_signal_store_relaxed(signal, 0);
    while (!begun) usleep(100);
    OK(hsa_shut_down());
    const int before = begun;
    CHECK(before == ended);
    usleep(120000);
    CHECK(begun == before);
  }
}

void test_signals(System&) {
  values();
  ping_pong();
  silent_change();
  any_of_many();
  handlers();
}
