"""Say how a restricted home is made: by the FUSE file system of nfslike/, or by what the engine itself can do.

The file system is laid over the fresh volume of the container, in the container's own mount namespace: so it works
where mounts of the host do not propagate and where the engine is on another host, and ends with the container.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from typing import Any

from harness.build.nfslike import PROGRAM
from harness.errors import InfraError
from harness.plan.homes import RestrictedHome
from harness.run.container import HOME, Attendant
from harness.run.limits import in_bytes

FUSE = "/dev/fuse"
# To mount in another container's namespace (setns(2): SYS_ADMIN and SYS_CHROOT; proc(5): SYS_PTRACE), to act with the
# caller's identity (setfsuid(2): SETUID, SETGID), and to be what root is on a file server (capabilities(7)).
CAPABILITIES = (
    "SYS_ADMIN", "SYS_CHROOT", "SYS_PTRACE", "SETUID", "SETGID",
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID",
)  # fmt: skip
BY_FUSE = "a FUSE file system"


def watch_name(nonce: str) -> str:
    """Return the name below the home under which the file system's log is read; no repro can guess it."""
    return f".harness-{nonce}"


def owner(home: RestrictedHome) -> str:
    """Return whose the home is: the container's own user's, or with squash somebody's whom uid 0 is not."""
    return home.owner if home.squash else home.user or "0:0"


def attendant(home: RestrictedHome, image: str) -> Attendant:
    """Return the program that serves ``home``."""
    words = [PROGRAM, "--at", HOME, "--owner", owner(home)]
    words += ["--squash"] if home.squash else []
    words += ["--no-locks"] if home.no_locks else []
    words += ["--read-only"] if home.read_only else []
    if home.full:
        words += ["--full", str(0 if home.full is True else in_bytes(home.full))]
    if home.stale:
        words += ["--stale", f"{home.stale.after:g}"]
        words += ["--stale-on", ",".join(home.stale.operations)] if home.stale.operations else []
    words += ["--slow", str(home.slow)] if home.slow else []
    return Attendant(image=image, command=tuple(words))


def by_engine(home: RestrictedHome) -> str:
    """Say by which means the engine makes ``home``.

    Raises InfraError for what only a file system can do.
    """
    if home.stale or home.slow:
        raise InfraError(
            f"homes: {home.name}: stale handles and slow attributes need {FUSE} on the engine's host, and a rootful "
            "engine. `modprobe fuse` there, or leave these behaviours out."
        )
    means = ["a directory of another user"] if home.squash else []
    means += ["a seccomp profile, so locks fail on every file and not only below the home"] if home.no_locks else []
    means += ["a tmpfs that is read-only"] if home.read_only else []
    means += ["a tmpfs of that size"] if home.full else []
    return f"the engine: {'; '.join(means)}"


def tmpfs_size(home: RestrictedHome) -> str:
    """Return the options of the tmpfs that stands for a full disk; no inode is left where nothing is to fit.

    https://docs.kernel.org/filesystems/tmpfs.html
    """
    return "size=4k,nr_inodes=1" if home.full is True else f"size={home.full or '4k'}"


# fcntl(2) on x86-64 and arm64: F_GETLK, F_SETLK, F_SETLKW, and F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW.
_LOCKING = (5, 6, 7, 36, 37, 38)
# A profile of our own replaces the engine's; what that refuses to containers without capabilities is refused here, too:
# https://docs.docker.com/engine/security/seccomp/#significant-syscalls-blocked-by-the-default-profile
_REFUSED = (
    "acct", "add_key", "bpf", "clock_adjtime", "clock_settime", "create_module", "delete_module", "finit_module",
    "fsconfig", "fsmount", "fsopen", "fspick", "get_kernel_syms", "init_module", "ioperm", "iopl", "io_uring_enter",
    "io_uring_register", "io_uring_setup", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie",
    "mount", "mount_setattr", "move_mount", "move_pages", "name_to_handle_at", "nfsservctl", "open_by_handle_at",
    "open_tree", "perf_event_open", "pivot_root", "process_vm_readv", "process_vm_writev", "query_module", "quotactl",
    "reboot", "request_key", "setns", "settimeofday", "stime", "swapoff", "swapon", "sysfs", "syslog", "umount",
    "umount2", "unshare", "uselib", "userfaultfd", "ustat", "vm86", "vm86old",
)  # fmt: skip


def without_locks() -> str:
    """Return the seccomp profile under which every lock is ENOLCK.

    https://docs.docker.com/engine/security/seccomp/ and, for ``errnoRet``, the runtime specification:
    https://github.com/opencontainers/runtime-spec/blob/main/config-linux.md#seccomp
    """
    rules = [_refuse(["flock"], errno.ENOLCK)]
    rules += [_refuse(["fcntl", "fcntl64"], errno.ENOLCK, second=command) for command in _LOCKING]
    rules.append(_refuse(_REFUSED, errno.EPERM))
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules})


def _refuse(names: Sequence[str], error: int, second: int | None = None) -> dict[str, Any]:
    only = [] if second is None else [{"index": 1, "value": second, "op": "SCMP_CMP_EQ"}]
    return {"names": list(names), "action": "SCMP_ACT_ERRNO", "errnoRet": error, "args": only}
