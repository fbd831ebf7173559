"""Remember which engine we started on this host, so that this one and no other is ever stopped.

The record is ``<state>/engine/<host>.json``: the host's name is part of it since ``.harness/`` may lie on NFS, and the
process's start time is in it so that a process number that came round again is never taken for the daemon.
"""

import json
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock


@dataclass(frozen=True, kw_only=True)
class Started:
    """Name a daemon: process number and start time, URL, and the systemd units to stop with it (none: by hand)."""

    pid: int
    start: int
    url: str
    units: tuple[str, ...] = ()

    @property
    def how(self) -> str:
        """Say what started it."""
        return "systemctl" if self.units else "dockerd"

    def lives(self) -> bool:
        """Tell whether this very process still runs."""
        return start_time(self.pid) == self.start


def start_time(pid: int) -> int | None:
    """Return when a live process started, in clock ticks since boot (field 22 of proc_pid_stat(5)), else None."""
    try:
        # The name in field 2 may hold blanks and brackets, so count from its end: state is field 3.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def lock(state: Path) -> FileLock:
    """Return the lock under which an engine is started or stopped, making its folder."""
    path = file_of(state, "lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path)


def file_of(state: Path, kind: str) -> Path:
    """Return this host's file of a kind: ``json`` the record, ``log`` the daemon's output, ``lock``."""
    return state / "engine" / f"{platform.node() or 'localhost'}.{kind}"


def remember(state: Path, daemon: Started) -> None:
    """Write the record at once or not at all."""
    path = file_of(state, "json")
    new = file_of(state, "json.new")
    new.write_text(json.dumps({**asdict(daemon), "how": daemon.how}) + "\n", encoding="utf-8")
    new.replace(path)


def recall(state: Path) -> Started | None:
    """Return the recorded daemon if it still runs; None for no record, a torn one, or a daemon that has ended."""
    try:
        fields = json.loads(file_of(state, "json").read_text(encoding="utf-8"))
        names = ("pid", "start", "url")
        daemon = Started(**{name: fields[name] for name in names}, units=tuple(fields["units"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return daemon if daemon.lives() else None


def forget(state: Path) -> None:
    """Drop the record."""
    file_of(state, "json").unlink(missing_ok=True)
