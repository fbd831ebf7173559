"""Describe how the home directory of a cell is mounted, and for whom."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from harness.plan.values import Model, Name, Size, kind_alone

# Numbers, not names: no image has to know them. 4294967295 is (uid_t) -1, which chown(2) takes for "leave it".
User = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,8}):(0|[1-9][0-9]{0,8})$")]
_PATH = re.compile(r"(/\.?[A-Za-z0-9_+@=~ -][A-Za-z0-9._+@=~ -]*)+")


def _absolute(path: str) -> str:
    """Refuse what is relative, leads up, or holds a separator of mount options or of the engine's short forms."""
    if not _PATH.fullmatch(path):
        raise ValueError(
            f"{path!r} must be an absolute path of letters, digits and ._+@=~- or blanks, without '..'; "
            "neither ~ nor a variable is expanded"
        )
    return path


HostPath = Annotated[str, AfterValidator(_absolute)]
Server = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.:-]*$")]
# Whoever writes 4.2 without quotes means no other version.
Version = Annotated[
    Literal["3", "4", "4.0", "4.1", "4.2"],
    BeforeValidator(lambda value: str(value) if isinstance(value, int | float) else value),
]
MountOption = Annotated[str, StringConstraints(pattern=r"^[a-z_]+(=[A-Za-z0-9._:/-]+)?$")]
Operation = Literal[
    "access", "chmod", "chown", "create", "fcntl lock", "flock", "fsync", "getattr", "link", "mkdir", "mknod", "open",
    "opendir", "read", "readdir", "readlink", "rename", "rmdir", "statfs", "symlink", "truncate", "unlink", "utimens",
    "write",
]  # fmt: skip


class AnyHome(Model):
    """What every home has; ``user`` is the whole container's, which needs no entry in its passwd."""

    name: Name
    user: User | None = Field(None, description="uid:gid of the container's processes; default: 0:0.")

    @property
    def details(self) -> tuple[str, ...]:
        """Return what its name does not say."""
        return ()

    def labelled(self, *more: str) -> str:
        """Return the home as tables show it: its name, and in parentheses what that does not say."""
        parts = [*more, *self.details, *([f"user {self.user}"] if self.user else [])]
        return f"{self.name} ({', '.join(parts)})" if parts else self.name


class LocalHome(AnyHome):
    """A fresh directory on the engine's local disk."""

    kind: Literal["local"]
    name: Name = "local"


class TmpfsHome(AnyHome):
    """A fresh directory in memory."""

    kind: Literal["tmpfs"]
    name: Name = "tmpfs"
    size: Size = "256m"


class BindHome(AnyHome):
    """An existing directory of the engine's host, such as a real home; all its cells share it, and what is in it."""

    kind: Literal["bind"]
    name: Name = "bind"
    path: HostPath = Field(description="An existing directory on the host where the engine runs.")


class NfsHome(AnyHome):
    """An NFS export, mounted by the kernel of the engine's host; all its cells share it, and what is in it.

    The options are those of nfs(5): https://man7.org/linux/man-pages/man5/nfs.5.html
    """

    kind: Literal["nfs"]
    name: Name = "nfs"
    server: Server = Field(description="Address or name of the server.")
    path: HostPath = Field(description="The exported directory, or one below it.")
    version: Version = "4.2"
    options: tuple[MountOption, ...] = Field((), description="More options of nfs(5), such as nolock or soft.")
    patience: float = Field(20, ge=1, le=600, description="Seconds after which a server that is silent is given up.")

    @property
    def details(self) -> tuple[str, ...]:
        """Return where it is, and how it is mounted."""
        return (f"{self.server}:{self.path} v{self.version}", *self.options)


class Stale(Model):
    """When handles become stale, and for which operations; the default is all of them at once."""

    after: float = Field(0, ge=0, le=86_400, description="Seconds after the start of the container.")
    operations: tuple[Operation, ...] = Field((), description="Empty stands for all.")


def _after(value: object) -> object:
    if value is True:
        return {}
    return {"after": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


class RestrictedHome(AnyHome):
    """A fresh directory that behaves like a troublesome NFS export, without any server; behaviours can be combined.

    Which errors an export gives is from exports(5) (root_squash), nfs(5) (lock, ro), fcntl(2) (ENOLCK) and errno(3)
    (ESTALE): https://man7.org/linux/man-pages/man5/exports.5.html, https://man7.org/linux/man-pages/man2/fcntl.2.html
    """

    kind: Literal["restricted"]
    name: Name = "restricted"
    squash: bool = Field(False, description="uid 0 and gid 0 are nobody, as with root_squash of exports(5).")
    no_locks: bool = Field(False, description="flock and fcntl locks: ENOLCK.")
    read_only: bool = Field(False, description="Every change: EROFS.")
    full: bool | Size = Field(False, description="ENOSPC at once (true), or after so much was written.")
    stale: Annotated[
        Stale | None, BeforeValidator(_after, json_schema_input_type=Stale | float | Literal[True] | None)
    ] = Field(None, description="ESTALE; true, seconds, or {after, operations}.")
    slow: int | None = Field(None, ge=1, le=60_000, description="Milliseconds that each attribute call takes.")
    owner: User = Field("1000:1000", description="With squash: whose home it is; mode 0700.")
    means: Literal["auto", "fuse", "engine"] = Field(
        "auto", description="A FUSE file system; or, where there is no /dev/fuse, what the engine itself can do."
    )

    @model_validator(mode="after")
    def _restricts_something(self) -> RestrictedHome:
        if not self.behaviours:
            raise ValueError("say what is restricted: at least one of squash, no_locks, read_only, full, stale, slow")
        return self

    @property
    def behaviours(self) -> tuple[str, ...]:
        """Return its behaviours in words."""
        stale = self.stale
        when = f" after {stale.after:g} s" if stale and stale.after else ""
        which = f" for {', '.join(stale.operations)}" if stale and stale.operations else ""
        listed = {
            "squash": self.squash,
            "no locks": self.no_locks,
            "read only": self.read_only,
            f"full after {self.full}" if isinstance(self.full, str) else "full": bool(self.full),
            f"stale{when}{which}": stale is not None,
            f"slow {self.slow} ms": self.slow is not None,
        }
        return tuple(word for word, holds in listed.items() if holds)

    @property
    def details(self) -> tuple[str, ...]:
        """Return the behaviours, and who owns it where that matters."""
        owner = [f"owner {self.owner}"] if self.squash and self.owner != "1000:1000" else []
        means = [f"means {self.means}"] if self.means != "auto" else []
        return (*self.behaviours, *owner, *means)


_HomeKinds = Annotated[LocalHome | TmpfsHome | BindHome | NfsHome | RestrictedHome, Field(discriminator="kind")]
_ASKED = {
    "bind": "{kind: bind, path: /home/me}",
    "nfs": "{kind: nfs, server: 10.0.0.1, path: /export/home}",
    "restricted": "{kind: restricted, squash: true}",
}


def _kind_alone(value: object) -> object:
    if isinstance(value, str) and value in _ASKED:
        raise ValueError(f"{value!r} alone does not say which: write it as {_ASKED[value]}")
    return kind_alone(value)


Home = Annotated[
    _HomeKinds, BeforeValidator(_kind_alone, json_schema_input_type=Literal["local", "tmpfs"] | _HomeKinds)
]
