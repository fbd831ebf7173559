"""Share what tests stand on: small projects written to disk, and the real container engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import settings

from harness.errors import HarnessError
from harness.run import daemon
from harness.run.engine import Engine, ask

# How fast a host is decides nothing here; what takes too long is ended by the test's own timeout.
settings.register_profile("any-host", deadline=None)
settings.load_profile("any-host")

ROOT = Path(__file__).resolve().parents[1]
HARNESS = Path(sys.executable).parent / "harness"

# A small image of a real distribution, without ROCm: what an engine test needs is a shell, not a compiler.
PLAIN = "{name: plain, source: {kind: distro, suite: bookworm, packages: []}}"

Write = Callable[..., Path]


def write_project(root: Path, *, repros: dict[str, str], matrix: str = "", files: dict[str, str] | None = None) -> Path:
    """Write a project and return its matrix file; ``repros`` maps a name to the text of its repro.yaml."""
    root.mkdir(parents=True, exist_ok=True)
    names = ", ".join(repros)
    text = matrix or f"images: [{PLAIN}]\ndevices: [none]\nrepros: [{names}]\n"
    (root / "matrix.yaml").write_text(dedent(text))
    for name, repro in repros.items():
        folder = root / "repros" / name
        folder.mkdir(parents=True)
        (folder / "repro.yaml").write_text(dedent(repro))
    for name, content in (files or {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root / "matrix.yaml"


def repro_text(run: str, **extra: str) -> str:
    """Return the text of a repro.yaml that runs ``run``; further keys are YAML text."""
    lines = [
        "title: a test",
        "references: ['https://example.invalid/1']",
        "what_to_do: nothing",
        f"run: {json.dumps(run)}",
    ]
    return "\n".join([*lines, *(f"{key}: {value}" for key, value in extra.items())]) + "\n"


@pytest.fixture
def project(tmp_path: Path) -> Write:
    """Return a function that writes a project below the test's own folder."""

    def write(**kwargs: object) -> Path:
        return write_project(tmp_path / "project", **kwargs)  # type: ignore[arg-type]

    return write


@dataclass(frozen=True)
class Ended:
    """What a harness command left."""

    status: int
    out: str
    err: str


def harness(matrix: Path, *words: str, seconds: float = 500, **variables: str) -> Ended:
    """Run a harness command as a user does; a traceback is never acceptable."""
    command = [str(HARNESS), words[0], "--matrix", str(matrix), *words[1:]]
    here = {**os.environ, **variables}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds, env=here)
    assert "Traceback" not in done.stderr, done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def results(matrix: Path) -> dict[str, dict[str, Any]]:
    """Return the results of a project by "repro case", from ``harness table --json``."""
    listed = json.loads(harness(matrix, "table", "--json").out)
    return {" ".join([item["repro"], *(f"{k}={v}" for k, v in item["case"].items())]): item for item in listed}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let engine tests begin with the fixture: an engine that has to be started is then this checkout's to stop."""
    for item in items:
        if (
            isinstance(item, pytest.Function)
            and item.get_closest_marker("engine")
            and "engine" not in item.fixturenames
        ):
            item.fixturenames.insert(0, "engine")


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """Connect to the engine, through the same set-up that users get; its absence is a failure, not a skip."""
    try:
        endpoint = daemon.locate(None, ask=ask, state=ROOT / ".harness", say=print)
    except HarnessError as error:
        pytest.fail(f"no container engine: {error}")
    client = Engine(endpoint)
    yield client
    client.close()
