"""What is read of another host, on synthetic trees, and what is said when one cannot be reached."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from harness.build.bootstrap import bootstrapped_name
from harness.plan.devices import AutoDevice, GpuDevice, NoDevice
from harness.plan.hosts import folder
from harness.plan.models import DistroSource
from harness.run import devices, hosts
from harness.run.container import ContainerSpec
from harness.run.engine import Engine, creation
from harness.run.passthrough import passage
from harness.run.ssh_trouble import explain
from harness.run.topology import discover
from tests.run.trees import HOSTS, write_tree

HOST = "ssh://me@node2:2222"


def printed(sysfs: Path, dev: Path) -> str:
    """Run the script that a container runs, on trees instead of /sys and /dev."""
    script = hosts._SCRIPT.replace("/host/sys", str(sysfs)).replace("/host/dev", str(dev))
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout


def nodes(root: Path, *names: str) -> Path:
    (root / "dri").mkdir(parents=True)
    for name in names:
        (root / name).touch()
    return root


@pytest.mark.parametrize("driver", ["6.16.6", None])
@pytest.mark.parametrize("name", HOSTS)
def test_what_is_read_there_is_what_is_there(tmp_path: Path, name: str, driver: str | None) -> None:
    tree = write_tree(tmp_path / "sys", HOSTS[name], driver=driver)
    there = discover(tree)
    dev = nodes(tmp_path / "dev", "kfd", *(f"dri/{gpu.render}" for gpu in there.gpus))
    state = tmp_path / "state"
    hosts.keep(printed(tree, dev), folder(state, HOST))
    seen = hosts.seen(state, HOST)
    assert seen
    assert seen.kernel == os.uname().release
    expected = there.driver if driver else f"in-tree amdgpu of Linux {os.uname().release}"
    assert seen.topology == replace(there, driver=expected)
    assert hosts.topology(state, HOST) == seen.topology
    assert hosts.node_groups(state, HOST) == dict.fromkeys(
        ["kfd", *(gpu.render for gpu in there.gpus)], (dev / "kfd").stat().st_gid
    )


def test_a_later_look_replaces_what_was_seen_before(tmp_path: Path) -> None:
    state, where = tmp_path, folder(tmp_path, HOST)
    dev = nodes(tmp_path / "dev", "kfd", "dri/renderD128")
    hosts.keep(printed(write_tree(tmp_path / "a", HOSTS["eight-mi210"]), dev), where)
    hosts.keep(printed(write_tree(tmp_path / "b", HOSTS["rx7900"]), dev), where)
    assert [gpu.gfx for gpu in (hosts.topology(state, HOST) or discover(state)).gpus] == ["gfx1100"]
    assert not list((where / "tmp").iterdir())
    hosts.keep("kernel 6.1\nfiles\n", where)  # the driver was unloaded
    found = hosts.seen(state, HOST)
    assert found
    assert (found.topology.gpus, found.topology.driver, found.groups) == ((), "none", {})


def test_another_host_writes_nowhere_but_where_it_may(tmp_path: Path) -> None:
    lines = ["kernel 6.1", "folder ../../up", "folder class/kfd/kfd/topology/nodes/../../../../../../up", "files"]
    lines += ["/etc/x\0evil", "../x\0evil", "module/amdgpu/../../../../x\0evil", "module/amdgpu/version\x006.1"]
    where = tmp_path / "deep" / "host"
    hosts.keep("\n".join(lines) + "\n", where)
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    kept = ["host.json", "look.lock", "osrelease", "sys/module/amdgpu/version"]
    assert [name for name in files if "look.lock" not in name] == [
        f"deep/host/{name}" for name in kept if name != "look.lock"
    ]


def test_groups_are_those_of_the_other_host(tmp_path: Path) -> None:
    lines = ["kernel 6.1", "node 993 kfd", "node 44 renderD128"]
    sysfs = write_tree(tmp_path / "sys", HOSTS["rx7900"])
    text = printed(sysfs, tmp_path).partition("files\n")
    head = "\n".join([*lines, *(line for line in text[0].splitlines() if line.startswith("folder"))])
    hosts.keep(f"{head}\nfiles\n{text[2]}", folder(tmp_path, HOST))
    (grant,) = devices.far(GpuDevice(kind="gpu", host=HOST), hosts.seen(tmp_path, HOST))
    passed = passage(grant, grant.gpus)
    assert passed.groups == (44, 993)
    assert passed.nodes == {node: node for node in ("/dev/kfd", "/dev/dri/renderD128")}


def test_devices_of_a_host_before_and_after_it_was_looked_at(tmp_path: Path) -> None:
    gpu, auto = GpuDevice(kind="gpu", host=HOST), AutoDevice(kind="auto", host=HOST)
    assert devices.far(NoDevice(kind="none", host=HOST), None)[0].label == "none"
    for device in (gpu, auto):
        (unknown,) = devices.far(device, hosts.seen(tmp_path, HOST))
        assert unknown.label == device.name
        assert unknown.absent == f"{HOST} was not looked at yet"
    hosts.keep("kernel 6.1\nfiles\n", folder(tmp_path, HOST))
    seen = hosts.seen(tmp_path, HOST)
    assert devices.far(auto, seen)[0].label == "software gfx90a"
    assert "has no AMD GPU" in (devices.far(gpu, seen)[0].absent or "")


@pytest.mark.engine
def test_a_container_that_may_only_look_reads_the_host(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = write_tree(tmp_path / "sys", HOSTS["mi300x-spx"])
    dev = nodes(tmp_path / "dev", "kfd", "dri/renderD128", "dri/renderD136")
    monkeypatch.setattr(hosts, "_FOLDERS", {"/host/sys": str(tree), "/host/dev": str(dev)})
    seen = hosts.look(engine, plain_base(engine), tmp_path / "state", HOST)
    assert seen.topology == discover(tree)
    assert seen.groups == dict.fromkeys(["kfd", "renderD128", "renderD136"], os.getgid())
    assert seen.kernel == engine.facts()["KernelVersion"]


@pytest.mark.engine
def test_the_host_is_given_read_only_and_its_gpus_may_be_asked_for(engine: Engine) -> None:
    spec = ContainerSpec(image="i", entrypoint=("sh",), command=(), folders={"/host/sys": "/sys"})
    asked = creation(engine._api, spec)["HostConfig"]
    assert asked["Mounts"] == [{"Target": "/host/sys", "Source": "/sys", "Type": "bind", "ReadOnly": True}]
    assert asked["DeviceCgroupRules"] == ["c 226:* rw"]
    assert (asked["CapDrop"], asked["ReadonlyRootfs"], asked.get("Devices")) == (["ALL"], True, None)
    assert "DeviceCgroupRules" not in creation(engine._api, replace(spec, folders={}))["HostConfig"]


def plain_base(engine: Engine) -> str:
    """Return the base that the tests before this one, of whole projects, made."""
    tag = bootstrapped_name(DistroSource(kind="distro", suite="bookworm", packages=()))
    assert engine.image_id(tag), "no base: `pytest tests/test_run.py` makes it"
    return tag


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ({"ApiVersion": "1.41", "Version": "20.10.24", "Os": "linux"}, None),
        ({"ApiVersion": "1.51", "Os": "linux"}, None),
        ({}, None),  # an engine that says nothing of itself is tried
        ({"ApiVersion": "1.40", "Version": "19.03.15"}, "19.03.15 speaks version 1.40 of the API, and 1.41 is needed"),
        ({"ApiVersion": "1.47", "Os": "windows"}, "containers of windows"),
    ],
)
def test_an_engine_that_is_too_old_is_told(version: dict[str, str], words: str | None) -> None:
    found = hosts.unfit(version)
    assert found is None if words is None else words in (found or "")


# What ssh 9.2 and docker 20.10 said here, or what their sources say: each with words of its mend.
SAID = {
    "No ED25519 host key is known for [node2]:2222 and you have requested strict checking.\n"
    "Host key verification failed.": "ssh-keyscan -p 2222 node2",
    "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.": (
        "ssh-keygen -R '[node2]:2222'"
    ),
    "me@node2: Permission denied (publickey).": "ssh-copy-id -p 2222 me@node2",
    "ssh: Could not resolve hostname node2: Name or service not known": "its name is not known",
    "ssh: connect to host node2 port 2222: Connection refused": "Is sshd running",
    "ssh: connect to host node2 port 2222: Connection timed out": "Is the node up",
    "Timeout, server node2 not responding.": "Is the node up",
    "Connection to node2 closed by remote host.": "the connection broke",
    "sh: 1: docker: not found": "sudo apt-get install docker.io",
    "bash: line 1: docker: command not found": "sudo apt-get install docker.io",
    "docker: 'system' is not a docker command.": "older than 18.09",
    "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?": (
        "sudo systemctl start docker"
    ),
    "Got permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: "
    "dial unix /var/run/docker.sock: connect: permission denied": "sudo usermod -aG docker me",
    "dial unix /x.sock: connect: permission denied": "sudo usermod -aG docker me",
    "dial unix /x.sock: connect: no such file or directory": "sudo systemctl start docker",
    "something else": "something else",
    "": "ssh ended without a word",
}


@pytest.mark.parametrize("said", SAID)
def test_what_ssh_says_becomes_one_sentence_with_its_mend(said: str) -> None:
    told = explain(HOST, said)
    assert told.startswith(f"The host {HOST} cannot be reached: ")
    assert SAID[said] in told
    assert "\n" not in told
