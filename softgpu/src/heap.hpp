// The memory of one GPU: one memfd as large as the chip's VRAM, seen twice.
//
// Programs get addresses in the "device" window. Where the real chip hides its memory from the host that
// window has no access rights, so a host that dereferences a device pointer dies as on hardware. The runtime
// itself reads and writes through the "alias" window. Pages exist only once touched.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace sg {

class Heap {
 public:
  // False when the kernel refuses the mappings.
  bool create(const char* name, uint64_t size, bool host_visible);

  // Offset of `size` free bytes; false when there are none left.
  bool allocate(uint64_t size, uint64_t* offset);
  void release(uint64_t offset, uint64_t size);

  // Memory that is accounted to this GPU but lives elsewhere (virtual memory handles).
  bool charge(uint64_t size);
  void discharge(uint64_t size);

  // Gives the host the device addresses of an allocation, or takes them away. No effect where the chip hides
  // them.
  void expose(uint64_t offset, uint64_t size, bool visible);

  uint64_t size() const { return size_; }
  uint64_t used();
  int file() const { return file_; }
  bool host_visible() const { return host_visible_; }
  uintptr_t device(uint64_t offset) const { return device_ + offset; }
  char* alias(uint64_t offset) const { return alias_ + offset; }
  uint64_t offset(uintptr_t device_address) const { return device_address - device_; }

 private:
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> free_;  // offset -> bytes
  uint64_t size_ = 0;
  uint64_t used_ = 0;
  int file_ = -1;
  bool host_visible_ = false;
  uintptr_t device_ = 0;
  char* alias_ = nullptr;
};

constexpr uint64_t kPage = 4096;
inline uint64_t page_up(uint64_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

}  // namespace sg
