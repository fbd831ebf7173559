/* Compile one kernel at run time, for gfx90a, on a machine that needs no GPU. */
#ifndef HIPRTC_COMPILE_H
#define HIPRTC_COMPILE_H

#include <hip/hiprtc.h>
#include <stdio.h>
#include <string>

/* Return the first line of the compiler's log that names an error, empty if the kernel compiles. Print the verdict. */
static inline std::string hiprtc_error(const char *source) {
  hiprtcProgram program = nullptr;
  const char *options[] = {"--offload-arch=gfx90a"};
  if (hiprtcCreateProgram(&program, source, "kernel.hip", 0, nullptr, nullptr) != HIPRTC_SUCCESS) return "no program";
  const hiprtcResult result = hiprtcCompileProgram(program, 1, options);
  size_t size = 0;
  hiprtcGetProgramLogSize(program, &size);
  std::string log(size, ' ');
  if (size != 0) hiprtcGetProgramLog(program, &log[0]);
  hiprtcDestroyProgram(&program);
  printf("%s\n%s\n", source, hiprtcGetErrorString(result));
  if (result == HIPRTC_SUCCESS) return "";
  const size_t at = log.find("error:");
  const std::string line = at == std::string::npos ? "no log" : log.substr(at, log.find('\n', at) - at);
  printf("%s\n", line.c_str());
  return line;
}

#endif
