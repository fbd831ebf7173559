#pragma once

#include <cstdint>

namespace sg {

// The status whose HSA name or number (decimal or 0x…) is `text`; 0 when there is none.
uint32_t status_by_name(const char* text);

}  // namespace sg
