// Open the memory of another process with the value of hipIpcMemLazyEnablePeerAccess written as a number.
// https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/CHANGELOG.md (HIP 6.0)
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string flag = argv[1];
  const unsigned flags = flag == "by-name" ? hipIpcMemLazyEnablePeerAccess : std::strtoul(argv[1], nullptr, 10);
  int handles[2];
  if (pipe(handles) != 0) return REPRO_BROKEN;

  // The other process is made before the first HIP call: HIP does not survive a fork.
  const pid_t importer = fork();
  if (importer < 0) return REPRO_BROKEN;
  hipIpcMemHandle_t handle;
  if (importer == 0) {
    close(handles[1]);
    if (read(handles[0], &handle, sizeof handle) != sizeof handle) leave(REPRO_BROKEN);
    void* opened = nullptr;
    leave(hip_expect("hipIpcOpenMemHandle", hipIpcOpenMemHandle(&opened, handle, flags), hipSuccess));
  }
  close(handles[0]);
  void* memory = nullptr;
  HIP_REQUIRE(hipMalloc(&memory, 4096));
  HIP_REQUIRE(hipIpcGetMemHandle(&handle, memory));
  if (write(handles[1], &handle, sizeof handle) != sizeof handle) return REPRO_BROKEN;
  close(handles[1]);
  int status = 0;
  if (waitpid(importer, &status, 0) != importer) return REPRO_BROKEN;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
