"""Say what a trial wrote, failed to write, or locked below its home, and which cache that was. Pure.

A restricted home that is a FUSE file system keeps a log, so that every refusal is known. Of other homes it is known
what lies there after the trial, whether the user may write at all, and what the repro printed about it; what a program
was refused and kept to itself is not seen there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from harness.judge.caches import cache_of
from harness.run.container import HOME
from harness.run.trials import HomeSeen, Trial

MOST_NAMED = 100
UNNAMED = "a file that was not named"
_LOCKS = {"flock", "fcntl lock"}
# Files whose only use is to lock others, or to recover what was under way: https://sqlite.org/tempfiles.html
_LOCK_FILE = re.compile(r".*(\.lock|\.lck|-shm|-wal|-journal)$|(.*/)?miopen-lockfiles/")
# What strerror(3) has for the errors of homes, with a path below one near it.
_WORDS = {
    "Permission denied": "EACCES",
    "Operation not permitted": "EPERM",
    "Read-only file system": "EROFS",
    "No space left on device": "ENOSPC",
    "Disk quota exceeded": "EDQUOT",
    "No locks available": "ENOLCK",
    "Stale file handle": "ESTALE",
}
_PRINTED = re.compile("|".join(map(re.escape, _WORDS)))
_PATH = re.compile(re.escape(HOME) + r"(/[^\s'\":,;)\]]*)?")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Wrote(_Frozen):
    """A path below the home that was written or changed; ``bytes`` as they lie there, or as they were written."""

    path: str
    bytes: int = 0
    cache: str | None = None


class Failed(_Frozen):
    """Something that was refused: ``op`` is the operation, or ``printed`` where only the repro's words tell of it."""

    op: str
    path: str
    errno: str
    count: int = 1
    cache: str | None = None


class HomeWrites(_Frozen):
    """What became known of a home; ``by`` says how: ``log`` knows every refusal, ``walk`` what was left and printed.

    ``writable`` is None where nobody looked. ``locks`` are paths that were locked, also in vain; from a walk, those of
    lock files.
    """

    file_system: str = ""
    means: str = ""
    by: str = ""
    writable: bool | None = None
    wrote: tuple[Wrote, ...] = ()
    failed: tuple[Failed, ...] = ()
    locks: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def caches(self) -> tuple[str, ...]:
        """Return the caches that were touched, or were to be; folders above them only where nothing below is known."""
        paths = [item.path for item in self.wrote] + [item.path for item in self.failed]
        deepest = [path for path in paths if not any(other.startswith(f"{path}/") for other in paths)]
        return tuple(dict.fromkeys(filter(None, map(_cache, deepest))))


def read(trial: Trial, *, means: str = "") -> HomeWrites:
    """Return what is known of the home of one trial."""
    seen = trial.home
    printed = _printed(trial)
    if seen.log is not None:
        wrote, failed, locked, left_out = _from_log(seen.log)
        # Where a path is refused half-way, only the program knows to where it was going.
        known = {item.path for item in failed} | {UNNAMED}
        failed += [item for item in printed if item.path not in known]
    else:
        wrote = [Wrote(path=path, bytes=size, cache=_cache(path)) for _, size, path in seen.files if path]
        failed, locked, left_out = printed, [item.path for item in wrote if _LOCK_FILE.match(item.path)], 0
    return _summed(seen, means, wrote, failed, locked, left_out)


def _summed(
    seen: HomeSeen, means: str, wrote: Sequence[Wrote], failed: Sequence[Failed], locked: Sequence[str], left_out: int
) -> HomeWrites:
    beyond = max(len(wrote) - MOST_NAMED, 0) + max(len(failed) - MOST_NAMED, 0)
    return HomeWrites(
        file_system=seen.file_system,
        means=means,
        by="" if not seen.file_system else "walk" if seen.log is None else "log",
        writable=seen.writable,
        wrote=tuple(wrote[:MOST_NAMED]),
        failed=tuple(failed[:MOST_NAMED]),
        locks=tuple(dict.fromkeys(locked))[:MOST_NAMED],
        left_out=left_out + beyond,
    )


def _cache(path: str) -> str | None:
    found = cache_of(path)
    return found.name if found else None


def _from_log(text: str) -> tuple[list[Wrote], list[Failed], list[str], int]:
    sizes: dict[str, int] = {}
    failed: list[Failed] = []
    locked: list[str] = []
    left_out = 0
    for line in text.splitlines():
        entry = _entry(line)
        left_out += int(entry.get("left_out", 0))
        if not (path := entry.get("path")):
            continue
        if entry["op"] in _LOCKS:
            locked.append(path)
        if name := entry.get("errno"):
            failed.append(Failed(op=entry["op"], path=path, errno=name, count=entry["count"], cache=_cache(path)))
        elif entry["op"] not in _LOCKS:
            sizes[path] = sizes.get(path, 0) + int(entry["bytes"])
    wrote = [Wrote(path=path, bytes=size, cache=_cache(path)) for path, size in sizes.items()]
    return wrote, failed, locked, left_out


def _entry(line: str) -> dict[str, Any]:
    """Read one line; the last one may have been cut off."""
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _printed(trial: Trial) -> list[Failed]:
    """Find the lines that complain of a path below the home."""
    found: dict[tuple[str, str], int] = {}
    for line in (trial.stderr.text + "\n" + trial.stdout.text).splitlines():
        path, words = _PATH.search(line), _PRINTED.search(line)
        # Of these two no path is needed: nothing but a file server gives them.
        if words and (path or _WORDS[words.group()] in {"ENOLCK", "ESTALE"}):
            key = (((path.group(1) or "").strip("/") or ".") if path else UNNAMED, _WORDS[words.group()])
            found[key] = found.get(key, 0) + 1
    return [Failed(op="printed", path=path, errno=name, count=count, cache=_cache(path))
            for (path, name), count in found.items()]  # fmt: skip


def together(several: Iterable[HomeWrites]) -> HomeWrites | None:
    """Put together what the trials of one cell tell; None when none tells anything."""
    known = [item for item in several if item.by]
    if not known:
        return None
    wrote = {item.path: item for writes in known for item in writes.wrote}
    failed: dict[tuple[str, str, str], Failed] = {}
    for item in (item for writes in known for item in writes.failed):
        key = (item.op, item.path, item.errno)
        count = item.count + (failed[key].count if key in failed else 0)
        failed[key] = item.model_copy(update={"count": count})
    locks = dict.fromkeys(path for writes in known for path in writes.locks)
    last = known[-1]
    return last.model_copy(
        update={
            "wrote": tuple(wrote.values())[:MOST_NAMED],
            "failed": tuple(failed.values())[:MOST_NAMED],
            "locks": tuple(locks)[:MOST_NAMED],
            "left_out": max(writes.left_out for writes in known),
        }
    )


def sentence(writes: HomeWrites | None) -> str | None:
    """Say in one line what was refused, for a footnote; None when nothing was."""
    if writes is None:
        return None
    said = []
    if writes.writable is False:
        said.append(f"not writable at all for its user ({_mend(writes)})")
    groups: dict[tuple[str, str], list[Failed]] = {}
    # What is a cache first: these are why anybody looks.
    for item in sorted(writes.failed, key=lambda item: item.cache is None or item.cache.startswith("all ")):
        groups.setdefault((item.cache or item.path, item.errno), []).append(item)
    for (what, name), items in list(groups.items())[:4]:
        operations = ", ".join(dict.fromkeys(item.op for item in items))
        said.append(f"{'the home itself' if what == '.' else what}: {name} ({operations})")
    if len(groups) > 4:
        said.append(f"and {len(groups) - 4} more")
    if not said:
        return None
    if writes.by == "log" and any(item.errno == "EACCES" for item in writes.failed):
        said.append("where uid 0 is taken for nobody, `user:` with the owner's uid:gid is let in")
    how = f"; made by {writes.means}" if writes.means and writes.by == "walk" else ""
    return f"home: {'; '.join(said)}{how}"


def _mend(writes: HomeWrites) -> str:
    if any(item.errno == "EROFS" for item in writes.failed):
        return "it is mounted read-only"
    if writes.file_system.startswith("nfs"):
        return "an NFS export with root_squash takes uid 0 for nobody: give `user:` the owner's uid:gid"
    return "give `user:` the uid:gid of its owner, or make it writable"
