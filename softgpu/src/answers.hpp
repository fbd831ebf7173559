// Answers to queries: values go to the caller's memory with the width that their type has in the HSA headers.
#pragma once

#include <cstdio>
#include <cstring>

#include "report.hpp"
#include "runtime.hpp"

namespace sg {

template <typename T>
hsa_status_t put(void* value, const T& what) {
  std::memcpy(value, static_cast<const void*>(&what), sizeof what);
  return HSA_STATUS_SUCCESS;
}

// An attribute that nobody answers is refused and shows in the report, as `agent:0xbeef`.
inline hsa_status_t refuse(const char* whose, uint32_t attribute) {
  char name[64];
  std::snprintf(name, sizeof name, "%s:0x%x", whose, attribute);
  report::add(report::Kind::kUnknownAttribute, name);
  return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

}  // namespace sg
