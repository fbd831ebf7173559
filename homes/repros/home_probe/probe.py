"""Do below $HOME what ROCm's programs do there, each thing by itself, and report the errno of each.

Fails with the first thing that was refused as its signature. `chown` gives a file to another user, which only root may.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

HOME = Path(os.environ["HOME"])
FILE = HOME / "file"
MIOPEN = HOME / ".cache/miopen/3.2.0"


def create() -> None:
    """Make the file that the next steps are about."""
    FILE.touch()


def write() -> None:
    """Write to it and wait for the disk, where a full file system may show only then."""
    with FILE.open("wb", buffering=0) as file:
        file.write(b"x" * 100_000)
        os.fsync(file)


def flock() -> None:
    """Lock it as a whole."""
    with FILE.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def record_lock() -> None:
    """Lock a range of it, as SQLite does."""
    with FILE.open("r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)


def sqlite_wal(path: Path) -> None:
    """Fill a database in WAL mode."""
    database = sqlite3.connect(path, timeout=1)
    try:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE IF NOT EXISTS kern_db (kernel TEXT)")
        database.execute("INSERT INTO kern_db VALUES ('x')")
        database.commit()
    finally:
        database.close()


def miopen_cache() -> None:
    """Do what MIOpen does for its kernel cache: a lock file, then a database in WAL mode; name it where that fails."""
    try:
        MIOPEN.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(MIOPEN)) from error
    with (MIOPEN / "gfx90a.ukdb.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        sqlite_wal(MIOPEN / "gfx90a.ukdb")


STEPS: dict[str, Callable[[], object]] = {
    "mkdir": lambda: (HOME / "folder").mkdir(),
    "create": create,
    "write": write,
    "flock": flock,
    "fcntl lock": record_lock,
    "chown": lambda: os.chown(FILE, 4242, 4242),
    "rename": lambda: FILE.rename(HOME / "renamed"),
    "SQLite WAL": lambda: sqlite_wal(HOME / "a.db"),
    "MIOpen cache": miopen_cache,
}


def outcome(step: Callable[[], object]) -> str:
    """Return ``ok``, or the name of the error."""
    try:
        step()
    except sqlite3.Error as error:
        return getattr(error, "sqlite_errorname", str(error))
    except OSError as error:
        print(error, file=sys.stderr)
        return errno.errorcode.get(error.errno or 0, str(error))
    return "ok"


def look() -> float:
    """Return the milliseconds that a look at the home takes."""
    started = time.monotonic()
    for _ in range(3):
        HOME.stat()
    return (time.monotonic() - started) / 3 * 1000


def main() -> int:
    """Go through all steps."""
    found = {name: outcome(step) for name, step in STEPS.items()}
    failed = [f"{name}: {result}" for name, result in found.items() if result != "ok"]
    with Path(os.environ["REPRO_EVENTS"]).open("a") as events:
        print(json.dumps({"observe": found}), file=events)
        print(json.dumps({"metric": {"name": "stat", "value": look(), "unit": "ms"}}), file=events)
        if failed:
            print(json.dumps({"signature": failed[0]}), file=events)
    print("\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
