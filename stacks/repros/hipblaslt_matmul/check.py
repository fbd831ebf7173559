"""Run ./matmul in one mode; or with one setting of the log variables, and compare the log with the documentation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from repro import BROKEN, repro_observe, repro_signature

# Setting: mode of ./matmul, variables, kinds of lines that must come, kinds that must not, files that must come.
MODES = ("times", "implicit")
TRACE = {"Trace"}
API = {"Api"}
BENCH = {"Bench"}
ERROR = {"Error"}
ALL = TRACE | API | BENCH | ERROR
SETTINGS = {
    "unset": ("once", {}, set(), ALL, 0),
    "level-1": ("once", {"LEVEL": "1"}, set(), ALL, 0),
    "level-2": ("once", {"LEVEL": "2"}, TRACE, API | BENCH | ERROR, 0),
    "level-5": ("once", {"LEVEL": "5"}, TRACE | API, BENCH | ERROR, 0),
    "level-6": ("once", {"LEVEL": "6"}, set(), ALL, 0),
    "mask-3": ("once", {"MASK": "3"}, TRACE, API | BENCH | ERROR, 0),
    "mask-5": ("once", {"MASK": "5"}, set(), TRACE | API | BENCH | ERROR, 0),
    "mask-0x20": ("once", {"MASK": "0x20"}, BENCH, TRACE | API | ERROR, 0),
    "level-0-mask-31": ("once", {"LEVEL": "0", "MASK": "31"}, set(), ALL, 0),
    "level-2-file": ("once", {"LEVEL": "2", "FILE": "x_%i.log"}, TRACE, API | BENCH | ERROR, 1),
    "file-alone": ("once", {"FILE": "x_%i.log"}, set(), ALL, 0),
    "null-level-1": ("null", {"LEVEL": "1"}, ERROR, TRACE | API | BENCH, 0),
    "null-unset": ("null", {}, set(), ALL, 0),
}
LINE = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\]\[HIPBLASLT\]\[\d+\]\[(\w+)\]")
VARIABLE = "HIPBLASLT_LOG_"


def kind(line: str) -> str | None:
    """Return the kind of a line of the log; commands for hipblaslt-bench stand alone."""
    if line.startswith("hipblaslt-bench "):
        return "Bench"
    match = LINE.match(line)
    return match[1] if match else None


def status(code: int) -> int:
    """Return a child's exit status as a shell has it: 139 for SIGSEGV."""
    return 128 - code if code < 0 else code


def check(setting: str) -> int:
    """Return the exit status of one setting."""
    mode, variables, wanted, unwanted, files = SETTINGS[setting]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(VARIABLE)}
    program = Path("matmul").resolve()
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [program, mode],
            cwd=folder,
            env=clean | {VARIABLE + name: value for name, value in variables.items()},
            capture_output=True,
            text=True,
            check=False,
        )
        written = sorted(Path(folder).iterdir())
        logged = "".join(path.read_text() for path in written)
    if ran.returncode != 0:
        sys.stderr.write(ran.stderr)
        return status(ran.returncode)
    kinds = Counter(filter(None, map(kind, (logged if written else ran.stderr).splitlines())))
    seen = ", ".join(f"{name} {count}" for name, count in sorted(kinds.items())) or "nothing"
    repro_observe("lines", seen)
    repro_observe("files", str(len(written)))
    print(ran.stderr + logged, end="", file=sys.stderr)
    wrong = [f"no {name} line" for name in sorted(wanted - kinds.keys())]
    wrong += [f"{name} line" for name in sorted(unwanted & kinds.keys())]
    wrong += ["something on stdout"] if ran.stdout else []
    wrong += [f"{len(written)} log files"] if len(written) != files else []
    if wrong:
        repro_signature("; ".join(wrong))
    return 1 if wrong else 0


def main(arguments: list[str]) -> int:
    """Return the exit status."""
    if len(arguments) != 1 or arguments[0] not in {*MODES, *SETTINGS}:
        print(f"usage: check.py {'|'.join([*MODES, *SETTINGS])}", file=sys.stderr)
        return BROKEN
    if arguments[0] in MODES:
        return status(subprocess.run(["./matmul", arguments[0]], check=False).returncode)
    return check(arguments[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
