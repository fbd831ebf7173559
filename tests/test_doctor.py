"""Plant faults on synthetic hosts, and look whether the doctor names each with what mends it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import pytest

from harness.doctor import engines, here
from harness.plan.chips import chips, find_chip
from tests.conftest import Write, harness, repro_text
from tests.run.trees import HOSTS, RX7900, write_tree

NOWHERE = "unix:///nonexistent/docker.sock"


@dataclass
class Machine:
    """A synthetic host, and the project on it; ``variables`` are what a user has set."""

    root: Path
    matrix: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def sysfs(self) -> Path:
        return self.root / "sys"

    @property
    def dev(self) -> Path:
        return self.root / "dev"

    def put(self, *nodes: str) -> None:
        """Make files where the nodes are; who may open them is looked at, nothing more."""
        (self.dev / "dri").mkdir(parents=True, exist_ok=True)
        for node in nodes:
            (self.dev / node).touch()
            (self.dev / node).chmod(0o660)

    def findings(self, engine: str = NOWHERE) -> dict[tuple[str, str], tuple[str, str]]:
        """Return detail and mend by state and subject."""
        where = {"HARNESS_SYSFS": str(self.sysfs), "HARNESS_DEV": str(self.dev)}
        told = harness(self.matrix, "doctor", "--engine", engine, "--json", **where, **self.variables)  # type: ignore[arg-type]
        return {(one["state"], one["what"]): (one["detail"], one["mend"]) for one in json.loads(told.out)}


@pytest.fixture
def machine(tmp_path: Path, project: Write) -> Machine:
    matrix = project(repros={"r": repro_text("true")})
    return Machine(root=tmp_path, matrix=matrix)


@pytest.fixture
def gpu_host(machine: Machine) -> Machine:
    write_tree(machine.sysfs, HOSTS["rx7900"])
    machine.put("kfd", "dri/renderD128")
    return machine


def test_a_sound_gpu_host_has_nothing_to_mend(gpu_host: Machine) -> None:
    found = gpu_host.findings()
    assert found["ok", "AMD GPU"][0] == "gfx1100 (renderD128): `auto` runs on it"
    assert "1 render nodes; containers get their groups" in found["ok", "GPU nodes"][0]
    assert found["ok", "GPU driver"][0] == "amdgpu 6.16.6; no container changes it"
    gpu = {(state, what) for state, what in found if "GPU" in what and state != "ok"}
    assert gpu == set()


def no_kfd(host: Machine) -> None:
    (host.dev / "kfd").unlink()


def card_without_driver(host: Machine) -> None:
    no_kfd(host)
    nodes = host.sysfs / "class/kfd/kfd/topology/nodes"
    for path in nodes.glob("*/properties"):
        path.write_text("simd_count 0\n")
    card = host.sysfs / "bus/pci/devices/0000:03:00.0"
    card.mkdir(parents=True)
    (card / "vendor").write_text("0x1002\n")
    (card / "class").write_text("0x120000\n")


def no_topology(host: Machine) -> None:
    for path in (host.sysfs / "class/kfd/kfd/topology/nodes").glob("*/properties"):
        path.write_text("simd_count 0\n")


def vanished_node(host: Machine) -> None:
    (host.dev / "dri/renderD128").unlink()


def closed_kfd(host: Machine) -> None:
    (host.dev / "kfd").chmod(0o600)


def closed_node(host: Machine) -> None:
    (host.dev / "dri/renderD128").chmod(0o640)


def unreadable(host: Machine) -> None:
    (host.sysfs / "class/kfd/kfd/topology/nodes/2").mkdir()
    (host.sysfs / "class/kfd/kfd/topology/nodes/2/properties").touch()


def old_kernel(host: Machine) -> None:
    text = "".join(f"{key} {value}\n" for key, value in RX7900.items() if key != "gfx_target_version")
    (host.sysfs / "class/kfd/kfd/topology/nodes/1/properties").write_text(text)


def visibility(host: Machine) -> None:
    host.variables["HIP_VISIBLE_DEVICES"] = "1"


def missing_bundle(host: Machine) -> None:
    host.variables["HARNESS_CA_BUNDLE"] = "/nonexistent/company.pem"


def strange_proxy(host: Machine) -> None:
    host.variables["https_proxy"] = "proxy.invalid:3128"


def two_proxies(host: Machine) -> None:
    host.variables |= {"http_proxy": "http://a.invalid:1", "HTTP_PROXY": "http://b.invalid:1"}


def broken_matrix(host: Machine) -> None:
    host.matrix.write_text("images: []\n")


def no_matrix(host: Machine) -> None:
    host.matrix.unlink()


def absent_gpu(host: Machine) -> None:
    host.matrix.write_text(host.matrix.read_text().replace("[none]", "[{kind: gpu, gfx: gfx942}]"))


def silent_host(host: Machine) -> None:
    host.matrix.write_text(host.matrix.read_text().replace("[none]", "[{kind: none, host: 'tcp://127.0.0.1:9'}]"))


Plant = Callable[[Machine], None]
FAULTS: dict[Plant, tuple[str, str, str, str]] = {
    # what is planted: state, subject, words of the detail, words of the mend
    no_kfd: ("error", "AMD GPU", "there is no", "--device /dev/kfd"),
    card_without_driver: ("error", "AMD GPU", "0000:03:00.0 (no driver) is on the PCI bus", "modprobe amdgpu"),
    no_topology: ("error", "AMD GPU", "the driver lists no GPU", "dmesg"),
    vanished_node: ("error", "GPU nodes", "renderD128 is not in", "dmesg"),
    closed_kfd: ("error", "GPU nodes", "kfd: the group that owns it may not", "chmod 660"),
    closed_node: ("error", "GPU nodes", "renderD128: the group that owns it may not", "chmod 660"),
    unreadable: ("warning", "AMD GPU", "node 2 cannot be read", "who holds it"),
    old_kernel: ("warning", "AMD GPU", "does not say which chip renderD128 is", "newer kernel"),
    visibility: ("warning", "AMD GPU", "HIP_VISIBLE_DEVICES is set here", "unset HIP_VISIBLE_DEVICES"),
    missing_bundle: ("error", "CA bundle", "HARNESS_CA_BUNDLE=/nonexistent/company.pem", "unset it"),
    strange_proxy: ("error", "proxy", "https_proxy is no address of a proxy", "export https_proxy=http://"),
    two_proxies: ("warning", "proxy", "http_proxy and HTTP_PROXY differ", "export HTTP_PROXY=$http_proxy"),
    broken_matrix: ("error", "matrix", "matrix.yaml:1:", "docs/matrix.md"),
    no_matrix: ("error", "matrix", "matrix.yaml", ""),
    absent_gpu: ("error", "devices", "gfx: gfx942; no such GPU is here", "harness devices"),
    silent_host: ("error", "tcp://127.0.0.1:9", "refused", "must work by hand"),
}


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_named_with_its_mend(gpu_host: Machine, plant: Plant) -> None:
    plant(gpu_host)
    state, what, detail, mend = FAULTS[plant]
    found = gpu_host.findings()
    assert (state, what) in found, found
    assert detail in found[state, what][0]
    assert mend in found[state, what][1]


def test_findings_are_lines_with_their_mend_below(gpu_host: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    closed_kfd(gpu_host)
    monkeypatch.setenv("HARNESS_SYSFS", str(gpu_host.sysfs))
    monkeypatch.setenv("HARNESS_DEV", str(gpu_host.dev))
    told = harness(gpu_host.matrix, "doctor", "--engine", NOWHERE)
    assert told.status == 3
    (at,) = (number for number, line in enumerate(told.out.splitlines()) if line.startswith("error   GPU nodes "))
    assert told.out.splitlines()[at + 1].strip().startswith("-> sudo chgrp render")


def test_a_silent_engine_is_an_error_with_its_mend(machine: Machine) -> None:
    detail, mend = machine.findings()["error", "container engine"]
    assert detail == f"{NOWHERE} does not answer"
    assert "start it" in mend


def test_settings_are_named_and_never_told(project: Write) -> None:
    matrix = project(repros={"r": repro_text("true")})
    told = harness(matrix, "doctor", "--engine", NOWHERE, https_proxy="http://user:secret@proxy.invalid:1")
    assert "https_proxy" in told.out
    assert "secret" not in told.out


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of 1 MB."""
    if os.geteuid():
        pytest.skip("only root can mount a small disk")
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_an_error(full_disk: Path) -> None:
    found = {(one.state, one.what): one for one in here.examine(full_disk, {"HOME": "/root"})}
    assert "0.0 GB free" in found["error", "project folder"].detail
    assert "docker system df" in found["error", "project folder"].mend


def test_a_folder_that_cannot_be_written_to_is_an_error() -> None:
    found = [one for one in here.examine(Path("/proc"), {"HOME": "/root"}) if one.state == "error"]
    assert [one.what for one in found] == ["project folder"]
    assert "cannot be written to" in found[0].detail


@pytest.mark.parametrize(("kind", "state"), [("nfs4", "warning"), ("fuse.sshfs", "warning"), ("ext4", "ok")])
def test_a_home_on_a_network_is_worth_knowing(tmp_path: Path, kind: str, state: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:5 / /home rw shared:1 - {kind} server:/home rw\n")
    found = {one.what: one for one in here.examine(tmp_path, {"HOME": "/home/me"}, mounts)}
    assert found["home"].state == state
    assert kind in found["home"].detail


@pytest.mark.parametrize(
    ("theirs", "state", "words"),
    [("2026-11-21T10:00:30.123456789Z", "ok", "here and at the engine"),
     ("2026-11-21T11:00:30+01:00", "ok", "here and at the engine"),
     ("2026-11-21T10:05:00Z", "error", "300 s ahead of this machine"),
     ("2026-11-21T09:58:00Z", "error", "120 s behind this machine"), ("soon", "ok", "does not tell")],
)  # fmt: skip
def test_a_clock_that_is_off_is_an_error(theirs: str, state: str, words: str) -> None:
    now = datetime(2026, 11, 21, 10, 0, 0, tzinfo=timezone.utc)
    found = engines.clock({"SystemTime": theirs}, now)
    assert (found.state, words in found.detail) == (state, True), found
    assert bool(found.mend) == (state == "error")


@pytest.mark.engine
def test_this_machine_is_told_as_it_is(project: Write) -> None:
    matrix = project(repros={"r": repro_text("true")})
    told = harness(matrix, "doctor")
    assert told.status == 0, told.out
    for words in ("container engine", "GB free in", "clock", "registry", "software GPU"):
        assert words in told.out


def test_every_chip_is_read_whole_and_found_by_each_of_its_names() -> None:
    assert {chip.gfx for chip in chips()} == {
        "gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201",
    }  # fmt: skip
    assert all(find_chip(name) == chip for chip in chips() for name in (chip.id, chip.alias))
    assert all(found.gfx == chip.gfx for chip in chips() if (found := find_chip(chip.gfx)))
    assert find_chip("gfx1") is None
