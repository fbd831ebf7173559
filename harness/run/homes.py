"""Turn a home of the matrix into what a container is given for it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.build import nfslike
from harness.build.dockerfiles import REPOSITORY
from harness.plan.homes import AnyHome, BindHome, Home, LocalHome, NfsHome, RestrictedHome, TmpfsHome
from harness.run import restricted
from harness.run.container import HOME, TMP_OPTIONS, Attendant, Volume
from harness.run.filesystems import file_system


@dataclass(frozen=True, kw_only=True)
class HomeGrant:
    """The mounts of a home; it is at ``HOME`` in every container. The rest is as in ContainerSpec.

    ``shared`` tells that what is in it was there before, and stays. ``means`` says how a restricted home is made.
    """

    tmpfs: Mapping[str, str] = field(default_factory=dict)
    volumes: tuple[str, ...] = ()
    written: Mapping[str, Volume] = field(default_factory=dict)
    binds: Mapping[str, str] = field(default_factory=dict)
    owner: tuple[int, int] | None = None
    user: str | None = None
    seccomp: str | None = None
    attendant: Attendant | None = None
    means: str = ""

    @property
    def shared(self) -> bool:
        """Tell whether what is in it was there before, and stays."""
        return bool(self.written or self.binds)


def grant(home: Home, *, image: str = "", fuse: bool = True) -> HomeGrant:
    """Return what a container is given; a fresh anonymous volume lies on the disk of the engine's host.

    ``image`` is that of the restricted homes' file system, which is there when the host has ``fuse``. Raises InfraError
    for a restricted home that cannot be made without.
    """
    match home:
        case TmpfsHome():
            return HomeGrant(tmpfs={HOME: f"{TMP_OPTIONS},size={home.size}{_tmpfs_owner(home.user)}"}, user=home.user)
        case BindHome():
            return HomeGrant(binds={HOME: home.path}, user=home.user)
        case NfsHome():
            return HomeGrant(written={HOME: Volume(name=volume(home), options=volume_options(home))}, user=home.user)
        case RestrictedHome():
            served = home.means == "fuse" or (fuse and home.means == "auto")
            return _served(home, image) if served else _without_fuse(home)
        case LocalHome():
            return HomeGrant(volumes=(HOME,), user=home.user, owner=_numbers(home.user or "0:0"))


def _served(home: RestrictedHome, image: str) -> HomeGrant:
    return HomeGrant(
        volumes=(HOME,), user=home.user, attendant=restricted.attendant(home, image), means=restricted.BY_FUSE
    )


def _without_fuse(home: RestrictedHome) -> HomeGrant:
    means, owner = restricted.by_engine(home), restricted.owner(home)
    seccomp = restricted.without_locks() if home.no_locks else None
    if home.full or home.read_only:  # the engine mounts no anonymous volume read-only
        options = f"{'ro' if home.read_only else 'rw'},exec,nosuid,nodev,{restricted.tmpfs_size(home)}"
        tmpfs = {HOME: options + _tmpfs_owner(owner)}
        return HomeGrant(tmpfs=tmpfs, user=home.user, seccomp=seccomp, means=means)
    return HomeGrant(volumes=(HOME,), owner=_numbers(owner), user=home.user, seccomp=seccomp, means=means)


def _numbers(user: str) -> tuple[int, int] | None:
    """Return uid and gid; None for root, whose a fresh directory is anyway."""
    uid, gid = user.split(":")
    return None if user == "0:0" else (int(uid), int(gid))


def _tmpfs_owner(user: str | None) -> str:
    numbers = _numbers(user or "0:0")
    return f",uid={numbers[0]},gid={numbers[1]},mode=0700" if numbers else ""


def label(home: AnyHome, host: str | None = None) -> str:
    """Return the home as tables show it; of a bound folder of this host, with the type of its file system."""
    kind = _kind(home, host)
    return home.labelled(*([kind] if kind else []))


def identity(home: AnyHome, host: str | None = None) -> dict[str, Any]:
    """Return what of a home decides results beside what the matrix says of it; a ``host``'s mounts are not seen."""
    if isinstance(home, BindHome):
        return {"file_system": _kind(home, host)}
    return {"program": nfslike.source_hash()} if isinstance(home, RestrictedHome) else {}


def _kind(home: AnyHome, host: str | None) -> str | None:
    return file_system(home.path) if isinstance(home, BindHome) and host is None else None


def trouble_name(home: AnyHome) -> str:
    """Return the name under which it is remembered that a home could not be had; no image has a blank in its name."""
    return f"home {home.name}"


def volume_options(home: NfsHome) -> dict[str, str]:
    """Return the options of the ``local`` volume driver that mount the export.

    https://docs.docker.com/reference/cli/docker/volume/create/#opt
    """
    words = [f"addr={home.server}", f"nfsvers={home.version}", *([] if "ro" in home.options else ["rw"])]
    return {"type": "nfs", "o": ",".join([*words, *home.options]), "device": f":{home.path}"}


def volume(home: NfsHome) -> str:
    """Name the volume of an export: an engine never changes the options of a volume that is there."""
    options = "\0".join(f"{name}={value}" for name, value in sorted(volume_options(home).items()))
    return f"{REPOSITORY}-nfs-{hashlib.sha256(options.encode()).hexdigest()[:16]}"


_OF_EXPORTS = (
    (r"no such device|unknown filesystem type",
     "its kernel has no NFS client: install nfs-common (Debian, Ubuntu) or nfs-utils there, and `modprobe nfs`"),
    (r"connection refused|no route to host|network is unreachable|host is down|timed out",
     "the server does not answer there: is it up, does a firewall close port 2049, is `version:` one that it serves?"),
    (r"permission denied|access denied|operation not permitted",
     "the server does not export it to this host: see `exportfs -v` on the server, and exports(5)"),
    (r"no such file or directory|no such host|server misbehaving",
     "there is no such export, or no such server: `showmount -e` lists the exports of one"),
    (r"invalid argument|protocol not supported", "`version:` or one of `options:` is not known there: see nfs(5)"),
)  # fmt: skip
_OF_FOLDERS = (
    (r"does not exist|no such file", "there is no such folder on that host: make it, or mend `path:`"),
    # moby makes and looks at the folder as root: https://github.com/moby/moby/issues/35002
    (r"permission denied|operation not permitted",
     "the engine may not go there, though it is root: so it is with a folder below an NFS export with root_squash "
     "(exports(5)), which takes root for nobody, or on a FUSE mount of another user. Open the folders above it for "
     "passing (chmod o+x), mount the export itself with `kind: nfs`, or run an engine of the folder's owner"),
    (r"transport endpoint is not connected|stale file handle", "its mount is dead there: unmount it, mount it anew"),
    (r"not a directory", "it is no folder"),
)  # fmt: skip


def explain(home: BindHome | NfsHome, host: str, error: str) -> str:
    """Say why the engine could not mount a home, and what mends it."""
    table = _OF_EXPORTS if isinstance(home, NfsHome) else _OF_FOLDERS
    reason = next((reason for pattern, reason in table if re.search(pattern, error, re.IGNORECASE)), None)
    said = error.partition(": ")[2] or error
    return f"homes: {home.name}: {_where(home)} cannot be mounted on {host}: {reason or said}" + (
        f". The engine said: {said}" if reason else ""
    )


def silent(home: BindHome | NfsHome, host: str, patience: float) -> str:
    """Say that a mount did not come about in time."""
    return (
        f"homes: {home.name}: {_where(home)} was not mounted on {host} within {patience:g} s: its server is silent. "
        "Try `ls` on it there; its cells are tried again by the next run, all others are not held up."
    )


def _where(home: BindHome | NfsHome) -> str:
    return f"{home.server}:{home.path}" if isinstance(home, NfsHome) else home.path
