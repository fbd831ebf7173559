"""Measure what the harness adds to bare containers, side by side in one run; medians of five.

    make bench

Prints a ratio for each figure, with the bound the project holds itself to. Both sides of a pair run in turn, so that a
machine that gets slower slows both.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

HARNESS = Path(sys.executable).parent / "harness"
ROUNDS = 5
CELLS = 40
TRIALS = 50
IMAGE = "{name: plain, source: {kind: distro, suite: bookworm, packages: []}}"
REPRO = """\
title: does nothing
references: ['https://example.invalid/']
what_to_do: nothing
run: 'true {n}'
params: {n: [%s]}
trials: %d
"""


@dataclass(frozen=True)
class Pair:
    """Two commands that do the same work, and the ratio that ours must not exceed."""

    name: str
    bound: float
    ours: Callable[[], None]
    theirs: Callable[[], None]
    before: Callable[[], None] = lambda: None


def command(*words: str | Path, **variables: str) -> Callable[[], None]:
    """Return a function that runs a command and fails when it does."""

    def run() -> None:
        subprocess.run(words, check=True, capture_output=True, env={**os.environ, **variables})

    return run


def timed(action: Callable[[], None]) -> float:
    """Return the seconds that ``action`` takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def project(root: Path, *, cells: int, trials: int) -> Path:
    """Write a project of no-op cells, build its image, and return its matrix file."""
    folder = root / "repros" / "nothing"
    folder.mkdir(parents=True)
    (folder / "repro.yaml").write_text(REPRO % (", ".join(map(str, range(cells))), trials))
    matrix = root / "matrix.yaml"
    matrix.write_text(f"images: [{IMAGE}]\ndevices: [none]\nrepros: [nothing]\njobs: 4\n")
    command(HARNESS, "run", "--matrix", matrix)()
    return matrix


def image_of(matrix: Path) -> str:
    """Return the image that the cells of a project run in."""
    plan = subprocess.run(
        [HARNESS, "plan", "--matrix", matrix, "--commands"], check=True, capture_output=True, text=True
    ).stdout
    return next(line.split(" -t ")[1].split()[0] for line in plan.splitlines() if "docker build" in line)


def docker_runs(image: str, count: int, at_once: int) -> Callable[[], None]:
    """Return a function that starts ``count`` bare containers, ``at_once`` of them side by side."""
    line = f"seq {count} | xargs -P{at_once} -I{{}} docker run --rm --network none --entrypoint true {image}"
    return command("sh", "-c", line)


def pairs(root: Path) -> Sequence[Pair]:
    """Return the pairs to measure."""
    many, long = project(root / "many", cells=CELLS, trials=1), project(root / "long", cells=4, trials=TRIALS)
    image = image_of(many)

    def forget(matrix: Path) -> Callable[[], None]:
        return lambda: shutil.rmtree(matrix.parent / ".harness" / "runs")

    imports = command(sys.executable, "-c", "import docker, pydantic, rich, jinja2")
    return [
        Pair(f"{CELLS} cells x 1 trial / xargs -P4 docker run --rm", 1.0, command(HARNESS, "run", "--matrix", many),
             docker_runs(image, CELLS, 4), forget(many)),
        Pair(f"4 cells x {TRIALS} trials / {4 * TRIALS} docker run --rm, one after the other", 0.1,
             command(HARNESS, "run", "--matrix", long), docker_runs(image, 4 * TRIALS, 1), forget(long)),
        Pair(f"4 cells x {TRIALS} trials / {4 * TRIALS} docker run --rm, xargs -P4", 0.1,
             command(HARNESS, "run", "--matrix", long), docker_runs(image, 4 * TRIALS, 4), forget(long)),
        Pair("harness --help / import docker, pydantic, rich, jinja2", 0.6, command(HARNESS, "--help"), imports),
    ]  # fmt: skip


def measure(pair: Pair) -> list[str]:
    """Run a pair in turn and return a row of the table."""
    ours, theirs = [], []
    for _ in range(ROUNDS):
        pair.before()
        ours.append(timed(pair.ours))
        theirs.append(timed(pair.theirs))
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    ratio = statistics.median(ratios)
    print(f"{pair.name}: {ratio:.2f}", file=sys.stderr)
    return [
        pair.name, f"{statistics.median(ours):.2f}", f"{statistics.median(theirs):.2f}",
        f"{ratio:.2f} ({min(ratios):.2f}-{max(ratios):.2f})", f"{pair.bound:g}", "yes" if ratio <= pair.bound else "NO",
    ]  # fmt: skip


def main() -> None:
    """Measure every pair, and how long a matrix with nothing left to do takes."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(pair) for pair in pairs(Path(folder))]
    # The project's own matrix, once run, has nothing left to do.
    matrix = Path(__file__).parents[1] / "matrix.yaml"
    command(HARNESS, "run", "--matrix", matrix)()
    again = statistics.median(timed(command(HARNESS, "run", "--matrix", matrix)) for _ in range(ROUNDS))
    rows.append(["a second run of the default matrix", f"{again:.2f}", "", "", "3 s", "yes" if again < 3 else "NO"])
    heads = ("figure", "ours, s", "theirs, s", "ratio (min-max)", "bound", "holds")
    print(tabulate(rows, heads, "github", disable_numparse=True))


if __name__ == "__main__":
    main()
