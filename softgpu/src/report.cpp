#include "report.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>

namespace sg::report {
namespace {

constexpr size_t kLine = 16384;  // bytes of one process's line, the newline included
constexpr size_t kCounters = 2048;

struct State {
  std::mutex mutex;
  Machine machine;
  std::string path;
  int file = -1;
  long offset = -1;
  pid_t owner = 0;
  bool ended = false;
  uint32_t used = 0;
  Counter counters[kCounters];
};

// Leaked: threads of the process may count while its static objects are destroyed.
State& state() {
  static State* instance = new State;
  return *instance;
}

void quote(std::string& out, std::string_view text) {
  out += '"';
  for (unsigned char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      out += static_cast<char>(c);
    }
  }
  out += '"';
}

std::string program() {
  char buffer[512];
  ssize_t length = readlink("/proc/self/exe", buffer, sizeof buffer);
  return length > 0 ? std::string(buffer, static_cast<size_t>(length)) : std::string();
}

// {"name": count, …}; entries that no longer fit into `room` bytes are summed up under "…".
std::string object(const State& s, Kind kind, size_t room) {
  std::string out = "{";
  uint64_t rest = 0;
  for (uint32_t i = 0; i < s.used; ++i) {
    const Counter& c = s.counters[i];
    uint64_t count = c.count.load(std::memory_order_relaxed);
    if (c.kind != kind || !count) continue;
    std::string entry = out.size() > 1 ? ", " : "";
    quote(entry, c.name);
    entry += ": " + std::to_string(count);
    if (out.size() + entry.size() > room) {
      rest += count;
    } else {
      out += entry;
    }
  }
  if (rest) out += std::string(out.size() > 1 ? ", " : "") + "\"…\": " + std::to_string(rest);
  return out + "}";
}

uint64_t total(const State& s, Kind kind) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < s.used; ++i) {
    if (s.counters[i].kind == kind) sum += s.counters[i].count.load(std::memory_order_relaxed);
  }
  return sum;
}

std::string line(const State& s) {
  const Machine& m = s.machine;
  std::string out = "{\"softgpu\": 1, \"pid\": " + std::to_string(getpid()) + ", \"program\": ";
  quote(out, program());
  out += std::string(", \"state\": ") + (s.ended ? "\"ended\"" : "\"running\"") + ", \"chip\": ";
  quote(out, m.chip);
  out += ", \"gfx\": ";
  quote(out, m.gfx);
  out += ", \"gpus\": " + std::to_string(m.gpus) + ", \"vram_mb\": " + std::to_string(m.vram_mb);
  out += std::string(", \"xnack\": ") + (m.xnack ? "true" : "false");
  out += std::string(", \"large_bar\": ") + (m.large_bar ? "true" : "false");
  out += ", \"faults\": " + (m.faults.empty() ? "{}" : m.faults);
  out += ", \"events\": " + object(s, Kind::kEvent, 2000);
  out += ", \"stubs\": " + object(s, Kind::kStub, 2000);
  out += ", \"unknown_attributes\": " + object(s, Kind::kUnknownAttribute, 1000);
  out += ", \"unknown_blits\": " + object(s, Kind::kUnknownBlit, 1000);
  out += ", \"soft\": " + object(s, Kind::kSoft, 1500);
  out += ", \"kernels\": {\"dispatched\": " + std::to_string(total(s, Kind::kKernel)) + ", \"executed\": 0}";
  out += ", \"blits\": " + object(s, Kind::kBlit, 1000);
  out += ", \"kernel_names\": " + object(s, Kind::kKernel, 5000) + "}";
  if (out.size() >= kLine) out = "{\"softgpu\": 1, \"error\": \"report line too long\"}";
  out.resize(kLine - 1, ' ');
  return out + "\n";
}

// Claims this process's place: O_APPEND makes the claim atomic among processes that share the file.
void claim(State& s, const std::string& text) {
  int file = open(s.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) {
    std::fprintf(stderr, "softgpu: cannot write the trust report %s: %s\n", s.path.c_str(),
                 std::strerror(errno));
    s.path.clear();
    return;
  }
  if (write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    s.offset = lseek(file, 0, SEEK_CUR) - static_cast<long>(kLine);
  }
  close(file);
  s.file = open(s.path.c_str(), O_WRONLY | O_CLOEXEC);
}

void write_line(State& s) {
  if (s.path.empty()) return;
  std::string text = line(s);
  if (s.owner != getpid()) {  // first time, or the child of a fork: a line of its own
    s.owner = getpid();
    if (s.file >= 0) close(s.file);
    s.file = -1;
    claim(s, text);
  } else if (s.file >= 0 && s.offset >= 0) {
    (void)!pwrite(s.file, text.data(), text.size(), s.offset);
  }
}

// 1, 2, 4, 8, …: a count that grows is written ever more rarely, one that appears is written at once.
bool worth_writing(uint64_t count) { return (count & (count - 1)) == 0; }

struct AtExit {
  ~AtExit() {
    State& s = state();
    std::unique_lock<std::mutex> lock(s.mutex, std::try_to_lock);
    // A forked child that never touched HSA says nothing.
    if (!lock.owns_lock() || s.owner != getpid()) return;
    s.ended = true;
    write_line(s);
  }
};
AtExit at_exit;

}  // namespace

void start(const std::string& path, const Machine& machine) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.machine = machine;
  s.path = path;
  write_line(s);
}

Counter* counter(Kind kind, const char* name) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  for (uint32_t i = 0; i < s.used; ++i) {
    Counter& c = s.counters[i];
    if (c.kind == kind && !std::strncmp(c.name, name, sizeof c.name - 1)) return &c;
  }
  if (s.used == kCounters) return &s.counters[kCounters - 1];
  Counter& c = s.counters[s.used++];
  c.kind = kind;
  std::snprintf(c.name, sizeof c.name, "%s", s.used == kCounters ? "…" : name);
  return &c;
}

void add(Counter* counter) {
  uint64_t count = counter->count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!worth_writing(count)) return;
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (s.owner) write_line(s);
}

void flush() {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (s.owner) write_line(s);
}

}  // namespace sg::report
