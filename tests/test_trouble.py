"""Bad input and trouble, as a user meets them: one clear paragraph, the right exit status, nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.run.endpoints import Reply
from harness.run.engine import Engine, ask
from harness.run.install import as_root, which
from tests.conftest import HARNESS, PLAIN, Write, harness, repro_text, results
from tests.test_run import recorded, wait_for

LETTERS = "abcdefghijklmnopqrstu"
BOMB = "a: &a [x,x]\n" + "".join(f"{c}: &{c} [*{p},*{p}]\n" for p, c in pairwise(LETTERS))

# Every row: what the matrix or the command line says, the exit status, and words of the one paragraph.
WRONG = {
    "unknown key": ("images: []\nimage: 1\n", 2, "matrix.yaml:2:1: image: unknown key (did you mean 'images'?)"),
    "wrong type": (f"images: [{PLAIN}]\njobs: all\n", 2, "matrix.yaml:2:7: jobs:"),
    "duplicate names": (f"images: [{PLAIN}, {PLAIN}]\n", 2, "the name 'plain' is used twice"),
    "empty axis": (f"images: [{PLAIN}]\nhomes: []\n", 2, "matrix.yaml:2:8: homes: must not be empty"),
    "no repros": (f"images: [{PLAIN}]\nrepros: []\n", 2, "must not be empty"),
    "bomb": (BOMB, 2, "aliases expand"),
    "not yaml": ("images: {\n", 2, "not valid YAML"),
}  # fmt: skip


def test_a_gpu_where_there_is_none_stops_a_run_and_leaves_nothing(project: Write) -> None:
    text = f"images: [{PLAIN}]\ndevices: [gpu]\nrepros: [r]\n"
    matrix = project(repros={"r": repro_text("true", needs="[hardware]")}, matrix=text)
    done = harness(matrix, "run", "--engine", "unix:///nonexistent.sock")
    assert (done.status, done.out) == (2, "")
    assert "this host has no AMD GPU" in done.err
    assert not (matrix.parent / ".harness").exists()
    assert harness(matrix, "plan").status == 0


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("command", ["plan", "run", "table"])
def test_a_wrong_matrix_is_told_in_one_paragraph_and_nothing_runs(project: Write, name: str, command: str) -> None:
    text, status, words = WRONG[name]
    matrix = project(matrix=text, repros={"r": repro_text("true")})
    done = harness(matrix, command)
    assert (done.status, done.out) == (status, "")
    assert done.err.startswith("error: ")
    assert words in done.err
    assert len(done.err.strip().split("\n\n")) == 1
    assert not (matrix.parent / ".harness").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["runn"], "No such command 'runn'"),
        (["run", "--jbos", "3"], "No such option"),
        (["table", "--format", "pdf"], "pdf"),
        (["run", "--matrix", "none.yaml"], "there is no such file"),
        (["run", "--engine", "nonsense"], "an engine is named by docker, podman, or a URL"),
        (["run", "--cell", "no such cell"], "no cell has this in its name"),
        (["table", "none.jsonl"], "there is no such record file"),
        (["new", "Not A Name"], "cannot name a repro"),
        (["new", "r"], "is there already"),
    ],
)
def test_wrong_usage_is_told(project: Write, words: list[str], message: str) -> None:
    matrix = project(repros={"r": repro_text("true")})
    done = subprocess.run([HARNESS, *words], capture_output=True, text=True, cwd=matrix.parent, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_engine_that_is_not_there_is_told(project: Write) -> None:
    matrix = project(repros={"r": repro_text("true")})
    done = harness(matrix, "run", "--engine", "unix:///nonexistent.sock")
    assert done.status == 3
    assert "/nonexistent.sock" in done.err
    assert not list((matrix.parent / ".harness").rglob("*.jsonl"))


@pytest.mark.engine
def test_an_unreachable_mirror_is_infrastructure(project: Write) -> None:
    image = (
        "{name: away, source: {kind: distro, suite: bookworm, base: bootstrap, mirror: 'http://127.0.0.1:9/debian'}}"
    )
    matrix = project(matrix=f"images: [{PLAIN}, {image}]\nrepros: [r]\n", repros={"r": repro_text("true")})
    done = harness(matrix, "run")
    assert done.status == 3
    assert "mmdebstrap could not make the base debian bookworm" in done.err
    assert "Is there a network" in done.err
    listed = [(item["image"], item["verdict"]) for item in _list(matrix)]
    assert listed == [("plain", "pass"), ("away", "inconclusive")]  # the other image ran all the same
    assert "could not make the base" in _list(matrix)[1]["reason"]
    assert not list((matrix.parent / ".harness" / "tmp").glob("*"))


@pytest.mark.engine
def test_a_package_that_does_not_exist_is_the_matrix_s_mistake(project: Write) -> None:
    image = "{name: wrong, source: {kind: distro, suite: bookworm, packages: [no-such-package-here]}}"
    matrix = project(matrix=f"images: [{image}]\nrepros: [r]\n", repros={"r": repro_text("true")})
    done = harness(matrix, "run")
    assert done.status == 2
    assert "The image wrong could not be built: its suites have no package 'no-such-package-here'" in done.err
    assert (matrix.parent / ".harness/logs/build/wrong.log").read_text()


def _list(matrix: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(harness(matrix, "table", "--json").out)
    return listed


class PrivateEngine:
    """A second Docker Engine with its own disk, to be broken without breaking the machine's."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = f"unix://{root}/d.sock"
        (root / "empty.json").write_text("{}")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        # A network namespace of its own: a second daemon in ours would take docker0 from the machine's.
        # By its path: /usr/sbin is not on everybody's PATH.
        dockerd = which("dockerd")
        assert dockerd
        command = as_root(
            "unshare", "--net", dockerd, f"--config-file={self.root}/empty.json", f"--host={self.url}",
            f"--pidfile={self.root}/d.pid", f"--data-root={self.root}/data", f"--exec-root={self.root}/exec",
            "--bridge=none", "--iptables=false", "--ip-forward=false",
            "--containerd-namespace=trouble", "--containerd-plugins-namespace=trouble-plugins",
        )  # fmt: skip
        assert command
        with (self.root / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        wait_for(lambda: ask(self.url) is Reply.ANSWERS)

    def kill(self) -> None:
        """End it as a power cut would: the daemon and its containerd at once."""
        assert self.process
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        # Where process 1 reaps nothing, the dead containerd stays a zombie that dockerd would take for a live one.
        for name in ("d.pid", "d.sock", "exec/containerd/containerd.pid"):
            (self.root / name).unlink(missing_ok=True)

    def load(self, tags: list[str]) -> None:
        with subprocess.Popen(["docker", "save", *tags], stdout=subprocess.PIPE) as save:
            subprocess.run(["docker", "-H", self.url, "load"], stdin=save.stdout, check=True, capture_output=True)


@pytest.fixture
def private_engine(engine: Engine) -> Iterator[PrivateEngine]:
    with engine_of_its_own() as made:
        yield made


@contextlib.contextmanager
def engine_of_its_own() -> Iterator[PrivateEngine]:
    if which("dockerd") is None or as_root("true") is None or which("docker") is None:
        pytest.skip("needs an installed dockerd, a docker command, and the right to run a second daemon as root")
    root = Path(tempfile.mkdtemp(prefix="engine-"))  # short: the path of a socket has at most 107 characters
    made = PrivateEngine(root)
    try:
        yield made
    finally:
        if made.process and made.process.poll() is None:
            os.killpg(made.process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                made.process.wait(30)
        # The shims of its containers outlive it.
        subprocess.run(as_root("pkill", "-KILL", "-f", str(root)) or [], capture_output=True, check=False)
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for mount in reversed([mount for mount in mounts if mount.startswith(f"{root}/")]):
            subprocess.run(as_root("umount", "-l", mount) or [], capture_output=True, check=False)
        shutil.rmtree(root, ignore_errors=True)


def base_tag(project: Write, engine: Engine) -> str:
    """Make sure that the machine's engine has the base, and return its tag."""
    from harness.build.bootstrap import bootstrapped_name
    from harness.plan.models import DistroSource

    tag = bootstrapped_name(DistroSource(kind="distro", suite="bookworm", packages=()))
    assert engine.image_id(tag), "the base is made by the tests before this one"
    return tag


@pytest.mark.engine
def test_an_engine_that_dies_in_the_middle_costs_nothing_that_was_recorded(
    project: Write, engine: Engine, private_engine: PrivateEngine
) -> None:
    matrix = project(repros={"quick": repro_text("true", trials="2"), "slow": repro_text("sleep 20")})
    harness(project_copy(matrix), "run")  # the machine's engine makes the base
    private_engine.start()
    private_engine.load([base_tag(project, engine)])
    running = subprocess.Popen(
        [HARNESS, "run", "--matrix", matrix, "--engine", private_engine.url], stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: recorded(matrix) == 2)
    private_engine.kill()
    _, err = running.communicate(timeout=60)
    assert running.returncode == 3
    assert "Traceback" not in err
    assert "stopped answering" in err
    assert results(matrix)["quick"]["verdict"] == "pass"
    assert results(matrix)["slow"]["verdict"] == "inconclusive"  # never a failure of ROCm
    (matrix.parent / "repros/slow/repro.yaml").write_text(repro_text("true"))
    private_engine.start()
    again = harness(matrix, "run", "--engine", private_engine.url)
    assert again.status == 0, again.err
    assert "cells: 1" in again.err
    left = subprocess.run(
        ["docker", "-H", private_engine.url, "ps", "-aq"], capture_output=True, text=True, check=True
    ).stdout
    assert left == ""


def project_copy(matrix: Path) -> Path:
    """Return the matrix of a copy of a project whose repros do nothing."""
    copy = matrix.parent.parent / "copy"
    (copy / "repros/quick").mkdir(parents=True)
    (copy / "repros/quick/repro.yaml").write_text(repro_text("true"))
    (copy / "matrix.yaml").write_text(f"images: [{PLAIN}]\ndevices: [none]\nrepros: [quick]\n")
    return copy / "matrix.yaml"


@pytest.mark.engine
def test_a_disk_that_fills_while_building_is_told(
    project: Write, engine: Engine, private_engine: PrivateEngine
) -> None:
    matrix = project(
        repros={"r": repro_text("true"), "large": repro_text("true", build="['dd if=/dev/zero of=a bs=1M count=900']")}
    )
    harness(project_copy(matrix), "run")
    (private_engine.root / "data").mkdir()
    mount = as_root("mount", "-t", "tmpfs", "-o", "size=700m", "tmpfs", str(private_engine.root / "data"))
    assert mount
    subprocess.run(mount, check=True)
    private_engine.start()
    private_engine.load([base_tag(project, engine)])
    done = harness(matrix, "run", "--engine", private_engine.url)
    assert done.status == 3, done.err
    assert "The image plain+large could not be built: the disk is full" in done.err
    assert results(matrix)["large"]["verdict"] == "inconclusive"
    # The small one is built beside the large one and may meet the full disk too; a failure of ROCm it never is.
    assert results(matrix)["r"]["verdict"] in {"pass", "inconclusive"}


@pytest.mark.engine
def test_a_run_stops_before_the_engine_s_disk_is_full(tmp_path: Path) -> None:
    from harness.run.limits import DiskWatch

    alarms: list[str] = []
    facts = {"DockerRootDir": str(tmp_path)}
    free = shutil.disk_usage(tmp_path).free
    with DiskWatch(facts, alarms.append, period=0.01, reserve=free - (64 << 20)):
        block = b"\1" * (1 << 20)
        with (tmp_path / "fill").open("wb") as file:
            for _ in range(200):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        deadline = time.monotonic() + 10
        while not alarms and time.monotonic() < deadline:
            time.sleep(0.01)
    assert alarms
    assert "MiB left" in alarms[0]
