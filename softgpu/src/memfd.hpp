#pragma once

#include <cstddef>

namespace sg {

// Makes a sparse file in memory, `size` bytes long; -1 where the system refuses. The caller closes it.
int make_memfd(const char* name, std::size_t size);

}  // namespace sg
