// Device memory shared between two processes.
#include <sys/wait.h>
#include <unistd.h>

#include "check.hpp"

constexpr size_t kSize = 1 << 20;

static int child(int in, int out) {
  hipIpcMemHandle_t handle;
  if (read(in, &handle, sizeof handle) != sizeof handle) return 1;
  void* p = nullptr;
  NEED(hipIpcOpenMemHandle(&p, handle, hipIpcMemLazyEnablePeerAccess));
  std::vector<unsigned char> wanted = noise(kSize), got(kSize);
  OK(hipMemcpy(got.data(), p, kSize, hipMemcpyDeviceToHost));
  CHECK(wanted == got);
  OK(hipMemset(p, 0x66, kSize));
  OK(hipDeviceSynchronize());
  OK(hipIpcCloseMemHandle(p));
  char ready = 'x';
  CHECK(write(out, &ready, 1) == 1);
  return done();
}

int main() {
  int to[2], from[2];
  if (pipe(to) || pipe(from)) return skip("no pipes");
  pid_t pid = fork();  // before HIP is used: neither HIP nor a GPU survives a fork
  if (pid == 0) {
    close(to[1]);  // so that the parent's end, however it ends, is the end of this process
    close(from[0]);
    int status = child(to[0], from[1]);
    std::fflush(stdout);
    _exit(status);
  }
  close(to[0]);
  close(from[1]);
  void* p = nullptr;
  NEED(hipMalloc(&p, kSize));
  std::vector<unsigned char> in = noise(kSize);
  OK(hipMemcpy(p, in.data(), kSize, hipMemcpyHostToDevice));
  hipIpcMemHandle_t handle;
  NEED(hipIpcGetMemHandle(&handle, p));
  CHECK(write(to[1], &handle, sizeof handle) == sizeof handle);
  char ready = 0;
  CHECK(read(from[0], &ready, 1) == 1);
  unsigned char last = 0;
  OK(hipMemcpy(&last, static_cast<char*>(p) + kSize - 1, 1, hipMemcpyDeviceToHost));
  CHECK(last == 0x66);
  int status = 1;
  waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  OK(hipFree(p));
  return done();
}
