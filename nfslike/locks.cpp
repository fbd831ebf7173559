// Keep locks for real, on the files that are passed through, so that it can be said what was locked.
//
// flock(2) belongs to an open file, as here. A lock of a range belongs to a process (fcntl(2)), which the kernel names by
// a number: each process gets a descriptor of its own for each file that it locks, and on that an open file description
// lock, for which the kernel does the arithmetic. It is closed when the process closes the file, which ends its locks.
#include "locks.hpp"
#include "rules.hpp"

#include <cerrno>
#include <map>
#include <mutex>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace {
constexpr useconds_t turn = 5000; // microseconds between two tries for a lock that somebody else has

using Holder = std::tuple<dev_t, ino_t, uint64_t>;
std::mutex mutex;
std::map<Holder, int> descriptors;

Holder holder_of(int fd, uint64_t owner) {
  struct stat about = {};
  fstat(fd, &about);
  return {about.st_dev, about.st_ino, owner};
}

// Return the descriptor for the locks of one process on a file, or -1.
int descriptor(int fd, uint64_t owner) {
  std::lock_guard<std::mutex> hold(mutex);
  auto [found, fresh] = descriptors.emplace(holder_of(fd, owner), -1);
  if (fresh)
    found->second = open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC);
  int result = found->second;
  if (result < 0)
    descriptors.erase(found);
  return result;
}

void forget(int fd, uint64_t owner) {
  std::lock_guard<std::mutex> hold(mutex);
  if (auto found = descriptors.find(holder_of(fd, owner)); found != descriptors.end()) {
    close(found->second);
    descriptors.erase(found);
  }
}

// Try until it is had, is refused for good, or the caller has been interrupted. A blocking call of ours could not be.
template <typename Try> int patiently(bool wait, Try attempt) {
  while (attempt() < 0) {
    if (!wait || (errno != EAGAIN && errno != EACCES))
      return errno;
    if (fuse_interrupted())
      return EINTR;
    usleep(turn);
  }
  return 0;
}

int noted(const char *operation, const char *path, int error) {
  if (error != EAGAIN && error != EINTR)
    watch_log.note(operation, path[1] ? path + 1 : ".", error);
  return -error;
}

int take_range(int fd, uint64_t owner, bool wait, struct flock *range) {
  int own = descriptor(fd, owner);
  if (own < 0)
    return errno;
  struct flock wanted = *range;
  wanted.l_pid = 0; // as F_OFD_SETLK wants it
  return patiently(wait, [&] { return fcntl(own, F_OFD_SETLK, &wanted); });
}
} // namespace

int lock_range(const char *path, fuse_file_info *info, int command, struct flock *range) {
  int fd = static_cast<int>(info->fh);
  bool whole = range->l_start == 0 && range->l_len == 0;
  if (range->l_type == F_UNLCK && command != F_GETLK) {
    // libfuse asks for this at every close, too.
    if (whole)
      forget(fd, info->lock_owner);
    return whole ? 0 : -take_range(fd, info->lock_owner, false, range);
  }
  if (int refused = rules.refusal("fcntl lock", Kind::lock))
    return noted("fcntl lock", path, refused);
  if (command == F_GETLK) {
    int own = descriptor(fd, info->lock_owner);
    range->l_pid = 0;
    return own < 0 || fcntl(own, F_OFD_GETLK, range) < 0 ? -errno : 0;
  }
  return noted("fcntl lock", path, take_range(fd, info->lock_owner, command == F_SETLKW, range));
}

int lock_file(const char *path, fuse_file_info *info, int operation) {
  int fd = static_cast<int>(info->fh);
  if (operation & LOCK_UN)
    return flock(fd, LOCK_UN) < 0 ? -errno : 0;
  if (int refused = rules.refusal("flock", Kind::lock))
    return noted("flock", path, refused);
  bool wait = !(operation & LOCK_NB);
  return noted("flock", path, patiently(wait, [&] { return flock(fd, operation | LOCK_NB); }));
}
