"""Run cells on the GPUs of a synthetic host: a sysfs tree, and nodes that are /dev/null under other names."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from harness.results.record import Record, files, read
from tests.conftest import HARNESS, Ended, Write, harness, repro_text, write_project
from tests.run.trees import CPU, PRO_VII, RX7900, write_tree

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make device nodes"),
]
PLAIN = "{name: plain, source: {kind: distro, suite: bookworm, packages: []}}"
TWO = (CPU, PRO_VII, PRO_VII | {"drm_render_minor": 129, "location_id": 1024, "unique_id": 5})
NEEDS = "[hardware]"


class Host:
    """A synthetic host."""

    def __init__(self, root: Path, nodes: tuple[dict[str, int], ...]) -> None:
        self.sysfs = write_tree(root / "sys", nodes)
        self.dev = root / "dev"
        (self.dev / "dri").mkdir(parents=True)
        minors = [node["drm_render_minor"] for node in nodes if node["drm_render_minor"]]
        for name in ("kfd", *(f"dri/renderD{minor}" for minor in minors)):
            os.mknod(self.dev / name, stat.S_IFCHR | 0o666, os.makedev(1, 3))

    def looked_at(self, monkeypatch: pytest.MonkeyPatch) -> Host:
        """Make the harness look here."""
        monkeypatch.setenv("HARNESS_SYSFS", str(self.sysfs))
        monkeypatch.setenv("HARNESS_DEV", str(self.dev))
        return self

    def plant(self, render: str, errors: int) -> None:
        """Let the block UMC of a GPU have had so many uncorrectable errors."""
        folder = self.sysfs / "class/drm" / render / "device/ras"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "umc_err_count").write_text(f"ue: {errors}\nce: 0\n")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path / "host", TWO).looked_at(monkeypatch)


@pytest.fixture
def one_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path / "host", (CPU, RX7900)).looked_at(monkeypatch)


def matrix(devices: str, *repros: str, more: str = "") -> str:
    return f"images: [{PLAIN}]\ndevices: {devices}\nrepros: [{', '.join(repros)}]\n{more}"


def records(project: Path) -> list[Record]:
    return list(read(files(project.parent / ".harness" / "runs")))


def ok(ended: Ended) -> Ended:
    assert ended.status == 0, ended.err
    return ended


LIST = 'printf \'{"observe": {"nodes": "%s"}}\' "$(echo $(ls /dev/dri))" >>$REPRO_EVENTS; test -c /dev/kfd'


@pytest.mark.usefixtures("host")
def test_a_container_sees_just_the_gpu_it_holds(project: Write) -> None:
    text = repro_text("sh list.sh {n}", needs=NEEDS, params="{n: [1, 2, 3, 4]}", trials="2")
    path = project(repros={"r": text}, matrix=matrix("[gpu]", "r"), files={"repros/r/list.sh": LIST})
    ok(harness(path, "run"))
    seen = [record.observations["nodes"] for record in records(path)]
    assert set(seen) == {"renderD128", "renderD129"}  # both are used, and never both by one cell


def test_each_gpu_is_a_column_and_all_is_one(project: Write, host: Host) -> None:
    text = repro_text("sh list.sh", needs=NEEDS)
    kinds = ("name: one, pick: each", "name: both, pick: all", "name: second, index: 1")
    devices = "[" + ", ".join(f"{{kind: gpu, {kind}}}" for kind in kinds) + "]"
    path = project(repros={"r": text}, matrix=matrix(devices, "r"), files={"repros/r/list.sh": LIST})
    ok(harness(path, "run"))
    seen = {record.device: record.observations["nodes"] for record in records(path)}
    assert seen == {
        "gfx906 #0": "renderD128",
        "gfx906 #1": "renderD129",
        "gfx906 x2": "renderD128 renderD129",
        "gfx906": "renderD129",
    }
    plan = ok(harness(path, "plan", "--commands")).out
    assert f"--device {host.dev}/dri/renderD129:/dev/dri/renderD129" in plan
    assert "cached: pass" in plan


@pytest.mark.usefixtures("host")
def test_a_selector_that_matches_nothing_stops_the_run_but_no_plan(
    project: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project(repros={"r": repro_text("true", needs=NEEDS)}, matrix=matrix("[{kind: gpu, gfx: gfx942}]", "r"))
    ended = harness(path, "run")
    assert ended.status == 2
    assert "error: devices: gpu: gfx: gfx942; no such GPU is here. There are: 0: gfx906" in ended.err
    assert "cannot run here: devices: gpu: gfx: gfx942" in ok(harness(path, "plan")).out
    assert not records(path)
    monkeypatch.setenv("HARNESS_SYSFS", "/nonexistent")
    assert "this host has no AMD GPU" in ok(harness(path, "plan")).out


def intervals(project: Path) -> list[tuple[float, float]]:
    return [(record.observations["from"], record.observations["to"]) for record in records(project)]


STAY = (
    "from=$(date +%s.%N); sleep 0.4; "
    'printf \'{"observe": {"from": %s, "to": %s}}\' $from $(date +%s.%N) >>$REPRO_EVENTS'
)


@pytest.mark.usefixtures("one_gpu")
def test_two_harness_processes_never_share_a_gpu(tmp_path: Path) -> None:
    text = repro_text("sh stay.sh {n}", needs=NEEDS, params="{n: [1, 2, 3, 4]}")
    paths = [
        write_project(
            tmp_path / name, repros={"r": text}, matrix=matrix("[gpu]", "r"), files={"repros/r/stay.sh": STAY}
        )
        for name in ("mine", "theirs")
    ]
    runs = [
        subprocess.Popen([HARNESS, "run", "--matrix", path], stderr=subprocess.PIPE, text=True,
                         stdout=subprocess.DEVNULL)
        for path in paths
    ]  # fmt: skip
    said = [run.communicate(timeout=200)[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    both = sorted(interval for path in paths for interval in intervals(path))
    assert len(both) == 8
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(both))
    assert any("waiting for gfx1100 renderD128, which another run holds" in text for text in said)


def planted_late(project: Path, host: Host, seconds: float) -> threading.Thread:
    """Let the GPU have an error some seconds after the first record, when the next cell runs."""

    def plant() -> None:
        while not any(record.outcome == "timeout" for record in records(project)):
            time.sleep(0.1)
        time.sleep(seconds)
        host.plant("renderD128", 1)

    thread = threading.Thread(target=plant, daemon=True)
    thread.start()
    return thread


def test_a_reset_after_a_hang_taints_the_next_cell_which_is_queued_again(project: Write, one_gpu: Host) -> None:
    one_gpu.plant("renderD128", 0)
    path = project(
        repros={
            "a_hangs": repro_text("sleep 60", needs=NEEDS, timeout="2"),
            "b_innocent": repro_text("sh -c 'sleep 6; exit 1'", needs=NEEDS, timeout="30"),
            "c_fine": repro_text("true", needs=NEEDS),
        },
        matrix=matrix("[gpu]", "a_hangs", "b_innocent", "c_fine"),
    )
    planting = planted_late(path, one_gpu, 6.0)
    ended = ok(harness(path, "run"))
    planting.join(timeout=5)
    told = [(record.repro, record.outcome, record.reason or "") for record in records(path)]
    assert [(repro, outcome) for repro, outcome, _ in told] == [
        ("a_hangs", "timeout"), ("b_innocent", "infra"), ("c_fine", "pass"), ("b_innocent", "fail"),
    ], ended.err  # fmt: skip
    assert told[1][2].startswith("tainted: renderD128 had 1 new umc errors, ")
    assert "after a hang of an earlier cell" in told[1][2]


def test_a_render_node_that_vanished_is_said_before_anything_is_built(project: Write, one_gpu: Host) -> None:
    path = project(repros={"r": repro_text("true", needs=NEEDS)}, matrix=matrix("[gpu]", "r"))
    (one_gpu.dev / "dri/renderD128").unlink()
    ended = harness(path, "run")
    assert ended.status == 3
    assert "renderD128 is not there: No such file or directory. Did the driver lose the GPU?" in ended.err
    assert not records(path)
