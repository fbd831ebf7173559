#include "memfd.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <mutex>

namespace sg {

namespace {

// A GPU's memory is a large sparse file, and no file that a user wanted to bound with `ulimit -f`: the soft limit gives
// way while the file gets its size (else SIGXFSZ, setrlimit(2)).
class UnboundedFileSize {
 public:
  UnboundedFileSize() {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit unbounded = {before_.rlim_max, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &unbounded);
  }
  UnboundedFileSize(const UnboundedFileSize&) = delete;
  UnboundedFileSize& operator=(const UnboundedFileSize&) = delete;
  ~UnboundedFileSize() { setrlimit(RLIMIT_FSIZE, &before_); }

  bool allows(std::size_t size) const { return before_.rlim_max == RLIM_INFINITY || size <= before_.rlim_max; }

 private:
  rlimit before_ = {};
};

}  // namespace

int make_memfd(const char* name, std::size_t size) {
  static std::mutex* guard = new std::mutex;  // the limit is the process's; never destroyed: HIP calls in late
  std::lock_guard<std::mutex> lock(*guard);
  UnboundedFileSize unbounded;
  if (!unbounded.allows(size)) return -1;
  int file = memfd_create(name, MFD_CLOEXEC);
  if (file < 0) return -1;
  if (ftruncate(file, static_cast<off_t>(size))) {
    close(file);
    return -1;
  }
  return file;
}

}  // namespace sg
