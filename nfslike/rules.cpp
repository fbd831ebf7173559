#include "rules.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

Rules rules;
Log watch_log;
int root = -1;

namespace {
constexpr size_t most_entries = 400;
constexpr int64_t block = 4096;

std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (unsigned char letter : text) {
    // Bytes outside ASCII become \u00XX: a path is bytes, and the reader has to have valid JSON.
    if (letter < 0x20 || letter >= 0x7f || letter == '"' || letter == '\\') {
      char escape[8];
      snprintf(escape, sizeof escape, "\\u%04x", letter);
      out += escape;
    } else {
      out += static_cast<char>(letter);
    }
  }
  return out + "\"";
}
} // namespace

int Rules::refusal(const std::string &operation, Kind kind) const {
  if (slow && kind == Kind::attribute)
    std::this_thread::sleep_for(std::chrono::milliseconds(slow));
  std::chrono::duration<double> age = std::chrono::steady_clock::now() - start;
  if (stale >= 0 && age.count() >= stale && (stale_on.empty() || stale_on.count(operation)))
    return ESTALE;
  if (read_only && kind == Kind::change)
    return EROFS;
  if (no_locks && kind == Kind::lock)
    return ENOLCK;
  return 0;
}

int Rules::take(int64_t bytes) {
  if (full < 0)
    return 0;
  std::lock_guard<std::mutex> hold(mutex);
  if (bytes > 0 && used + bytes > full)
    return ENOSPC;
  used = used + bytes < 0 ? 0 : used + bytes;
  return 0;
}

int64_t Rules::left() {
  std::lock_guard<std::mutex> hold(mutex);
  return full < 0 ? INT64_MAX : (full - used) / block * block;
}

void Log::note(const std::string &operation, const std::string &path, int error, int64_t bytes) {
  std::lock_guard<std::mutex> hold(mutex);
  auto key = std::make_tuple(operation, path, error);
  auto found = entries.find(key);
  if (found == entries.end()) {
    if (entries.size() >= most_entries) {
      ++left_out;
      return;
    }
    found = entries.emplace(key, Entry{}).first;
  }
  ++found->second.count;
  found->second.bytes += bytes;
}

std::string Log::take() {
  std::lock_guard<std::mutex> hold(mutex);
  std::string out;
  for (const auto &[key, entry] : entries) {
    const auto &[operation, path, error] = key;
    const char *name = error ? strerrorname_np(error) : nullptr;
    out += "{\"op\": " + quoted(operation) + ", \"path\": " + quoted(path);
    out += name ? ", \"errno\": " + quoted(name) : "";
    out += ", \"count\": " + std::to_string(entry.count) + ", \"bytes\": " + std::to_string(entry.bytes) + "}\n";
  }
  if (left_out)
    out += "{\"left_out\": " + std::to_string(left_out) + "}\n";
  entries.clear();
  left_out = 0;
  return out;
}
