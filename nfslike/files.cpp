// Pass every operation through to the directory `root`, with the caller's numbers, as an NFS server does.
//
// A server acts with the file system identity of its client (setfsuid(2)), after mapping uid and gid 0 to nobody where
// the export has root_squash (exports(5)). So the kernel itself decides here what is EACCES and what EPERM: with another
// identity than 0 the capabilities over files are gone.
#include "files.hpp"
#include "locks.hpp"
#include "rules.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace {
constexpr unsigned nobody = 65534;   // anonuid of exports(5)
constexpr int64_t entry_size = 4096; // what a new name takes of the space

const char *below(const char *path) { return path[1] ? path + 1 : "."; }
bool is_watch(const char *path) { return !rules.watch.empty() && rules.watch == path + 1; }

// libfuse renames a file that is removed while it is open, as NFS clients do, and removes it at the last close: for
// whom is not said then.
bool is_hidden(const char *path) { return strstr(path, "/.fuse_hidden") != nullptr; }

class Caller {
public:
  explicit Caller(const char *path) {
    const fuse_context *context = fuse_get_context();
    if (is_hidden(path))
      return;
    setfsgid(rules.squash && context->gid == 0 ? nobody : context->gid);
    setfsuid(rules.squash && context->uid == 0 ? nobody : context->uid);
  }
  ~Caller() {
    setfsuid(0);
    setfsgid(0);
  }
};

// Serve one operation: refuse it, or do it for the caller; note what failed and what was changed. `action` returns -1
// and sets errno when it fails.
template <typename Action> int serve(const char *operation, Kind kind, const char *path, Action action) {
  int error = rules.refusal(operation, kind);
  int64_t result = 0;
  if (!error) {
    Caller caller(path);
    errno = 0;
    result = action();
    error = result < 0 ? errno : 0;
  }
  bool telling = error && error != ENOENT && error != EEXIST && error != ENOTEMPTY && error != ENOTDIR;
  if (telling || (!error && kind == Kind::change && !is_hidden(path)))
    watch_log.note(operation, below(path), error, error ? 0 : result);
  return error ? -error : static_cast<int>(result);
}

// Take the space of a new name before it is made.
template <typename Action> int made(const char *operation, const char *path, Action action) {
  return serve(operation, Kind::change, path, [&] {
    if ((errno = rules.take(entry_size)))
      return -1;
    int result = action();
    if (result < 0)
      rules.take(-entry_size);
    return result < 0 ? -1 : 0;
  });
}

int fs_getattr(const char *path, struct stat *out, fuse_file_info *info) {
  if (is_watch(path)) {
    *out = {};
    out->st_mode = S_IFREG | 0444;
    out->st_nlink = 1;
    return 0;
  }
  return serve("getattr", Kind::attribute, path, [&] {
    if (info)
      return fstat(static_cast<int>(info->fh), out);
    const char *name = path[1] ? path + 1 : "";
    return fstatat(root, name, out, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
  });
}

int fs_access(const char *path, int mask) {
  if (is_watch(path))
    return 0;
  if (rules.read_only && (mask & W_OK))
    return -EROFS;
  return serve("access", Kind::attribute, path, [&] { return faccessat(root, below(path), mask, AT_EACCESS); });
}

int fs_readlink(const char *path, char *out, size_t size) {
  return serve("readlink", Kind::read, path, [&] {
    ssize_t length = readlinkat(root, below(path), out, size - 1);
    if (length >= 0)
      out[length] = 0;
    return length < 0 ? -1 : 0;
  });
}

int fs_opendir(const char *path, fuse_file_info *info) {
  return serve("opendir", Kind::read, path, [&] {
    int fd = openat(root, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? nullptr : fdopendir(fd);
    info->fh = reinterpret_cast<uint64_t>(directory);
    return directory ? 0 : -1;
  });
}

int fs_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t, fuse_file_info *info, fuse_readdir_flags) {
  return serve("readdir", Kind::attribute, path, [&] {
    DIR *directory = reinterpret_cast<DIR *>(info->fh);
    rewinddir(directory);
    while (const dirent *entry = readdir(directory)) {
      struct stat about = {};
      about.st_ino = entry->d_ino;
      about.st_mode = static_cast<mode_t>(entry->d_type) << 12;
      if (fill(buffer, entry->d_name, &about, 0, static_cast<fuse_fill_dir_flags>(0)))
        break;
    }
    return 0;
  });
}

int fs_releasedir(const char *, fuse_file_info *info) {
  closedir(reinterpret_cast<DIR *>(info->fh));
  return 0;
}

int fs_mknod(const char *path, mode_t mode, dev_t device) {
  return made("mknod", path, [&] { return mknodat(root, below(path), mode, device); });
}

int fs_mkdir(const char *path, mode_t mode) {
  return made("mkdir", path, [&] { return mkdirat(root, below(path), mode); });
}

int fs_symlink(const char *target, const char *path) {
  return made("symlink", path, [&] { return symlinkat(target, root, below(path)); });
}

int fs_link(const char *from, const char *to) {
  return made("link", to, [&] { return linkat(root, below(from), root, below(to), 0); });
}

int fs_unlink(const char *path) {
  return serve("unlink", Kind::change, path, [&] {
    struct stat about = {};
    fstatat(root, below(path), &about, AT_SYMLINK_NOFOLLOW);
    int result = unlinkat(root, below(path), 0);
    if (result == 0)
      rules.take(-entry_size - (about.st_nlink == 1 ? about.st_size : 0));
    return result;
  });
}

int fs_rmdir(const char *path) {
  return serve("rmdir", Kind::change, path, [&] { return unlinkat(root, below(path), AT_REMOVEDIR); });
}

int fs_rename(const char *from, const char *to, unsigned flags) {
  return serve("rename", Kind::change, from, [&] { return renameat2(root, below(from), root, below(to), flags); });
}

int fs_chmod(const char *path, mode_t mode, fuse_file_info *) {
  return serve("chmod", Kind::change, path, [&] { return fchmodat(root, below(path), mode, 0); });
}

int fs_chown(const char *path, uid_t uid, gid_t gid, fuse_file_info *) {
  return serve("chown", Kind::change, path,
               [&] { return fchownat(root, below(path), uid, gid, AT_SYMLINK_NOFOLLOW); });
}

int fs_utimens(const char *path, const timespec times[2], fuse_file_info *) {
  return serve("utimens", Kind::change, path,
               [&] { return utimensat(root, below(path), times, AT_SYMLINK_NOFOLLOW); });
}

int64_t size_of(int fd) {
  struct stat about = {};
  return fstat(fd, &about) == 0 ? about.st_size : 0;
}

// Change the size of an open file, with the space that this takes or gives back.
int resized(int fd, off_t size) {
  int64_t grown = size - size_of(fd);
  if ((errno = rules.take(grown)))
    return -1;
  return ftruncate(fd, size);
}

int fs_truncate(const char *path, off_t size, fuse_file_info *info) {
  return serve("truncate", Kind::change, path, [&] {
    if (info)
      return resized(static_cast<int>(info->fh), size);
    int fd = openat(root, below(path), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
      return -1;
    int result = resized(fd, size), error = errno;
    close(fd);
    errno = error;
    return result;
  });
}

int fs_create(const char *path, mode_t mode, fuse_file_info *info) {
  return made("create", path, [&] {
    int fd = openat(root, below(path), (info->flags | O_CREAT) & ~O_NOFOLLOW, mode);
    info->fh = static_cast<uint64_t>(fd);
    return fd;
  });
}

int fs_open(const char *path, fuse_file_info *info) {
  if (is_watch(path)) {
    info->fh = reinterpret_cast<uint64_t>(new std::string(watch_log.take()));
    info->direct_io = 1; // its size is not known before it is read
    return 0;
  }
  bool changes = (info->flags & O_ACCMODE) != O_RDONLY || (info->flags & O_TRUNC);
  return serve("open", changes ? Kind::change : Kind::read, path, [&] {
    int64_t before = 0;
    if (struct stat about = {}; (info->flags & O_TRUNC) && fstatat(root, below(path), &about, 0) == 0)
      before = about.st_size;
    int fd = openat(root, below(path), info->flags & ~(O_CREAT | O_NOFOLLOW));
    info->fh = static_cast<uint64_t>(fd);
    if (fd >= 0)
      rules.take(-before);
    return fd < 0 ? -1 : 0;
  });
}

int fs_read(const char *path, char *out, size_t size, off_t offset, fuse_file_info *info) {
  if (is_watch(path)) {
    const std::string &text = *reinterpret_cast<std::string *>(info->fh);
    if (static_cast<size_t>(offset) >= text.size())
      return 0;
    return static_cast<int>(text.copy(out, size, static_cast<size_t>(offset)));
  }
  return serve("read", Kind::read, path,
               [&] { return static_cast<int>(pread(static_cast<int>(info->fh), out, size, offset)); });
}

int fs_write(const char *path, const char *data, size_t size, off_t offset, fuse_file_info *info) {
  return serve("write", Kind::change, path, [&] {
    int fd = static_cast<int>(info->fh);
    int64_t grown = offset + static_cast<int64_t>(size) - size_of(fd);
    if (grown > 0 && (errno = rules.take(grown)))
      return -1;
    return static_cast<int>(pwrite(fd, data, size, offset));
  });
}

int fs_statfs(const char *path, struct statvfs *out) {
  return serve("statfs", Kind::attribute, path, [&] {
    int result = fstatvfs(root, out);
    uint64_t left = static_cast<uint64_t>(rules.left()) / out->f_frsize;
    if (rules.full >= 0 && left < out->f_bfree)
      out->f_bfree = out->f_bavail = left;
    return result;
  });
}

int fs_fsync(const char *path, int only_data, fuse_file_info *info) {
  return serve("fsync", Kind::read, path, [&] {
    int fd = static_cast<int>(info->fh);
    return only_data ? fdatasync(fd) : fsync(fd);
  });
}

int fs_release(const char *path, fuse_file_info *info) {
  if (path && is_watch(path))
    delete reinterpret_cast<std::string *>(info->fh);
  else
    close(static_cast<int>(info->fh));
  return 0;
}

void *fs_init(fuse_conn_info *, fuse_config *config) {
  config->use_ino = 1;
  // Every look goes to the server, so that what it refuses is refused at once.
  config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
  return nullptr;
}
} // namespace

fuse_operations operations() {
  fuse_operations all = {};
  all.init = fs_init;
  all.getattr = fs_getattr;
  all.access = fs_access;
  all.readlink = fs_readlink;
  all.opendir = fs_opendir;
  all.readdir = fs_readdir;
  all.releasedir = fs_releasedir;
  all.mknod = fs_mknod;
  all.mkdir = fs_mkdir;
  all.symlink = fs_symlink;
  all.link = fs_link;
  all.unlink = fs_unlink;
  all.rmdir = fs_rmdir;
  all.rename = fs_rename;
  all.chmod = fs_chmod;
  all.chown = fs_chown;
  all.utimens = fs_utimens;
  all.truncate = fs_truncate;
  all.create = fs_create;
  all.open = fs_open;
  all.read = fs_read;
  all.write = fs_write;
  all.statfs = fs_statfs;
  all.fsync = fs_fsync;
  all.release = fs_release;
  all.lock = lock_range;
  all.flock = lock_file;
  return all;
}
