// What a wrong program meets, and what SOFTGPU_* faults do: each in a child process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "check.hpp"

__global__ void empty() {}

static int act(const std::string& what) {
  if (what == "host-read") {
    int* p = nullptr;
    NEED(hipMalloc(reinterpret_cast<void**>(&p), 4096));
    volatile int seen = *p;
    (void)seen;
    return 0;
  }
  if (what == "freed") {
    int* p = nullptr;
    NEED(hipMalloc(reinterpret_cast<void**>(&p), 4096));
    NEED(hipFree(p));
    volatile int seen = *p;
    (void)seen;
    return 0;
  }
  if (what == "oom") {
    void* p = nullptr;
    if (hipMalloc(&p, 32 << 20) != hipSuccess) return 3;
    return hipMalloc(&p, 64 << 20) == hipErrorOutOfMemory ? 0 : 4;
  }
  for (int i = 0; i < 5; ++i) empty<<<1, 64>>>();
  alarm(what == "hang" ? 3 : 60);
  hipError_t error = hipDeviceSynchronize();
  if (error != hipSuccess) std::printf("%s: %s\n", what.c_str(), hipGetErrorName(error));
  return error == hipSuccess ? 0 : 5;
}

// Wait status of this program run again for `what` with one more variable.
static int child(const char* self, const char* what, const char* name, const char* value) {
  pid_t pid = fork();
  if (pid == 0) {
    setenv(name, value, 1);
    execl(self, self, what, nullptr);
    _exit(99);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

static bool killed_by(int status, int signal) { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }
// Since HIP 7 the error of a queue, or the loss of the GPU, is an error of the next call; before, the process
// was aborted.
static bool queue_failed(int status) {
  return killed_by(status, SIGABRT) ||
         (HIP_VERSION >= 70000000 && WIFEXITED(status) && WEXITSTATUS(status) == 5);
}
static bool passed(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

int main(int argc, char** argv) {
  if (argc > 1) return act(argv[1]);
  if (!on_software_gpu()) return skip("only the software GPU has faults on demand");
  CHECK(killed_by(child(argv[0], "host-read", "SOFTGPU_LARGE_BAR", "0"), SIGSEGV));
  CHECK(passed(child(argv[0], "host-read", "SOFTGPU_LARGE_BAR", "1")));
  CHECK(killed_by(child(argv[0], "freed", "SOFTGPU_LARGE_BAR", "0"), SIGSEGV));
  CHECK(passed(child(argv[0], "oom", "SOFTGPU_OOM_AFTER", "83886080")));
  CHECK(queue_failed(child(argv[0], "launch", "SOFTGPU_QUEUE_ERROR", "0x29@3")));
  CHECK(
      queue_failed(child(argv[0], "launch", "SOFTGPU_QUEUE_ERROR", "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION")));
  CHECK(queue_failed(child(argv[0], "launch", "SOFTGPU_LOST_AT", "2")));
  CHECK(killed_by(child(argv[0], "hang", "SOFTGPU_HANG_AT", "4"), SIGALRM));
  CHECK(passed(child(argv[0], "launch", "SOFTGPU_KERNEL_US", "1000")));
  return done();
}
