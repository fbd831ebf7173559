/* A few HIP calls by name, so that a reproducer can take one as its parameter. */
#ifndef HIP_CALLS_H
#define HIP_CALLS_H

#include <hip/hip_runtime_api.h>
#include <string.h>

struct HipCall {
  const char *name;
  hipError_t (*run)();
};

static const HipCall kHipCalls[] = {
    {"hipInit", [] { return hipInit(0); }},
    {"hipMalloc", [] { void *memory = nullptr; return hipMalloc(&memory, 4); }},
    {"hipStreamCreate", [] { hipStream_t stream = nullptr; return hipStreamCreate(&stream); }},
    {"hipSetDevice", [] { return hipSetDevice(0); }},
    {"hipGetDeviceCount", [] { int count = 0; return hipGetDeviceCount(&count); }},
    {"hipRuntimeGetVersion", [] { int version = 0; return hipRuntimeGetVersion(&version); }},
};

/* Return the call of that name, NULL if there is none. */
static inline const HipCall *find_hip_call(const char *name) {
  for (const HipCall &call : kHipCalls) {
    if (strcmp(call.name, name) == 0) return &call;
  }
  return nullptr;
}

#endif
