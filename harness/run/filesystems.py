"""Tell on which file system a path of this host lies, without touching it: a path on a dead server would not answer."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")


def file_system(path: str, mounts: Path = MOUNTS) -> str | None:
    """Return the type of the file system that ``path`` lies on, such as ``ext4`` or ``nfs4``; None when unknown.

    The table is that of proc_pid_mountinfo(5): https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
    """
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return None
    best, found = -1, None
    for line in lines:
        before, _, after = line.partition(" - ")
        point = _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), before.split(" ")[4])
        # Later lines lie over earlier ones.
        if _below(path, point) and len(point) >= best:
            best, found = len(point), after.split(" ")[0]
    return found


def _below(path: str, point: str) -> bool:
    return point == "/" or path == point or path.startswith(f"{point}/")
