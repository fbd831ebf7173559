// The trust report: what a process did is in its line, and nothing of it was beyond the software GPU.
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "check.hpp"

__global__ void counted(int) {}

static int act() {
  std::vector<unsigned char> bytes(100000);
  void* p = nullptr;
  NEED(hipMalloc(&p, bytes.size()));
  NEED(hipMemset(p, 1, bytes.size()));
  for (int i = 0; i < 3; ++i) counted<<<1, 64>>>(i);
  NEED(hipDeviceSynchronize());
  NEED(hipMemcpy(bytes.data(), p, bytes.size(), hipMemcpyDeviceToHost));
  NEED(hipFree(p));
  return done();
}

static std::string report_of(const char* self) {
  const std::string path = "/tmp/selftest-report-" + std::to_string(getpid());
  if (pid_t pid = fork()) {
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  } else {
    setenv("SOFTGPU_REPORT", path.c_str(), 1);
    execl(self, self, "act", nullptr);
    _exit(99);
  }
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  CHECK(line.size() == 16383);  // and the newline
  std::remove(path.c_str());
  return line;
}

int main(int argc, char** argv) {
  if (argc > 1) return act();
  if (!on_software_gpu()) return skip("only the software GPU writes a trust report");
  const std::string line = report_of(argv[0]);
  auto has = [&line](const char* text) { return line.find(text) != std::string::npos; };
  CHECK(has("\"state\": \"ended\""));
  CHECK(has("\"stubs\": {}"));
  CHECK(has("\"unknown_attributes\": {}"));
  CHECK(has("\"unknown_blits\": {}"));
  CHECK(has("\"events\": {}"));
  CHECK(has("\"dispatched\": 3"));
  CHECK(has("\"_Z7countedi\": 3"));
  CHECK(has("__amd_rocclr_fillBuffer"));
  if (failures()) std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
  return done();
}
