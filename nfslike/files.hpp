// The operations of the file system, as libfuse calls them.
#pragma once

#define FUSE_USE_VERSION 31
#include <fuse.h>

// Return all of them.
fuse_operations operations();
