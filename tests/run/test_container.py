from __future__ import annotations

import shlex

import docker

from harness.plan.cells import expand
from harness.plan.models import Limits
from harness.run import launch
from harness.run.container import ContainerSpec, docker_run
from harness.run.engine import creation
from harness.run.grants import DeviceGrant
from tests.plan.test_cells import matrix, repro

NONE = DeviceGrant(label="none", offers=frozenset({"no-device"}))


def api() -> docker.APIClient:
    return docker.APIClient(base_url="unix:///nonexistent", version="1.41")


def spec(**extra: object) -> ContainerSpec:
    return ContainerSpec(image="i", entrypoint=("sh",), command=("a", "b c"), **extra)  # type: ignore[arg-type]


def test_the_engine_is_asked_for_least_privilege() -> None:
    asked = creation(api(), spec(memory="1g", volumes=("/home/repro",), tmpfs={"/tmp": "rw"}, labels={"l": "1"}))
    host = asked["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["ReadonlyRootfs"] is True
    assert host["Init"] is True
    assert (host["Memory"], host["MemorySwap"], host["PidsLimit"]) == (1 << 30, 1 << 30, 512)
    assert host["LogConfig"]["Type"] == "none"
    assert not host.get("Devices")
    assert not host.get("Privileged")
    assert not host.get("CapAdd")
    assert host["Mounts"] == [{"Target": "/home/repro", "Type": "volume", "Source": None, "ReadOnly": False}]
    assert asked["Labels"] == {"l": "1"}
    assert asked["Cmd"] == ["a", "b c"]


def test_a_gpu_adds_its_nodes_and_groups_and_nothing_else() -> None:
    nodes = {"devices": {node: node for node in ("/dev/kfd", "/dev/dri/renderD128")}, "groups": (105, 44)}
    with_gpu, without = creation(api(), spec(**nodes)), creation(api(), spec())
    assert with_gpu["HostConfig"]["Devices"] == [
        {"PathOnHost": node, "PathInContainer": node, "CgroupPermissions": "rw"} for node in nodes["devices"]
    ]
    assert with_gpu["HostConfig"]["GroupAdd"] == ["105", "44"]
    changed = {key for key in with_gpu["HostConfig"] if with_gpu["HostConfig"][key] != without["HostConfig"].get(key)}
    assert changed == {"Devices", "GroupAdd"}
    assert with_gpu["Env"] == without["Env"]


def test_the_docker_run_line_is_quoted_and_says_the_same() -> None:
    made = repro("r", params={"x": ["a; rm -rf / $(id)\n'"]}, run="./main {x}")
    (cell, *_) = expand(matrix(environments=[{"name": "e", "variables": {"V": "a b"}}]), [made])
    line = docker_run(launch.plain(cell, image="tag", device=NONE, matrix=matrix()))
    words = shlex.split(line)
    assert words[-4:] == ["tag", "b1", "./main", "a; rm -rf / $(id)\n'"]
    for flag in ("--network none", "--cap-drop ALL", "--read-only", "--init", "--env HOME=/home/repro"):
        assert flag in line
    assert "V=a b" in words


def test_the_runner_gets_its_settings_outside_the_environment() -> None:
    (cell, *_) = expand(matrix(), [repro()])
    plain = launch.plain(cell, image="tag", device=NONE, matrix=matrix())
    made = launch.recorded(plain, first=3, last=5, timeout=2.5, limits=Limits(), memory="1g", nonce="n", labels={})
    assert made.environment == {}
    assert made.command[1].startswith("NONCE=n KEEP=65536 LIMIT=2.5 FILE_BLOCKS=8388608\n")
    assert made.command[2:] == (
        "runner", "3", "5", "b1", "env", "HOME=/home/repro", "PYTHONPATH=/repro/common", "./main",
    )  # fmt: skip


def test_a_variable_that_is_unset_is_taken_from_the_image_as_well() -> None:
    made = matrix(environments=[{"name": "e", "variables": {"HOME": "unset", "A": "1"}}])
    (cell, *_) = expand(made, [repro()])
    spec = launch.plain(cell, image="i", device=NONE, matrix=made)
    assert "HOME" not in spec.environment
    assert spec.environment["A"] == "1"
    assert spec.command[1:] == ("env", "-u", "HOME", "./main")
