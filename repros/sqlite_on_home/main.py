"""Let several processes write to one SQLite database, and count what arrived."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from repro import repro_metric, repro_observe, repro_signature

ROWS = 25  # of each writer; every row is a transaction
PATIENCE = 20.0  # seconds that a writer waits for the others


def connected(path: str, journal: str) -> sqlite3.Connection:
    """Open the database in a journal mode; SQLite falls back to another one without an error, so it is looked at."""
    database = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    (mode,) = database.execute(f"PRAGMA journal_mode={journal}").fetchone()
    if mode != journal:
        raise sqlite3.OperationalError(f"journal mode {mode} instead of {journal}")
    return database


def write(path: str, journal: str, writer: int) -> None:
    """Add the rows of one writer."""
    database = connected(path, journal)
    for row in range(ROWS):
        database.execute("INSERT INTO kern_db VALUES (?, ?)", (writer, row))
    database.close()


def together(path: str, journal: str, writers: int) -> int:
    """Let all write at once; return how many rows are there, in a database that is whole."""
    database = connected(path, journal)
    database.execute("CREATE TABLE kern_db (writer INTEGER, row INTEGER)")
    words = [sys.executable, __file__, "--writer", path, journal]
    running = [subprocess.Popen([*words, str(n)], stderr=subprocess.PIPE, text=True) for n in range(writers)]
    for process in running:
        _, complaint = process.communicate()
        if process.returncode:
            raise sqlite3.OperationalError(complaint.strip().splitlines()[-1])
    (whole,) = database.execute("PRAGMA integrity_check").fetchone()
    if whole != "ok":
        raise sqlite3.DatabaseError(f"integrity: {whole}")
    (rows,) = database.execute("SELECT count(*) FROM kern_db").fetchone()
    return int(rows)


def named(error: sqlite3.Error) -> str:
    """Return SQLite's own name of an error, which Python knows since 3.11, else what it says."""
    return getattr(error, "sqlite_errorname", None) or str(error)


def main() -> int:
    """Be one writer, or the parent of them all; return the exit status."""
    if sys.argv[1] == "--writer":
        try:
            write(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        except sqlite3.Error as error:
            print(named(error), file=sys.stderr)
            return 1
        return 0
    where, journal, writers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    place = os.environ["HOME"] if where == "home" else tempfile.gettempdir()
    folder = Path(place) / f"trial-{os.environ.get('REPRO_TRIAL', '1')}"
    try:
        folder.mkdir()
        rows = together(str(folder / "kern.db"), journal, writers)
    except (sqlite3.Error, OSError) as error:
        name = named(error) if isinstance(error, sqlite3.Error) else f"{type(error).__name__}: {error.strerror}"
        print(f"{error}: {folder}")
        repro_observe("SQLite", name)
        repro_signature(name)
        return 1
    repro_metric("rows", rows, "rows")
    print(f"{rows} rows of {writers * ROWS}")
    return int(rows != writers * ROWS)


if __name__ == "__main__":
    sys.exit(main())
