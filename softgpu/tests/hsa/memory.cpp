#include <sys/mman.h>

#include <thread>

#include "check.hpp"

namespace {

void allocation(System& system) {
  void* p = nullptr;
  OK(hsa_amd_memory_pool_allocate(system.device, 100, 0, &p));
  hsa_amd_pointer_info_t info = {};
  info.size = sizeof info;
  uint32_t count = 0;
  hsa_agent_t* agents = nullptr;
  OK(hsa_amd_pointer_info(p, &info, malloc, &count, &agents));
  CHECK(info.type == HSA_EXT_POINTER_TYPE_HSA && info.agentBaseAddress == p && info.sizeInBytes == 100);
  CHECK(info.agentOwner.handle == system.gpus[0].handle && count == 1 &&
        agents[0].handle == system.gpus[0].handle);
  free(agents);
  OK(hsa_amd_pointer_info_set_userdata(p, &info));
  OK(hsa_amd_pointer_info(static_cast<char*>(p) + 99, &info, nullptr, nullptr, nullptr));
  CHECK(info.userData == &info);
  OK(hsa_amd_memory_pool_free(p));
  OK(hsa_amd_pointer_info(p, &info, nullptr, nullptr, nullptr));
  CHECK(info.type == HSA_EXT_POINTER_TYPE_UNKNOWN);
  GIVES(hsa_amd_memory_pool_free(p), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  size_t size = 0;
  OK(hsa_amd_memory_pool_get_info(system.device, HSA_AMD_MEMORY_POOL_INFO_SIZE, &size));
  CHECK(hsa_amd_memory_pool_allocate(system.device, size + 4096, 0, &p) != HSA_STATUS_SUCCESS);
  // Fragmentation: holes are found and joined again.
  std::vector<void*> many(500);
  for (auto& one : many) OK(hsa_amd_memory_pool_allocate(system.device, 5000, 0, &one));
  for (size_t i = 0; i < many.size(); i += 2) OK(hsa_amd_memory_pool_free(many[i]));
  for (size_t i = 1; i < many.size(); i += 2) OK(hsa_amd_memory_pool_free(many[i]));
  OK(hsa_amd_memory_pool_allocate(system.device, size - (4 << 20), 0, &p));
  OK(hsa_amd_memory_pool_free(p));
}

void copies(System& system) {
  constexpr size_t kSize = 1 << 20;
  void *host = nullptr, *back = nullptr, *first = nullptr, *second = nullptr;
  OK(hsa_amd_memory_pool_allocate(system.host, kSize, 0, &host));
  OK(hsa_amd_memory_pool_allocate(system.host, kSize, 0, &back));
  OK(hsa_amd_memory_pool_allocate(system.device, kSize, 0, &first));
  OK(hsa_amd_memory_pool_allocate(system.device, kSize, 0, &second));
  for (void* p : {host, back}) OK(hsa_amd_agents_allow_access(2, system.gpus.data(), nullptr, p));
  for (size_t i = 0; i < kSize; ++i) static_cast<unsigned char*>(host)[i] = static_cast<unsigned char>(i * 7);
  copy(first, system.gpus[0], host, system.cpu, kSize);
  copy(second, system.gpus[0], first, system.gpus[0], kSize);
  copy(back, system.cpu, second, system.gpus[0], kSize);
  CHECK(std::memcmp(host, back, kSize) == 0);
  OK(hsa_amd_memory_fill(first, 0x01020304, kSize / 4));
  copy(back, system.cpu, first, system.gpus[0], kSize);
  CHECK(static_cast<uint32_t*>(back)[0] == 0x01020304 &&
        static_cast<uint32_t*>(back)[kSize / 4 - 1] == 0x01020304);
  // A copy waits for its dependency.
  hsa_signal_t gate = make_signal(1), done = make_signal(1);
  OK(hsa_amd_memory_async_copy(back, system.cpu, second, system.gpus[0], 16, 1, &gate, done));
  CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 3000000, HSA_WAIT_STATE_BLOCKED) == 1);
  hsa_signal_store_relaxed(gate, 0);
  wait_zero(done);
  CHECK(std::memcmp(host, back, 16) == 0);
  OK(hsa_signal_destroy(gate));
  OK(hsa_signal_destroy(done));
  for (void* p : {host, back, first, second}) OK(hsa_amd_memory_pool_free(p));
}

void parallel(System& system) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&system, t] {
      for (int i = 0; i < 50; ++i) {
        void *device = nullptr, *host = nullptr;
        OK(hsa_amd_memory_pool_allocate(system.device, 10000, 0, &device));
        OK(hsa_amd_memory_pool_allocate(system.host, 10000, 0, &host));
        OK(hsa_amd_agents_allow_access(1, system.gpus.data(), nullptr, host));
        std::memset(host, t, 10000);
        copy(device, system.gpus[0], host, system.cpu, 10000);
        std::memset(host, 99, 10000);
        copy(host, system.cpu, device, system.gpus[0], 10000);
        CHECK(static_cast<char*>(host)[9999] == t);
        OK(hsa_amd_memory_pool_free(device));
        OK(hsa_amd_memory_pool_free(host));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

void locking(System& system) {
  std::vector<char> bytes(50000, 1);
  void *agent = nullptr, *device = nullptr;
  OK(hsa_amd_memory_lock(bytes.data(), bytes.size(), nullptr, 0, &agent));
  OK(hsa_amd_memory_pool_allocate(system.device, bytes.size(), 0, &device));
  copy(device, system.gpus[0], agent, system.cpu, bytes.size());
  std::fill(bytes.begin(), bytes.end(), 0);
  copy(agent, system.cpu, device, system.gpus[0], bytes.size());
  CHECK(bytes.front() == 1 && bytes.back() == 1);
  hsa_amd_pointer_info_t info = {};
  info.size = sizeof info;
  OK(hsa_amd_pointer_info(bytes.data(), &info, nullptr, nullptr, nullptr));
  CHECK(info.type == HSA_EXT_POINTER_TYPE_LOCKED);
  OK(hsa_amd_memory_unlock(bytes.data()));
  OK(hsa_amd_pointer_info(bytes.data(), &info, nullptr, nullptr, nullptr));
  CHECK(info.type == HSA_EXT_POINTER_TYPE_UNKNOWN);
  void* hole = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(static_cast<char*>(hole) + 4096, 4096);
  CHECK(hsa_amd_memory_lock(hole, 8192, nullptr, 0, &agent) != HSA_STATUS_SUCCESS);
  munmap(hole, 4096);
  OK(hsa_amd_memory_pool_free(device));
}

}  // namespace

void test_memory(System& system) {
  allocation(system);
  copies(system);
  parallel(system);
  locking(system);
}
