// hipStreamWriteValue, hipStreamWaitValue, hipStreamBatchMemOp, and the kernels that only prepare device-side
// state.
#include <time.h>

#include "blits.hpp"
#include "report.hpp"

namespace sg::blits {
namespace {

void write_value(const Launch& l, uint64_t at32, uint64_t at64, uint64_t value) {
  if (at32) {
    auto* word = reinterpret_cast<uint32_t*>(transfer::atomic(l.context, at32, 4));
    __atomic_store_n(word, static_cast<uint32_t>(value), __ATOMIC_RELEASE);
  } else {
    auto* word = reinterpret_cast<uint64_t*>(transfer::atomic(l.context, at64, 8));
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
  }
}

void add_value(const Launch& l, uint64_t value) {
  if (uint64_t at = l.arguments.number("ptrInt")) {
    auto* word = reinterpret_cast<uint32_t*>(transfer::atomic(l.context, at, 4));
    __atomic_fetch_add(word, static_cast<uint32_t>(value), __ATOMIC_ACQ_REL);
  } else {
    auto* word = reinterpret_cast<uint64_t*>(transfer::atomic(l.context, l.arguments.number("ptrUlong"), 8));
    __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
  }
}

// The comparisons as the device library writes them: GEQ compares the value as signed with an unsigned
// operand, which C makes unsigned on both sides.
bool reached(uint64_t seen, uint64_t value, uint64_t mask, uint64_t flags) {
  switch (flags) {
    case 0:
      return (seen & mask) >= value;
    case 1:
      return (seen & mask) == value;
    case 2:
      return ((seen & mask) & value) != 0;
    case 3:
      return ((seen | value) & mask) != mask;
    default:
      return true;
  }
}

void wait_value(const Launch& l, uint64_t at32, uint64_t at64, uint64_t value, uint64_t flags,
                uint64_t mask) {
  char* at = transfer::atomic(l.context, at32 ? at32 : at64, at32 ? 4 : 8);
  const uint64_t bits = at32 ? UINT32_MAX : UINT64_MAX;
  for (uint64_t look = 0; !l.stop.load(); ++look) {
    uint64_t seen = at32 ? __atomic_load_n(reinterpret_cast<uint32_t*>(at), __ATOMIC_ACQUIRE)
                         : __atomic_load_n(reinterpret_cast<uint64_t*>(at), __ATOMIC_ACQUIRE);
    if (reached(seen, value & bits, mask & bits, flags)) return;
    timespec request = {0, look < 100 ? 10000 : 200000};
    nanosleep(&request, nullptr);
  }
}

void stream_write(const Launch& l) {
  write_value(l, l.arguments.number("ptrInt"), l.arguments.number("ptrUlong"), l.arguments.number("value"));
}

void stream_increment(const Launch& l) { add_value(l, l.arguments.number("value")); }
void stream_decrement(const Launch& l) { add_value(l, -l.arguments.number("value")); }

void stream_wait(const Launch& l) {
  wait_value(l, l.arguments.number("ptrInt"), l.arguments.number("ptrUlong"), l.arguments.number("value"),
             l.arguments.number("flags"), l.arguments.number("mask"));
}

// One entry of the batch; 48 bytes, the layout of hipStreamBatchMemOpParams.
struct Operation {
  uint32_t operation;
  uint32_t padding;
  uint64_t address;
  uint64_t value;
  uint32_t flags;
  uint32_t padding2;
  uint64_t alias;
  uint64_t padding3;
};
static_assert(sizeof(Operation) == 48, "six 64-bit words");

// Before ROCm 10 there is a work-item for each entry; since, one goes through them all.
void batch(const Launch& l) {
  const uint64_t list = l.arguments.number("params"), count = l.arguments.number("count");
  for (uint64_t id = 0; id < count; ++id) {
    Operation op;
    transfer::read(l.context, &op, list + id * sizeof op, sizeof op);
    switch (op.operation) {
      case 1:
        wait_value(l, op.address, 0, op.value, op.flags, UINT64_MAX);
        break;
      case 2:
        write_value(l, op.address, 0, op.value);
        break;
      case 4:
        wait_value(l, 0, op.address, op.value, op.flags, UINT64_MAX);
        break;
      case 5:
        write_value(l, 0, op.address, op.value);
        break;
      default:
        break;
    }
  }
}

// Device-side malloc and global wave sync matter to executed kernels only.
void nothing(const Launch&) {}

}  // namespace

const std::vector<Blit>& stream_operations() {
  static const auto* list = new std::vector<Blit>{
      {"streamOpsWrite", "ptrInt ptrUlong value", stream_write},
      {"streamOpsWrite", "ptrInt ptrUlong value sizeBytes", stream_write},
      {"streamOpsIncrement", "ptrInt ptrUlong value", stream_increment},
      {"streamOpsDecrement", "ptrInt ptrUlong value", stream_decrement},
      {"streamOpsWait", "ptrInt ptrUlong value flags mask", stream_wait},
      {"batchMemOp", "params count", batch},
      {"initHeap", "heap_to_initialize initial_blocks heap_size number_of_initial_blocks", nothing},
      {"gwsInit", "value", nothing},
  };
  return *list;
}

}  // namespace sg::blits
