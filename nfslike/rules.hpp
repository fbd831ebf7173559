// What the file system does as an NFS export would, and the log of what was asked of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <sys/types.h>

// What an operation does; the behaviours go by it.
enum class Kind { attribute, read, change, lock };

struct Rules {
  bool squash = false;
  bool no_locks = false;
  bool read_only = false;
  int64_t full = -1;          // bytes until the space is used up; -1: never
  double stale = -1;          // seconds until handles are stale; -1: never
  std::set<std::string> stale_on; // of these operations; empty: of all
  int slow = 0;               // milliseconds that an attribute call takes
  std::string watch;          // the name below the root under which the log can be read
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  // Return the error with which an operation is refused before it is tried, or 0.
  int refusal(const std::string &operation, Kind kind) const;
  // Take space, or give it back; return ENOSPC when there is not so much left.
  int take(int64_t bytes);
  int64_t left();

private:
  std::mutex mutex;
  int64_t used = 0;
};

// What was asked for under the root: changes that went well, and everything that failed.
class Log {
public:
  void note(const std::string &operation, const std::string &path, int error, int64_t bytes = 0);
  // Write the entries as JSON Lines, and begin anew.
  std::string take();

private:
  struct Entry {
    int64_t count = 0;
    int64_t bytes = 0;
  };
  std::mutex mutex;
  std::map<std::tuple<std::string, std::string, int>, Entry> entries;
  int64_t left_out = 0;
};

extern Rules rules;
extern Log watch_log;
extern int root; // the directory that is passed through
