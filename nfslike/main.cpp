// Lay a file system that behaves like a troublesome NFS export over a directory of a running container.
//
//   nfslike --pid PID --at PATH [--watch NAME] [--owner UID:GID] [--squash] [--no-locks] [--read-only] [--full BYTES]
//           [--stale SECONDS [--stale-on OPERATION,...]] [--slow MILLISECONDS]
//   nfslike --check                 tell whether a FUSE file system can be mounted here
//
// It runs in a container of its own, in the host's process namespace, and mounts in the mount namespace of process PID
// alone: nothing of the host's is mounted or changed, no mount has to propagate, and when the container of PID ends, its
// namespace goes, the mount with it, and this program ends.
#include "files.hpp"
#include "rules.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <sched.h>
#include <sstream>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
struct Target {
  std::string pid, at, owner;
  bool check = false;
};

[[noreturn]] void fail(const std::string &doing) {
  fprintf(stderr, "nfslike: %s: %s\n", doing.c_str(), strerror(errno));
  exit(1);
}

Target parse(int count, char **words) {
  static const option known[] = {
      {"pid", 1, nullptr, 'p'},     {"at", 1, nullptr, 'a'},       {"watch", 1, nullptr, 'w'},
      {"owner", 1, nullptr, 'o'},   {"squash", 0, nullptr, 's'},   {"no-locks", 0, nullptr, 'l'},
      {"read-only", 0, nullptr, 'r'}, {"full", 1, nullptr, 'f'},   {"stale", 1, nullptr, 't'},
      {"stale-on", 1, nullptr, 'u'}, {"slow", 1, nullptr, 'm'},    {"check", 0, nullptr, 'c'},
      {nullptr, 0, nullptr, 0}};
  Target target;
  for (int found; (found = getopt_long(count, words, "", known, nullptr)) != -1;) {
    switch (found) {
    case 'p': target.pid = optarg; break;
    case 'a': target.at = optarg; break;
    case 'w': rules.watch = optarg; break;
    case 'o': target.owner = optarg; break;
    case 's': rules.squash = true; break;
    case 'l': rules.no_locks = true; break;
    case 'r': rules.read_only = true; break;
    case 'f': rules.full = atoll(optarg); break;
    case 't': rules.stale = atof(optarg); break;
    case 'm': rules.slow = atoi(optarg); break;
    case 'c': target.check = true; break;
    case 'u': {
      std::istringstream names(optarg);
      for (std::string name; getline(names, name, ',');)
        rules.stale_on.insert(name);
      break;
    }
    default: exit(2);
    }
  }
  return target;
}

// Give the directory to somebody, closed to all others, as homes on a server are.
void hand_over(const Target &target) {
  unsigned uid = 0, gid = 0;
  if (sscanf(target.owner.c_str(), "%u:%u", &uid, &gid) != 2)
    exit(2);
  int fd = open(("/proc/" + target.pid + "/root" + target.at).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || fchmod(fd, 0700) || fchown(fd, uid, gid))
    fail("give " + target.at + " its owner");
  close(fd);
}

void mount_fuse(const std::string &at, int fuse) {
  std::string options = "fd=" + std::to_string(fuse) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
  if (mount("restricted", at.c_str(), "fuse.restricted", MS_NOSUID | MS_NODEV, options.c_str()))
    fail("mount at " + at);
}

// setns(2) moves the whole process into the other namespace, so a child does it and mounts by the inherited descriptor.
void mount_there(const Target &target, int fuse) {
  pid_t child = fork();
  if (child == 0) {
    int there = open(("/proc/" + target.pid + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC);
    if (there < 0 || setns(there, CLONE_NEWNS))
      fail("enter the mount namespace of " + target.pid);
    mount_fuse(target.at, fuse);
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
    exit(1);
}
} // namespace

int main(int count, char **words) {
  Target target = parse(count, words);
  int fuse = open("/dev/fuse", O_RDWR);
  if (fuse < 0)
    fail("open /dev/fuse");
  if (target.check) {
    if (unshare(CLONE_NEWNS))
      fail("make a mount namespace");
    mount_fuse("/mnt", fuse);
    return 0;
  }
  umask(0);
  setgroups(0, nullptr);
  root = open(("/proc/" + target.pid + "/root" + target.at).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0)
    fail("open " + target.at + " of process " + target.pid);
  if (!target.owner.empty())
    hand_over(target);
  mount_there(target, fuse);
  // Asked for a mount point /dev/fd/N, libfuse (3.3 and later) serves the connection that is open there.
  std::string point = "/dev/fd/" + std::to_string(fuse);
  // Each call that waits for a lock has a thread; those that would free it need one, too.
  char name[] = "nfslike", foreground[] = "-f", threads[] = "-omax_threads=256";
  char *arguments[] = {name, foreground, threads, point.data(), nullptr};
  fuse_operations all = operations();
  return fuse_main(4, arguments, &all, nullptr);
}
