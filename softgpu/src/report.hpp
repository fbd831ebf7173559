// The trust report: what a verdict about this process may wrongly rest on.
//
// Every process that initialises HSA owns one line of $SOFTGPU_REPORT, padded to a fixed width, and rewrites
// it in place as the facts come in. So a process that aborts, hangs or is killed leaves its report as well,
// without any signal handler in a program under test.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace sg::report {

enum class Kind : uint8_t { kStub, kUnknownAttribute, kKernel, kBlit, kUnknownBlit, kSoft, kEvent };

struct Counter {
  std::atomic<uint64_t> count{0};
  Kind kind = Kind::kStub;
  char name[160] = {};
};

// What the report says of the machine that was played.
struct Machine {
  std::string chip;
  std::string gfx;
  uint32_t gpus = 0;
  uint64_t vram_mb = 0;
  bool xnack = false;
  bool large_bar = false;
  std::string faults;  // JSON object of the active SOFTGPU_* faults
};

void start(const std::string& path, const Machine& machine);

// The counter of that name; never null (names beyond the table's size share one called "…").
Counter* counter(Kind kind, const char* name);
void add(Counter* counter);
inline void add(Kind kind, const char* name) { add(counter(kind, name)); }

// Writes the line now. Called at the end of the process and before anything that ends it.
void flush();

}  // namespace sg::report
