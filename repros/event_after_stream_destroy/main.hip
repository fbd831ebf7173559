// hipEventSynchronize on an event whose stream was destroyed after the event was recorded in it.
// https://github.com/ROCm/legacy-rocm-build/issues/4670 https://github.com/ROCm/clr/issues/157
//
// Every hipEventRecord stores a pointer to the stream in the event. hipStreamDestroy frees the stream and leaves that
// pointer alone; hipEventSynchronize follows it to ask whether the stream is being captured. What it finds is what
// the heap holds there by then. The cases go from the plain sequence to memory that we fill ourselves.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "hip_check.h"

namespace {

void* device_memory = nullptr;

hipStream_t new_stream() {
  hipStream_t stream = nullptr;
  HIP_REQUIRE(hipStreamCreate(&stream));
  return stream;
}

hipEvent_t new_event() {
  hipEvent_t event = nullptr;
  HIP_REQUIRE(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  return event;
}

// Give the stream something to do, record the event behind it, and wait until both are done.
void record_and_finish(hipStream_t stream, hipEvent_t event) {
  HIP_REQUIRE(hipMemsetAsync(device_memory, 0, 64, stream));
  HIP_REQUIRE(hipEventRecord(event, stream));
  HIP_REQUIRE(hipStreamSynchronize(stream));
}

// An event that was recorded in a stream that no longer exists.
hipEvent_t orphan() {
  const hipStream_t stream = new_stream();
  const hipEvent_t event = new_event();
  record_and_finish(stream, event);
  HIP_REQUIRE(hipStreamDestroy(stream));
  return event;
}

int synchronize(hipEvent_t event) { return hip_expect("hipEventSynchronize", hipEventSynchronize(event), hipSuccess); }

// --- controls: what a program should do instead

int sync_before_destroy() {
  const hipStream_t stream = new_stream();
  const hipEvent_t event = new_event();
  record_and_finish(stream, event);
  const int failed = synchronize(event);
  HIP_REQUIRE(hipStreamDestroy(stream));
  return failed;
}

int stream_alive() {
  const hipEvent_t event = new_event();
  record_and_finish(new_stream(), event);
  return synchronize(event);
}

int recorded_again() {
  const hipEvent_t event = orphan();
  record_and_finish(new_stream(), event);
  return synchronize(event);
}

int never_recorded() { return synchronize(new_event()); }

int null_stream() {
  const hipEvent_t event = new_event();
  record_and_finish(nullptr, event);
  return synchronize(event);
}

// --- the mistake

int literal() { return synchronize(orphan()); }

// Only destroy the event: the runtime is prepared for that.
int destroy_only() { return hip_expect("hipEventDestroy", hipEventDestroy(orphan()), hipSuccess); }

// Kokkos up to 4.6 did this: one event for the life of the program, streams that come and go, other work in between.
int long_lived_event(int rounds) {
  const hipEvent_t event = new_event();
  std::map<std::string, int> counts;
  int failures = 0;
  size_t changed = 0;
  for (int round = 0; round < rounds; ++round) {
    const hipStream_t stream = new_stream();
    record_and_finish(stream, event);
    HIP_REQUIRE(hipStreamDestroy(stream));
    // Other work of the program: a list of small integers, its length and its content differ from round to round.
    const int content = round % 3;
    const std::vector<int> list(64 + 4 * (round % 241), content);
    const hipError_t error = hipEventSynchronize(event);
    ++counts[hipGetErrorName(error)];
    failures += error != hipSuccess;
    changed += list.size() - std::count(list.begin(), list.end(), content);
  }
  std::printf("numbers of the program's own lists that changed: %ld\n", static_cast<long>(changed));
  repro_metric("numbers changed in lists of the program", changed, "numbers");
  std::string first;
  for (const auto& count : counts) {
    std::printf("%s: %d of %d\n", count.first.c_str(), count.second, rounds);
    repro_metric(count.first.c_str(), count.second, "calls");
    if (count.first != "hipSuccess") first = count.first;
  }
  if (changed != 0) first += ", and other memory was written";
  if (failures + changed != 0) repro_signature(first.c_str());
  return failures + changed != 0;
}

// A new stream gets the address of the destroyed one, and is being captured. The event then counts as part of that
// capture, although it is done and was recorded elsewhere. Nothing invalid is read here.
int address_reused(bool destroy_first) {
  hipStream_t stream = nullptr, captured = nullptr;
  hipEvent_t event = nullptr;
  for (int attempt = 0; attempt < 2000; ++attempt) {
    stream = new_stream();
    event = new_event();
    record_and_finish(stream, event);
    if (destroy_first) HIP_REQUIRE(hipStreamDestroy(stream));
    captured = new_stream();
    if (!destroy_first || captured == stream) break;
    HIP_REQUIRE(hipStreamDestroy(captured));
  }
  if (destroy_first && captured != stream) {
    std::puts("the heap did not use the address again");
    return REPRO_SKIP;
  }
  HIP_REQUIRE(hipStreamBeginCapture(captured, hipStreamCaptureModeRelaxed));
  const hipError_t error = hipEventSynchronize(event);
  hipGraph_t graph = nullptr;
  const hipError_t end = hipStreamEndCapture(captured, &graph);
  std::printf("hipStreamEndCapture of the new stream: %s\n", hipGetErrorName(end));
  repro_observe("hipStreamEndCapture", hipGetErrorName(end));
  return hip_expect("hipEventSynchronize", error, hipSuccess);
}

// --- the witness: fill freed memory with one value and look whether the runtime reads, and writes, it

struct Witness {
  hipError_t error;
  int written;              // words of ours that changed
  unsigned size, offset;    // the block in which the first one did, and where
  uint32_t value;           // to what
};

// The words of all blocks that fit what the stream may have left: sizes of the heap from 256 to 4096 bytes.
Witness spray(uint32_t fill) {
  std::vector<std::pair<uint32_t*, unsigned>> blocks;
  blocks.reserve(241 * 24);
  const hipEvent_t event = orphan();
  for (int copy = 0; copy < 24; ++copy) {
    for (unsigned size = 256; size <= 4096; size += 16) {
      uint32_t* const words = static_cast<uint32_t*>(std::malloc(size));
      for (unsigned i = 0; i < size / 4; ++i) words[i] = fill;
      blocks.emplace_back(words, size);
    }
  }
  Witness seen = {hipEventSynchronize(event), 0, 0, 0, 0};
  for (const auto& block : blocks) {
    for (unsigned i = 0; i < block.second / 4; ++i) {
      if (block.first[i] == fill) continue;
      if (seen.written++ == 0) seen.size = block.second, seen.offset = 4 * i, seen.value = block.first[i];
    }
  }
  return seen;
}

// In a process of its own, for it may crash or hang and is not to be trusted afterwards. No HIP call comes before.
int spray_in_child(uint32_t fill) {
  int ends[2];
  if (pipe(ends) != 0) return REPRO_BROKEN;
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    HIP_REQUIRE(hipMalloc(&device_memory, 64));
    const Witness seen = spray(fill);
    _exit(write(ends[1], &seen, sizeof seen) != sizeof seen);
  }
  close(ends[1]);
  Witness seen;
  const bool told = read(ends[0], &seen, sizeof seen) == sizeof seen;
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == REPRO_BROKEN) return REPRO_BROKEN;

  std::string result;
  if (told) {
    result = hipGetErrorName(seen.error);
    repro_metric("words written in freed memory", seen.written, "words");
    if (seen.written != 0) {
      std::printf("first of %d words that changed: %u to %u, at byte %u of a block of %u bytes\n", seen.written, fill,
                  seen.value, seen.offset, seen.size);
      result += ", and freed memory was written";
    }
  } else if (WIFSIGNALED(status)) {
    result = WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status));
  } else {
    result = "ended early";
  }
  std::printf("hipEventSynchronize: %s\n", result.c_str());
  repro_observe("hipEventSynchronize", result.c_str());
  if (result == "hipSuccess") return 0;
  repro_signature(result.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return REPRO_BROKEN;
  const std::string what = argv[1];
  if (what == "filled-with-1") return spray_in_child(1);
  if (what == "filled-with-2") return spray_in_child(2);
  HIP_REQUIRE(hipMalloc(&device_memory, 64));
  if (what == "sync-before-destroy") leave(sync_before_destroy());
  if (what == "stream-alive") leave(stream_alive());
  if (what == "recorded-again") leave(recorded_again());
  if (what == "never-recorded") leave(never_recorded());
  if (what == "null-stream") leave(null_stream());
  if (what == "other-stream-captured") leave(address_reused(false));
  if (what == "literal") leave(literal());
  if (what == "destroy-only") leave(destroy_only());
  if (what == "long-lived-event") leave(long_lived_event(std::atoi(argv[2])));
  if (what == "address-reused-and-captured") leave(address_reused(true));
  return REPRO_BROKEN;
}
