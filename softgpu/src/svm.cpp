// Shared virtual memory attributes. They are kept and given back; nothing migrates.
#include <algorithm>
#include <map>
#include <mutex>

#include "memory.hpp"
#include "report.hpp"
#include "signals.hpp"

namespace sg {
namespace {

struct Range {
  uintptr_t begin = 0, end = 0;
  std::map<uint64_t, uint64_t> values;  // attribute -> value
  std::map<uint64_t, uint64_t> access;  // agent -> one of the three kSvmAgent… attributes
};

struct Table {
  std::mutex mutex;
  std::vector<Range> ranges;  // the last one that covers an address wins
};

Table& table() {
  static Table* instance = new Table;
  return *instance;
}

bool is_access(uint64_t attribute) {
  return attribute >= abi::kSvmAgentAccessible && attribute <= abi::kSvmAgentNoAccess;
}

// Value of an attribute of the page at `address`; the defaults are those of the Linux driver.
uint64_t value_of(const Table& t, uintptr_t address, uint64_t attribute, uint64_t agent) {
  uint64_t found = 0;
  if (attribute == abi::kSvmMigrationGranularity) found = 9;
  if (attribute == abi::kSvmAccessQuery) {
    found = runtime().xnack ? abi::kSvmAgentAccessible : abi::kSvmAgentNoAccess;
    Agent* asked = agent_of({agent});
    if (asked && !asked->gpu) found = abi::kSvmAgentAccessibleInPlace;
  }
  for (const Range& range : t.ranges) {
    if (address < range.begin || address >= range.end) continue;
    const auto& values = attribute == abi::kSvmAccessQuery ? range.access : range.values;
    auto it = values.find(attribute == abi::kSvmAccessQuery ? agent : attribute);
    if (it != values.end()) found = it->second;
  }
  return found;
}

hsa_status_t check(void* pointer, size_t size, const void* list, size_t count) {
  SG_REQUIRE_INIT();
  report::add(report::Kind::kSoft, "SVM attributes");
  SG_REQUIRE(pointer && size && list && count, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(runtime().hmm, HSA_STATUS_ERROR);
  return HSA_STATUS_SUCCESS;
}

}  // namespace

namespace svm {

bool accessible(uintptr_t address, uint32_t agents) {
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  if (t.ranges.empty()) return false;
  for (Agent* agent : runtime().gpus) {
    if (!(agents & agent->bit())) continue;
    uint64_t access = value_of(t, address, abi::kSvmAccessQuery, agent->handle().handle);
    if (access == abi::kSvmAgentAccessible || access == abi::kSvmAgentAccessibleInPlace) return true;
  }
  return false;
}

}  // namespace svm
}  // namespace sg

using namespace sg;

SG_API hsa_status_t hsa_amd_svm_attributes_set(void* pointer, size_t size, hsa_amd_svm_attribute_pair_t* list,
                                               size_t count) {
  hsa_status_t status = check(pointer, size, list, count);
  if (status != HSA_STATUS_SUCCESS) return status;
  Range range;
  range.begin = reinterpret_cast<uintptr_t>(pointer) & ~(kPage - 1);
  range.end = page_up(reinterpret_cast<uintptr_t>(pointer) + size);
  for (size_t i = 0; i < count; ++i) {
    if (is_access(list[i].attribute)) {
      SG_REQUIRE(agent_of({list[i].value}), HSA_STATUS_ERROR_INVALID_AGENT);
      range.access[list[i].value] = list[i].attribute;
    } else {
      SG_REQUIRE(list[i].attribute <= abi::kSvmGpuExec, HSA_STATUS_ERROR_INVALID_ARGUMENT);
      range.values[list[i].attribute] = list[i].value;
    }
  }
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  // One that is covered wholly and says nothing else would only pile up.
  for (Range& old : t.ranges) {
    if (old.begin != range.begin || old.end != range.end) continue;
    for (auto& [key, value] : range.values) old.values[key] = value;
    for (auto& [key, value] : range.access) old.access[key] = value;
    std::rotate(&old, &old + 1, t.ranges.data() + t.ranges.size());
    return HSA_STATUS_SUCCESS;
  }
  t.ranges.push_back(range);
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_svm_attributes_get(void* pointer, size_t size, hsa_amd_svm_attribute_pair_t* list,
                                               size_t count) {
  hsa_status_t status = check(pointer, size, list, count);
  if (status != HSA_STATUS_SUCCESS) return status;
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  for (size_t i = 0; i < count; ++i) {
    uint64_t answer = value_of(t, address, list[i].attribute, list[i].value);
    // An access query names the agent in `value` and is answered in `attribute`.
    if (list[i].attribute == abi::kSvmAccessQuery) {
      list[i].attribute = answer;
    } else {
      list[i].value = answer;
    }
  }
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_amd_svm_prefetch_async(void* pointer, size_t size, hsa_agent_t agent, uint32_t count,
                                               const hsa_signal_t* dependencies, hsa_signal_t completion) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(pointer && size, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(agent_of(agent), HSA_STATUS_ERROR_INVALID_AGENT);
  hsa_amd_svm_attribute_pair_t where = {abi::kSvmPrefetchLocation, agent.handle};
  hsa_status_t status = hsa_amd_svm_attributes_set(pointer, size, &where, 1);
  if (status != HSA_STATUS_SUCCESS) return status;
  struct Pending {
    std::vector<Signal*> dependencies;
    Signal* completion;
  };
  auto* pending = new Pending{{}, signals::of(completion)};
  for (uint32_t i = 0; i < count; ++i) {
    if (Signal* signal = signals::of(dependencies[i])) pending->dependencies.push_back(signal);
  }
  spawn(
      "softgpu-prefetch",
      [](void* raw) {
        std::unique_ptr<Pending> job(static_cast<Pending*>(raw));
        for (Signal* signal : job->dependencies)
          signals::wait(signal, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX);
        if (job->completion) signals::add(job->completion, -1);
      },
      pending);
  return HSA_STATUS_SUCCESS;
}
