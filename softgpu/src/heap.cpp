#include "heap.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memfd.hpp"

namespace sg {
namespace {

// Large allocations start on a fragment, as the driver lays them out.
// https://github.com/ROCm/ROCR-Runtime/blob/rocm-6.2.4/runtime/hsa-runtime/core/inc/amd_memory_region.h
constexpr uint64_t kFragment = 2 << 20;

void* map(uint64_t size, int protection, int file) {
  void* at = mmap(nullptr, size, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (at == MAP_FAILED) return nullptr;
  madvise(at, size, MADV_DONTDUMP);  // a core file of 64 GB helps nobody
  madvise(at, size, MADV_DONTFORK);  // as the driver does: a forked child has no GPU memory
  return at;
}

}  // namespace

bool Heap::create(const char* name, uint64_t size, bool host_visible) {
  size_ = size;
  host_visible_ = host_visible;
  file_ = make_memfd(name, size);
  if (file_ < 0) return false;
  device_ = reinterpret_cast<uintptr_t>(map(size, PROT_NONE, file_));
  alias_ = static_cast<char*>(map(size, PROT_READ | PROT_WRITE, file_));
  // The first fragment stays free, so that a small negative offset from a first allocation faults.
  free_[kFragment] = size - kFragment;
  return device_ && alias_;
}

bool Heap::allocate(uint64_t size, uint64_t* offset) {
  size = page_up(size);
  uint64_t align = size >= kFragment ? kFragment : kPage;
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    uint64_t begin = it->first, end = it->first + it->second;
    uint64_t start = (begin + align - 1) & ~(align - 1);
    if (start + size > end || start + size < start) continue;
    free_.erase(it);
    if (start > begin) free_[begin] = start - begin;
    if (start + size < end) free_[start + size] = end - start - size;
    used_ += size;
    *offset = start;
    return true;
  }
  return false;
}

void Heap::release(uint64_t offset, uint64_t size) {
  size = page_up(size);
  // Gives the pages back and makes a later allocation start from zeros, as the driver clears VRAM.
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(size));
  std::lock_guard<std::mutex> lock(mutex_);
  used_ -= size;
  auto next = free_.upper_bound(offset);
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  if (next != free_.end() && offset + size == next->first) {
    size += next->second;
    free_.erase(next);
  }
  free_[offset] = size;
}

void Heap::expose(uint64_t offset, uint64_t size, bool visible) {
  if (!host_visible_) return;
  mprotect(reinterpret_cast<void*>(device(offset)), page_up(size),
           visible ? PROT_READ | PROT_WRITE : PROT_NONE);
}

bool Heap::charge(uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (used_ + size > size_) return false;
  used_ += size;
  return true;
}

void Heap::discharge(uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  used_ -= size;
}

uint64_t Heap::used() {
  std::lock_guard<std::mutex> lock(mutex_);
  return used_;
}

}  // namespace sg
