"""Read what the runner in a container prints: one ``Trial`` for each command it ran.

Bytes in, trials out. The lines are those of capture.sh and runner.sh.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness.build.dockerfiles import TEMPLATES

_HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Output:
    """What was kept of one stream: its head, its tail, and how many bytes between them were not."""

    head: bytes = b""
    tail: bytes = b""
    left_out: int = 0

    @property
    def text(self) -> str:
        """Return the stream as text, with a line that says what is missing."""
        if not self.left_out and not self.tail:
            return self.head.decode(errors="replace")
        gap = f"\n[… {self.left_out:,} bytes left out …]\n" if self.left_out else ""
        return self.head.decode(errors="replace") + gap + self.tail.decode(errors="replace")


@dataclass(frozen=True, kw_only=True)
class HomeSeen:
    """What was seen of the home after a trial, as it was reported.

    ``writable`` is None when it was not looked at. ``files`` are (kind, size, path) as find(1) has them; ``log`` is
    what the home's own file system tells, None where it tells nothing.
    """

    file_system: str = ""
    writable: bool | None = None
    files: tuple[tuple[str, int, str], ...] = ()
    log: str | None = None


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One execution of a cell, as it was observed and not yet judged.

    ``status`` is a shell's: 128 + signal for a death. ``duration`` is in seconds. ``build`` is the status of the
    build that this trial ran. ``software`` is what the software GPU reported. ``vanished`` means that the runner
    itself was gone before it could report, and ``trouble`` says why when that is known.
    """

    number: int
    status: int = 0
    duration: float = 0.0
    limit: float
    stdout: Output = field(default_factory=Output)
    stderr: Output = field(default_factory=Output)
    events: str = ""
    software: str = ""
    oom: bool = False
    home: HomeSeen = field(default_factory=HomeSeen)
    build: int = 0
    vanished: bool = False
    trouble: str = ""

    @property
    def timed_out(self) -> bool:
        """Tell whether timeout(1) ended it: 124, or 137 when it had to kill what ignored SIGTERM."""
        return self.status in {124, 137} and self.duration >= self.limit


def script() -> str:
    """Return the program that a container's shell is handed: capture.sh, then runner.sh."""
    return (TEMPLATES / "support" / "capture.sh").read_text() + (_HERE / "runner.sh").read_text()


def read(pieces: Iterable[bytes], *, limit: float, nonce: str) -> Iterator[Trial]:
    """Yield each trial as soon as its last line is there; one that broke off comes last, as ``vanished``.

    Lines that do not begin with ``nonce`` come from the repro, not from the runner.
    """
    build, number, lines = 0, 0, dict[str, list[str]]()
    for line in _lines(pieces):
        match line.split(" "):
            case [sign, *_] if sign != nonce:
                continue
            case [_, "build", status]:
                build = _number(status)
            case [_, "trial", now]:
                number, lines = _number(now), {}
            case [_, "end", _]:
                yield _trial(number, lines, limit=limit, build=build)
                number = 0
            case [_, word, *values]:
                lines[word] = values
    if number:
        yield Trial(number=number, limit=limit, build=build, vanished=True)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    rest = bytearray()
    for piece in pieces:
        rest += piece
        *whole, rest = rest.split(b"\n")
        for line in whole:
            yield line.decode("ascii", errors="replace")


def _trial(number: int, lines: dict[str, list[str]], *, limit: float, build: int) -> Trial:
    try:
        status, start, end = (int(value) for value in lines["status"])
        return Trial(
            number=number,
            status=status,
            duration=(end - start) / 1e9,
            limit=limit,
            stdout=_output(lines["stdout"]),
            stderr=_output(lines["stderr"]),
            events=base64.b64decode(lines["events"][0]).decode(errors="replace"),
            oom=int(lines["oom"][0]) > 0,
            software=base64.b64decode(lines["software"][0]).decode(errors="replace"),
            home=_home(lines.get("home", [])),
            build=build,
        )
    except (KeyError, ValueError, IndexError, binascii.Error):
        # The shell could not fork in the middle of its report: what is there cannot be trusted.
        return Trial(number=number, limit=limit, build=build, vanished=True)


def _home(values: list[str]) -> HomeSeen:
    if len(values) != 4:
        return HomeSeen()
    kind, writable, files, log = values
    # The last entry may have been cut off: nothing follows its NUL then.
    *entries, _ = base64.b64decode(files).decode(errors="replace").split("\0")
    return HomeSeen(
        file_system=kind,
        writable=writable == "yes" if writable else None,
        files=tuple(_file(entry) for entry in entries if entry.count(" ") >= 2),
        log=base64.b64decode(log).decode(errors="replace") if kind.startswith("fuse.restricted") else None,
    )


def _file(entry: str) -> tuple[str, int, str]:
    kind, size, path = entry.split(" ", 2)
    return kind, _number(size), path


def _output(values: list[str]) -> Output:
    head, tail, rest = base64.b64decode(values[0]), base64.b64decode(values[1]), int(values[2])
    return Output(head=head, tail=tail, left_out=rest - len(tail))
