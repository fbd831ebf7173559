// Locks of files and of their ranges, as libfuse asks for them.
#pragma once

#include "files.hpp"

#include <fcntl.h>

int lock_range(const char *path, fuse_file_info *info, int command, struct flock *range); // fcntl(2)
int lock_file(const char *path, fuse_file_info *info, int operation);                     // flock(2)
