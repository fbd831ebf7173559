"""Compute the bounds of containers, and watch the disk that all of them share."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
MEMORY_SHARE = 0.8
# Below this the engine itself starts to fail, and with it every cell, whatever its own repro does.
DISK_RESERVE = 2 << 30


def in_bytes(size: str) -> int:
    """Return a size such as ``64k`` in bytes."""
    return int(size[:-1]) * _UNITS[size[-1]]


def blocks(size: str) -> int:
    """Return a size in blocks of 512 bytes, the unit of POSIX ``ulimit -f``."""
    return in_bytes(size) // 512


def memory(asked: str | None, *, total: int, jobs: int) -> str:
    """Return a container's memory limit: what was asked for, else its share of the engine's memory in bytes."""
    return asked or str(max(int(total * MEMORY_SHARE / jobs), 64 << 20))


class DiskWatch:
    """Call ``alarm`` once when the engine's disk is nearly full, so that no repro can take the host down.

    Watches only an engine of this host: the disk of another is not ours to see.
    """

    def __init__(
        self, facts: Mapping[str, Any], alarm: Callable[[str], None], *, period: float = 0.5,
        reserve: int = DISK_RESERVE,
    ) -> None:  # fmt: skip
        self._root = Path(str(facts.get("DockerRootDir", "")))
        self._alarm = alarm
        self._period = period
        self._reserve = reserve
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="disk-watch", daemon=True)

    def __enter__(self) -> DiskWatch:
        if self._root.is_dir() and shutil.disk_usage(self._root).free > self._reserve:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()

    def _watch(self) -> None:
        while not self._done.wait(self._period):
            free = shutil.disk_usage(self._root).free
            if free < self._reserve:
                self._alarm(f"the disk of {self._root} has only {free >> 20} MiB left")
                return
