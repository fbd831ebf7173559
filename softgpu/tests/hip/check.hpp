// Checks for the self-tests. A test is a main() that returns done(): 0 all held, 1 some did not, 77 not
// applicable.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

inline int& failures() {
  static int count = 0;
  return count;
}

inline void check_at(bool holds, const char* text, const char* file, int line) {
  if (holds) return;
  ++failures();
  std::printf("%s:%d: %s\n", file, line, text);
}

inline bool ok_at(hipError_t error, const char* text, const char* file, int line) {
  if (error == hipSuccess) return true;
  ++failures();
  std::printf("%s:%d: %s gave %s\n", file, line, text, hipGetErrorName(error));
  return false;
}

inline void gives_at(hipError_t error, hipError_t wanted, const char* text, const char* file, int line) {
  if (error == wanted) return;
  ++failures();
  std::printf("%s:%d: %s gave %s, wanted %s\n", file, line, text, hipGetErrorName(error),
              hipGetErrorName(wanted));
}

#define CHECK(condition) check_at((condition), #condition, __FILE__, __LINE__)
#define OK(call) ok_at((call), #call, __FILE__, __LINE__)
#define NEED(call) \
  if (!OK(call)) return 1
#define GIVES(call, wanted) gives_at((call), (wanted), #call, __FILE__, __LINE__)

inline int done() {
  if (failures()) std::printf("%d checks failed\n", failures());
  return failures() ? 1 : 0;
}

inline int skip(const char* why) {
  std::printf("skipped: %s\n", why);
  return 77;
}

// HIP 5 refuses pitched memory on chips without image instructions (ihipMallocPitch in hip_memory.cpp of
// rocm-5.7.1).
inline bool pitch_works() {
  int images = 0;
  (void)hipDeviceGetAttribute(&images, hipDeviceAttributeImageSupport, 0);
  return images || HIP_VERSION >= 60000000;
}

// Bytes that differ from their neighbours, so that a shifted or partial copy shows.
inline std::vector<unsigned char> noise(size_t size, unsigned seed = 1) {
  std::vector<unsigned char> bytes(size);
  for (auto& byte : bytes) {
    seed = seed * 1664525u + 1013904223u;
    byte = static_cast<unsigned char>(seed >> 24);
  }
  return bytes;
}
