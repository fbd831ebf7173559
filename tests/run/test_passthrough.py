"""Assert the exact payload that the engine is given, for situations of device, engine and options."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
import pytest

from harness.errors import ConfigError, InfraError
from harness.plan.cells import expand
from harness.plan.devices import AutoDevice, Device, GpuDevice, NoDevice, SoftwareDevice
from harness.plan.models import Wider
from harness.run import devices, launch
from harness.run.container import docker_run
from harness.run.engine import Engine, creation
from harness.run.passthrough import passage
from tests.plan.test_cells import matrix, repro
from tests.run.trees import HOSTS, write_tree

NEW: dict[str, Any] = {"Runtimes": {"runc": {}}}
OLD: dict[str, Any] = {"CDISpecDirs": None, "Runtimes": {"runc": {}}}
ROOT = os.geteuid() == 0


def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> Path:
    """Make a host: its sysfs, and its nodes (files will do: what is asked is looked at, not given)."""
    root = tmp_path / name
    write_tree(root / "sys", HOSTS[name])
    dri = root / "dev/dri"
    dri.mkdir(parents=True)
    (root / "dev/kfd").touch()
    for node in HOSTS[name]:
        if node and node.get("drm_render_minor"):
            (dri / f"renderD{node['drm_render_minor']}").touch()
    monkeypatch.setenv("HARNESS_SYSFS", str(root / "sys"))
    monkeypatch.setenv("HARNESS_DEV", str(root / "dev"))
    return root


def describe(root: Path, renders: Mapping[str, str]) -> str:
    """Write a CDI description in the form of `amd-ctk cdi generate`, and return its folder."""
    folder = root / "cdi"
    folder.mkdir(exist_ok=True)
    entries = [{"name": name, "containerEdits": {"deviceNodes": [{"path": "/dev/kfd"}, {"path": f"/dev/dri/{render}"}]}}
               for name, render in renders.items()]  # fmt: skip
    everything = {
        "name": "all",
        "containerEdits": {"deviceNodes": [{"path": f"/dev/dri/{r}"} for r in renders.values()]},
    }
    spec = {"cdiVersion": "0.6.0", "kind": "amd.com/gpu", "devices": [*entries, everything]}
    (folder / "amd.json").write_text(json.dumps(spec))
    return str(folder)


def gpu(**keys: object) -> GpuDevice:
    return GpuDevice.model_validate({"kind": "gpu", **keys})


def asked(device: Device, facts: Mapping[str, Any] | None = None, column: int = 0, **extra: object) -> dict[str, Any]:
    """Return what differs, in the request for a container of ``device``, from the same without a device."""
    made = matrix(**extra)
    (cell, *_) = expand(made, [repro()])
    api = docker.APIClient(base_url="unix:///nonexistent", version="1.41")
    grant = devices.grants(device)[column]
    spec = launch.plain(cell, image="i", device=grant, matrix=made, facts=facts)
    bare = launch.plain(cell, image="i", device=devices.grants(NoDevice(kind="none"))[0], matrix=matrix())
    one, other = creation(api, spec), creation(api, bare)
    found = {key: value for key, value in one["HostConfig"].items() if value != other["HostConfig"].get(key)}
    if environment := sorted(set(one["Env"]) - set(other["Env"])):
        found["Env"] = environment
    return found


def nodes(root: Path, *renders: int) -> dict[str, Any]:
    """Return what nodes of these render minors come to."""
    names = ["kfd", *(f"dri/renderD{minor}" for minor in renders)]
    return {
        "Devices": [
            {"PathOnHost": f"{root}/dev/{name}", "PathInContainer": f"/dev/{name}", "CgroupPermissions": "rw"}
            for name in names
        ],
        "GroupAdd": [str((root / "dev/kfd").stat().st_gid)],
    }


def cdi(root: Path, *names: str) -> dict[str, Any]:
    ids = [f"amd.com/gpu={name}" for name in names]
    request = {"Driver": "cdi", "Count": 0, "DeviceIDs": ids, "Capabilities": [], "Options": {}}
    return {"DeviceRequests": [request], "GroupAdd": nodes(root)["GroupAdd"]}


SITUATIONS: dict[str, tuple[str, Device, int, tuple[int, ...]]] = {
    # name: host, device, column, render minors that are handed over by nodes
    "auto on one card": ("rx7900", AutoDevice(kind="auto"), 0, (128,)),
    "auto on an old kernel": ("vega10", AutoDevice(kind="auto"), 0, (128,)),
    "auto on an APU": ("mi300a", AutoDevice(kind="auto"), 0, (128,)),
    "auto beside another maker's card": ("mixed", AutoDevice(kind="auto"), 0, (128,)),
    "auto where nodes cannot be read": ("unreadable", AutoDevice(kind="auto"), 0, (129,)),
    "any of eight": ("eight-mi210", gpu(), 0, (128,)),
    "the fourth by its index": ("eight-mi210", gpu(index=3), 0, (131,)),
    "one by its node": ("eight-mi210", gpu(render="renderD134"), 0, (134,)),
    "one by its UUID": ("eight-mi210", gpu(uuid="GPU-1901ead3a2ecd4a7"), 0, (129,)),
    "by its model": ("pro-vii", gpu(model="pro vii"), 0, (128,)),
    "by its gfx": ("rx7900", gpu(gfx="gfx1100"), 0, (128,)),
    "each: the last column": ("eight-mi210", gpu(pick="each"), 7, (135,)),
    "each die of a card": ("mi250", gpu(pick="each"), 1, (129,)),
    "all of eight": ("eight-mi210", gpu(pick="all"), 0, tuple(range(128, 136))),
    "a partition": ("mi300x-cpx", gpu(index=5), 0, (133,)),
    "all partitions of a card": ("mi300x-cpx", gpu(pick="all"), 0, tuple(range(128, 136))),
    "a card whose nodes are eight apart": ("mi300x-spx", gpu(index=1), 0, (136,)),
    "nodes, said so": ("rx7900", gpu(through="nodes"), 0, (128,)),
}


@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.parametrize("facts", [None, OLD, NEW], ids=["no engine", "engine 20.10", "engine 27"])
def test_only_the_wanted_nodes_and_their_groups_are_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, facts: Mapping[str, Any] | None
) -> None:
    machine, device, column, renders = SITUATIONS[name]
    root = host(tmp_path, monkeypatch, machine)
    assert asked(device, facts, column) == nodes(root, *renders)


@pytest.mark.skipif(not ROOT, reason="only root may give files to other groups")
def test_every_group_that_owns_a_node_is_given_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = host(tmp_path, monkeypatch, "eight-mi210")
    os.chown(root / "dev/kfd", -1, 105)
    for minor in (128, 129):
        os.chown(root / f"dev/dri/renderD{minor}", -1, 44)
    assert asked(gpu(pick="all"))["GroupAdd"] == ["0", "44", "105"]
    assert asked(gpu(index=1))["GroupAdd"] == ["44", "105"]


@pytest.mark.parametrize("device", [gpu(), gpu(through="cdi"), AutoDevice(kind="auto")], ids=["gpu", "cdi", "auto"])
def test_cdi_is_used_where_the_engine_has_a_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: Device
) -> None:
    root = host(tmp_path, monkeypatch, "rx7900")
    facts = NEW | {"CDISpecDirs": [str(root / "none"), describe(root, {"0": "renderD128"})]}
    assert asked(device, facts) == cdi(root, "0")


def test_cdi_names_come_from_the_description_never_from_counting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = host(tmp_path, monkeypatch, "eight-mi210")
    facts = NEW | {"CDISpecDirs": [describe(root, {str(n): f"renderD{135 - n}" for n in range(8)})]}
    assert asked(gpu(index=0), facts) == cdi(root, "7")
    assert asked(gpu(pick="all"), facts) == cdi(root, *(str(7 - n) for n in range(8)))


def test_what_is_only_partly_described_goes_by_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = host(tmp_path, monkeypatch, "eight-mi210")
    facts = NEW | {"CDISpecDirs": [describe(root, {"0": "renderD128"})]}
    assert asked(gpu(index=1), facts) == nodes(root, 129)
    with pytest.raises(ConfigError, match=r"needs Docker Engine 25 or later and a CDI description of renderD129"):
        asked(gpu(index=1, through="cdi"), facts)


def test_nodes_are_used_where_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = host(tmp_path, monkeypatch, "rx7900")
    facts = NEW | {"CDISpecDirs": [describe(root, {"0": "renderD128"})]}
    assert asked(gpu(through="nodes"), facts) == nodes(root, 128)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"kind": "nvidia.com/gpu", "devices": []}', '{"kind": "amd.com/gpu", "devices": [3]}']
)
def test_a_broken_description_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    root = host(tmp_path, monkeypatch, "rx7900")
    (root / "cdi").mkdir()
    (root / "cdi/amd.json").write_text(text)
    assert asked(gpu(), NEW | {"CDISpecDirs": [str(root / "cdi")]}) == nodes(root, 128)


def test_an_old_engine_is_not_asked_for_cdi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = host(tmp_path, monkeypatch, "rx7900")
    assert asked(gpu(), OLD) == nodes(root, 128)
    with pytest.raises(ConfigError, match="Docker Engine 25"):
        asked(gpu(through="cdi"), OLD)


@pytest.mark.engine
def test_what_this_engine_says_of_cdi_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine
) -> None:
    root, facts = host(tmp_path, monkeypatch, "rx7900"), engine.facts()
    described = {**facts, "CDISpecDirs": [describe(root, {"0": "renderD128"})]}
    assert asked(gpu(), facts) == nodes(root, 128)
    assert asked(gpu(), described) == cdi(root, "0")


def test_amds_runtime_is_used_on_request_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = host(tmp_path, monkeypatch, "eight-mi210")
    facts = NEW | {"Runtimes": {"runc": {}, "amd": {}}}
    assert asked(gpu(), facts) == nodes(root, 128)
    assert asked(gpu(index=2, through="runtime"), facts) == {
        "Runtime": "amd",
        "Env": ["AMD_VISIBLE_DEVICES=2"],
        "GroupAdd": nodes(root)["GroupAdd"],
    }
    with pytest.raises(ConfigError, match=r"AMD's container runtime, which this engine does not have"):
        asked(gpu(index=2, through="runtime"), NEW)


@pytest.mark.parametrize(
    ("wider", "changed"),
    [
        ({"capabilities": ["SYS_PTRACE"]}, {"CapAdd": ["SYS_PTRACE"]}),
        ({"seccomp": "unconfined"}, {"SecurityOpt": ["no-new-privileges", "seccomp=unconfined"]}),
        ({"ipc": "host"}, {"IpcMode": "host"}),
        ({"shm_size": "8g"}, {"ShmSize": 8 << 30}),
        ({"shm_size": "8g", "ipc": "private", "capabilities": ["SYS_NICE", "IPC_LOCK"]},
         {"ShmSize": 8 << 30, "IpcMode": "private", "CapAdd": ["SYS_NICE", "IPC_LOCK"]}),
    ],
)  # fmt: skip
def test_wider_containers_are_asked_for_word_by_word(wider: dict[str, Any], changed: dict[str, Any]) -> None:
    assert asked(NoDevice(kind="none"), container=wider) == changed
    assert asked(SoftwareDevice(kind="software"), container=wider).items() >= changed.items()
    made = matrix(container=wider)
    (cell, *_) = expand(made, [repro()])
    line = docker_run(launch.plain(cell, image="i", device=devices.grants(NoDevice(kind="none"))[0], matrix=made))
    said = Wider.model_validate(wider)
    for word in (*said.capabilities, said.seccomp, said.ipc, said.shm_size):
        assert word is None or word in line


def test_no_visibility_variable_is_ever_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host(tmp_path, monkeypatch, "eight-mi210")
    for device in (AutoDevice(kind="auto"), gpu(pick="all"), gpu(index=3)):
        assert "VISIBLE" not in json.dumps(asked(device))


def test_a_node_that_vanished_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = host(tmp_path, monkeypatch, "rx7900")
    (root / "dev/dri/renderD128").unlink()
    (grant,) = devices.grants(gpu())
    with pytest.raises(InfraError, match=r"renderD128 is not there: No such file.*dmesg"):
        passage(grant, grant.gpus)


def test_without_a_gpu_auto_is_the_software_gpu_and_gpu_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = host(tmp_path, monkeypatch, "no-gpu")
    assert devices.grants(AutoDevice(kind="auto"))[0].label == "software gfx90a"
    (one,) = devices.grants(gpu())
    assert "this host has no AMD GPU" in (one.absent or "")
    # Nor is a GPU of use whose driver offers no computing.
    write_tree(tmp_path / "other", HOSTS["rx7900"])
    monkeypatch.setenv("HARNESS_SYSFS", str(tmp_path / "other"))
    (root / "dev/kfd").unlink()
    assert devices.grants(AutoDevice(kind="auto"))[0].label == "software gfx90a"


def test_the_line_to_copy_hands_over_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = host(tmp_path, monkeypatch, "rx7900")
    assert stat.S_ISREG((root / "dev/kfd").stat().st_mode)
    made = matrix()
    (cell, *_) = expand(made, [repro()])
    line = docker_run(launch.plain(cell, image="i", device=devices.grants(gpu())[0], matrix=made))
    assert (
        f"--device {root}/dev/kfd:/dev/kfd --device {root}/dev/dri/renderD128:/dev/dri/renderD128 --group-add" in line
    )
    facts = NEW | {"CDISpecDirs": [describe(root, {"0": "renderD128"})]}
    line = docker_run(launch.plain(cell, image="i", device=devices.grants(gpu())[0], matrix=made, facts=facts))
    assert "--device amd.com/gpu=0" in line
