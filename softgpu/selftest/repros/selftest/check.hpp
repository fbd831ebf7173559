// Checks for the self-tests. A test is a main() that returns done(): 0 all held, 1 some did not, 77 not
// applicable.
#pragma once

#include <hip/hip_runtime.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "repro.h"

inline std::atomic<int>& failures() {
  static std::atomic<int> count{0};
  return count;
}

// Prints a check that did not hold; the first one names the failure.
inline void report_failure(const char* file, int line, const std::string& text) {
  const std::string where = std::string(file) + ":" + std::to_string(line) + ": " + text;
  std::printf("%s\n", where.c_str());
  if (failures()++ == 0) repro_signature(where.c_str());
}

inline void check_at(bool holds, const char* text, const char* file, int line) {
  if (!holds) report_failure(file, line, text);
}

inline bool ok_at(hipError_t error, const char* text, const char* file, int line) {
  if (error != hipSuccess) report_failure(file, line, std::string(text) + " gave " + hipGetErrorName(error));
  return error == hipSuccess;
}

inline void gives_at(hipError_t error, hipError_t wanted, const char* text, const char* file, int line) {
  if (error == wanted) return;
  report_failure(file, line, std::string(text) + " gave " + hipGetErrorName(error) + ", wanted " + hipGetErrorName(wanted));
}

#define CHECK(condition) check_at((condition), #condition, __FILE__, __LINE__)
#define OK(call) ok_at((call), #call, __FILE__, __LINE__)
#define NEED(call) \
  if (!OK(call)) return 1
#define GIVES(call, wanted) gives_at((call), (wanted), #call, __FILE__, __LINE__)

inline int done() {
  if (failures()) std::printf("%d checks failed\n", failures().load());
  return failures() ? 1 : 0;
}

inline int skip(const char* why) {
  std::printf("%s\n", why);
  return REPRO_SKIP;
}

// A measured number, for the log and the record.
inline void figure(const char* name, double value, const char* unit) {
  std::printf("figure: %s %.3f %s\n", name, value, unit);
  repro_metric(name, value, unit);
}

// The harness always says which chip the software GPU plays.
inline bool on_software_gpu() { return std::getenv("SOFTGPU_GFX") != nullptr; }

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
