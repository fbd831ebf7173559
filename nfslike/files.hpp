// The operations of the file system, as libfuse calls them.
#pragma once

#define FUSE_USE_VERSION 31
#include <fuse.h>

// Return the operations; those of locks only where locks are refused: else the kernel keeps them by itself.
fuse_operations operations();
