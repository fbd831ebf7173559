"""Write and read records: one append-only JSON Lines file for each run, one line for each trial.

Every line stands alone, so files of several hosts can simply be put together; one run writes one file, so they are safe
on NFS. A line that a crash tore off is passed over on reading.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.judge.homes import HomeWrites
from harness.judge.outcomes import Judgement, Metric, Outcome
from harness.judge.trust import Mark


class Record(BaseModel):
    """One trial of one cell, as it was judged; ``duration`` is in seconds, ``time`` is ISO 8601 in UTC.

    ``device`` is the column of the table; ``without_device`` tells that the repro was given nothing of it. ``software``
    are answers of the software GPU that the outcome may rest on, unless they are among ``robust_to``.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    run: str
    time: str
    key: str
    repro: str
    case: dict[str, str | bool | int | float]
    control: bool
    image: str
    image_id: str
    rocm: str
    device: str
    home: str
    environment: str
    trial: int
    outcome: Outcome
    signature: str | None = None
    reason: str | None = None
    status: int
    duration: float
    stdout: str = ""
    stderr: str = ""
    observations: dict[str, Any] = {}
    metrics: tuple[dict[str, Any], ...] = ()
    without_device: bool = False
    software: tuple[Mark, ...] = ()
    robust_to: tuple[str, ...] = ()
    home_writes: HomeWrites | None = None

    @property
    def judgement(self) -> Judgement:
        """Return what the trial was judged to be."""
        return Judgement(
            outcome=self.outcome,
            signature=self.signature,
            reason=self.reason,
            observations=self.observations,
            metrics=tuple(Metric(**metric) for metric in self.metrics),
            marks=self.software,
        )


class Writer:
    """Append the records of one run; safe to use from several threads."""

    def __init__(self, folder: Path, run: str) -> None:
        self.path = folder / f"{run}.jsonl"
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        # Exclusive: a run owns its file, and two runs of one name would be one too many.
        self._file = self.path.open("x", encoding="utf-8")

    def append(self, record: Record) -> None:
        """Write one line and hand it to the operating system before returning."""
        line = record.model_dump_json() + "\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()

    def close(self) -> None:
        """Close the file, and take it away again when the run recorded nothing."""
        self._file.close()
        if self.path.stat().st_size == 0:
            self.path.unlink()


def read(paths: Iterable[Path]) -> Iterator[Record]:
    """Read records from files, oldest file first; lines that are torn or none of ours are passed over."""
    for path in sorted(paths):
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                yield Record.model_validate_json(line)
            except ValidationError:
                continue


def files(folder: Path) -> list[Path]:
    """List the record files of a project."""
    return sorted(folder.glob("*.jsonl"))
