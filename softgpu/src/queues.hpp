// AQL queues: a ring in host memory, two indices, a doorbell signal and one worker thread that executes in
// order.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernels.hpp"
#include "signals.hpp"

namespace sg {

struct Queue {
  // HIP and tools look into the amd_queue_t around the hsa_queue_t; newer ones into the longer second version
  // of it.
  // https://github.com/ROCm/rocm-systems/blob/develop/projects/rocr-runtime/runtime/hsa-runtime/inc/amd_hsa_queue.h
  union {
    amd_queue_t shared;
    char space[4096];
  };
  Agent* agent;
  void (*callback)(hsa_status_t, hsa_queue_t*, void*);
  void* callback_data;
  Signal* doorbell;
  uint64_t ring_bytes;
  std::atomic<bool> stop;      // hsa_queue_destroy wants the worker gone
  std::atomic<bool> inactive;  // an error ended it, or hsa_queue_inactivate
  std::atomic<uint32_t> finished;
  std::atomic<uintptr_t> fault_address;  // where a memory fault ended it
  uint32_t cu_mask[32];
  uint64_t generation;  // of `last`
  uint64_t last_object;
  const Kernel* last;

  hsa_queue_t* handle() { return &shared.hsa_queue; }
};

namespace queues {

Queue* of(const hsa_queue_t* handle);  // nullptr when it is none
void work(void* queue);                // the worker thread's body

}  // namespace queues
}  // namespace sg
