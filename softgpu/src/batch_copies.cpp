// hsa_amd_memory_async_batch_copy: copies by descriptors, each with more than one entry if it likes.
#include <time.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "dma.hpp"

namespace sg::dma {
namespace {

constexpr uint64_t kSwapStep = 65536;  // bytes held back at a time

struct Piece {
  uintptr_t to = 0, from = 0;
  uint64_t size = 0;
  transfer::Context context;
};

// What is left of a descriptor once its lists, which are the caller's, have been read.
struct Operation {
  uint16_t type = abi::kCopyLinear;
  Agent* gpu = nullptr;
  uint32_t engine = 0;
  std::vector<Piece> pieces;
  decltype(abi::CopyOperation::wait) wait = {};
  decltype(abi::CopyOperation::signal) signal = {};
};

hsa_status_t add_piece(Operation& out, void* to, Agent* to_agent, void* from, Agent* from_agent, size_t size) {
  SG_REQUIRE(to && from && to_agent && from_agent, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(to_agent->gpu || from_agent->gpu, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const transfer::Context both = context(to_agent, from_agent);
  if (!out.gpu) {
    out.gpu = both.agent;
    out.engine = engine_for(to_agent, from_agent);
  }
  out.pieces.push_back({reinterpret_cast<uintptr_t>(to), reinterpret_cast<uintptr_t>(from), size, both});
  return HSA_STATUS_SUCCESS;
}

hsa_status_t read_descriptor(const abi::CopyOperation& op, Operation& out) {
  SG_REQUIRE(op.version == 1 && op.type <= abi::kCopyIndirectBoth, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const bool broadcast = op.type == abi::kCopyBroadcast;
  SG_REQUIRE(!broadcast || op.entries, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  out.type = op.type;
  out.wait = op.wait;
  out.signal = op.signal;
  Agent* from = agent_of(op.source_agent);
  if (!op.entries) {
    SG_REQUIRE(op.type != abi::kCopySwap || op.size.one == op.target_size, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    return add_piece(out, op.target.one, agent_of(op.target_agent.one), op.source.one, from, op.size.one);
  }
  SG_REQUIRE(op.target.list && op.target_agent.list, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(broadcast || (op.source.list && op.size.list), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  for (uint32_t i = 0; i < op.entries; ++i) {
    hsa_status_t status = add_piece(out, op.target.list[i], agent_of(op.target_agent.list[i]),
                                    broadcast ? op.source.one : op.source.list[i], from,
                                    broadcast ? op.size.one : op.size.list[i]);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

bool reached(uint16_t function, uint64_t seen, uint64_t value) {
  switch (function) {
    case abi::kWaitLt:
      return seen < value;
    case abi::kWaitLe:
      return seen <= value;
    case abi::kWaitEq:
      return seen == value;
    case abi::kWaitNe:
      return seen != value;
    case abi::kWaitGe:
      return seen >= value;
    case abi::kWaitGt:
      return seen > value;
    default:
      return true;
  }
}

uint64_t* word_at(const transfer::Context& context, void* address) {
  return reinterpret_cast<uint64_t*>(transfer::atomic(context, reinterpret_cast<uintptr_t>(address), 8));
}

void await(const Operation& op) {
  if (op.wait.function == abi::kWaitAlways || !op.wait.address) return;
  const uint64_t* word = word_at(op.pieces[0].context, op.wait.address);
  while (!reached(op.wait.function, __atomic_load_n(word, __ATOMIC_ACQUIRE) & op.wait.mask, op.wait.value)) {
    timespec request = {0, 20000};
    nanosleep(&request, nullptr);
  }
}

void announce(const Operation& op) {
  if (op.signal.operation == abi::kSignalNone || !op.signal.address) return;
  uint64_t* word = word_at(op.pieces[0].context, op.signal.address);
  if (op.signal.operation == abi::kSignalWrite) __atomic_store_n(word, op.signal.data, __ATOMIC_RELEASE);
  if (op.signal.operation == abi::kSignalAdd) __atomic_fetch_add(word, op.signal.data, __ATOMIC_ACQ_REL);
  if (op.signal.operation == abi::kSignalSubtract) __atomic_fetch_sub(word, op.signal.data, __ATOMIC_ACQ_REL);
}

uintptr_t pointer_at(const Piece& piece, uintptr_t slot) {
  uintptr_t pointer = 0;
  transfer::read(piece.context, &pointer, slot, sizeof pointer);
  return pointer;
}

void swap(const Piece& piece) {
  std::vector<char> first(std::min(piece.size, kSwapStep)), second(first.size());
  for (uint64_t done = 0; done < piece.size; done += first.size()) {
    const uint64_t size = std::min<uint64_t>(first.size(), piece.size - done);
    transfer::read(piece.context, first.data(), piece.from + done, size);
    transfer::read(piece.context, second.data(), piece.to + done, size);
    transfer::write(piece.context, piece.to + done, first.data(), size);
    transfer::write(piece.context, piece.from + done, second.data(), size);
  }
}

void execute(const Operation& op) {
  await(op);
  for (const Piece& piece : op.pieces) {
    if (op.type == abi::kCopySwap) {
      swap(piece);
      continue;
    }
    const bool by_source = op.type == abi::kCopyIndirectSource || op.type == abi::kCopyIndirectBoth;
    const bool by_target = op.type == abi::kCopyIndirectTarget || op.type == abi::kCopyIndirectBoth;
    const uintptr_t from = by_source ? pointer_at(piece, piece.from) : piece.from;
    const uintptr_t to = by_target ? pointer_at(piece, piece.to) : piece.to;
    transfer::copy(piece.context, to, from, piece.size);
  }
  announce(op);
}

}  // namespace

hsa_status_t batch(const abi::CopyOperation* list, uint32_t count, uint32_t dependency_count,
                   const hsa_signal_t* dependencies) SG_EXPORT(hsa_amd_memory_async_batch_copy);
hsa_status_t batch(const abi::CopyOperation* list, uint32_t count, uint32_t dependency_count,
                   const hsa_signal_t* dependencies) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(list && count, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  // All are looked at before the first one starts.
  std::vector<Operation> operations(count);
  for (uint32_t i = 0; i < count; ++i) {
    SG_REQUIRE(signals::of(list[i].completion), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    hsa_status_t status = read_descriptor(list[i], operations[i]);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  for (uint32_t i = 0; i < count; ++i) {
    Agent* gpu = operations[i].gpu;
    const uint32_t engine = operations[i].engine;
    hsa_status_t status = submit(gpu, engine, dependency_count, dependencies, list[i].completion,
                                 [op = std::move(operations[i])] { execute(op); });
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

// Discarded memory may hold anything, so it keeps what it holds; only the order is kept.
hsa_status_t discard(void** pointers, size_t* sizes, uint32_t count, uint32_t dependency_count,
                     const hsa_signal_t* dependencies, hsa_signal_t completion)
    SG_EXPORT(hsa_amd_svm_discard_batch_async);
hsa_status_t discard(void** pointers, size_t* sizes, uint32_t count, uint32_t dependency_count,
                     const hsa_signal_t* dependencies, hsa_signal_t completion) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(pointers && sizes && count, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  SG_REQUIRE(runtime().xnack && !runtime().gpus.empty(), abi::kStatusXnackDisabled);
  return submit(runtime().gpus[0], 2, dependency_count, dependencies, completion, [] {});
}

}  // namespace sg::dma
