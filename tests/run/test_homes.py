from __future__ import annotations

import csv
import errno
import json
import shlex
from pathlib import Path
from typing import Any

import docker
import pytest
from pydantic import TypeAdapter, ValidationError

from harness.errors import InfraError
from harness.plan.cells import Identity, expand, key
from harness.plan.homes import Home, NfsHome, RestrictedHome
from harness.plan.models import Limits
from harness.run import homes, launch, restricted
from harness.run.container import HOME, ContainerSpec, docker_run
from harness.run.engine import creation
from harness.run.filesystems import file_system
from harness.run.grants import DeviceGrant
from tests.plan.test_cells import matrix, repro

NFS = {"kind": "nfs", "server": "files.example", "path": "/export/home", "version": "3", "options": ["nolock", "soft"]}


def home(value: object) -> Any:  # noqa: ANN401 (any of its kinds)
    return TypeAdapter[Any](Home).validate_python(value)


def spec(value: object, **extra: object) -> ContainerSpec:
    (cell, *_) = expand(matrix(homes=[value]), [repro()])
    granted = homes.grant(cell.home, image="program", **extra)  # type: ignore[arg-type]
    device = DeviceGrant(label="none", offers=frozenset())
    return launch.plain(cell, image="i", device=device, matrix=matrix(), home=granted)


def asked(value: object, **extra: object) -> dict[str, Any]:
    api = docker.APIClient(base_url="unix:///nonexistent", version="1.41")
    return creation(api, spec(value, **extra))


def test_an_export_is_a_volume_that_the_engine_mounts_and_never_fills() -> None:
    (mount,) = asked(NFS)["HostConfig"]["Mounts"]
    options = {"type": "nfs", "o": "addr=files.example,nfsvers=3,rw,nolock,soft", "device": ":/export/home"}
    assert mount["Target"] == HOME
    assert mount["Type"] == "volume"
    assert mount["VolumeOptions"] == {"NoCopy": True, "DriverConfig": {"Name": "local", "Options": options}}
    assert mount["Source"].startswith("rocm-harness-nfs-")


@pytest.mark.parametrize(
    "change", [{"server": "other"}, {"path": "/export"}, {"version": "4"}, {"options": ["nolock"]}, {"options": []}]
)
def test_other_options_make_another_volume(change: dict[str, object]) -> None:
    assert homes.volume(NfsHome.model_validate(NFS | change)) != homes.volume(NfsHome.model_validate(NFS))


def test_patience_decides_neither_volume_nor_key() -> None:
    patient, hasty = home(NFS), home(NFS | {"patience": 1})
    assert homes.volume(patient) == homes.volume(hasty)
    keys = {key(expand(matrix(homes=[each]), [repro()])[0], Identity(image_id="i")) for each in (patient, hasty)}
    assert len(keys) == 1


def test_a_bound_folder_is_mounted_as_it_is_and_never_made() -> None:
    (mount,) = asked({"kind": "bind", "path": "/home/me"})["HostConfig"]["Mounts"]
    assert mount == {"Target": HOME, "Source": "/home/me", "Type": "bind", "ReadOnly": False}


def test_a_user_owns_what_is_fresh() -> None:
    made = asked({"kind": "tmpfs", "user": "1000:100"})
    assert made["User"] == "1000:100"
    assert made["HostConfig"]["Tmpfs"][HOME].endswith(",uid=1000,gid=100,mode=0700")
    assert spec({"kind": "local", "user": "1000:100"}).owner == (1000, 100)
    assert spec({"kind": "local", "user": "0:0"}).owner is None
    assert asked("local").get("User") is None


def test_a_cell_in_a_restricted_home_has_no_more_rights_than_any_other() -> None:
    plain, made = asked("local"), asked({"kind": "restricted", "squash": True, "no_locks": True})
    assert plain["HostConfig"] == made["HostConfig"]
    attendant = spec({"kind": "restricted", "squash": True, "no_locks": True}).attendant
    assert attendant is not None
    assert attendant.image == "program"
    assert attendant.command[1:] == ("--at", HOME, "--owner", "1000:1000", "--squash", "--no-locks")


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ({"read_only": True}, "--owner 0:0 --read-only"),
        ({"full": True}, "--owner 0:0 --full 0"),
        ({"full": "64k"}, "--owner 0:0 --full 65536"),
        ({"stale": True}, "--owner 0:0 --stale 0"),
        ({"stale": 2.5}, "--owner 0:0 --stale 2.5"),
        ({"stale": {"operations": ["open", "fcntl lock"]}}, "--owner 0:0 --stale 0 --stale-on open,fcntl lock"),
        ({"slow": 20, "user": "7:8"}, "--owner 7:8 --slow 20"),
        ({"squash": True, "user": "7:8", "owner": "9:9"}, "--owner 9:9 --squash"),
    ],
)
def test_behaviours_become_words_of_the_program(behaviour: dict[str, object], words: str) -> None:
    attendant = spec({"kind": "restricted", **behaviour}).attendant
    assert attendant is not None
    assert " ".join(attendant.command).endswith(words)


def test_without_fuse_the_engine_does_what_it_can_and_says_so() -> None:
    squash = asked({"kind": "restricted", "squash": True}, fuse=False)
    assert squash["HostConfig"]["Mounts"][0]["Type"] == "volume"
    assert spec({"kind": "restricted", "squash": True}, fuse=False).owner == (1000, 1000)
    full = asked({"kind": "restricted", "full": "1m", "read_only": True}, fuse=False)
    assert full["HostConfig"]["Tmpfs"][HOME] == "ro,exec,nosuid,nodev,size=1m"
    locks = asked({"kind": "restricted", "no_locks": True}, fuse=False)["HostConfig"]["SecurityOpt"]
    assert locks[0] == "no-new-privileges"
    profile = json.loads(locks[1].removeprefix("seccomp="))
    refused = {name: rule["errnoRet"] for rule in profile["syscalls"] for name in rule["names"]}
    assert (refused["flock"], refused["fcntl"], refused["mount"]) == (errno.ENOLCK, errno.ENOLCK, errno.EPERM)
    granted = homes.grant(home({"kind": "restricted", "no_locks": True}), fuse=False)
    assert "seccomp" in granted.means
    with pytest.raises(InfraError, match="/dev/fuse"):
        homes.grant(home({"kind": "restricted", "slow": 1}), fuse=False)


def test_labels_say_what_a_name_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes, "file_system", lambda _: "nfs4")
    assert homes.label(home("local")) == "local"
    assert homes.label(home({"kind": "bind", "path": "/home/me", "user": "1000:1000"})) == "bind (nfs4, user 1000:1000)"
    assert homes.label(home(NFS)) == "nfs (files.example:/export/home v3, nolock, soft)"
    some = {"kind": "restricted", "name": "bad", "squash": True, "full": "1m", "stale": 3, "slow": 9}
    assert homes.label(home(some)) == "bad (squash, full after 1m, stale after 3 s, slow 9 ms)"


def test_every_setting_of_a_home_makes_another_cell() -> None:
    base: dict[str, object] = {"kind": "restricted", "squash": True}
    changes: list[dict[str, object]] = [
        {}, {"no_locks": True}, {"read_only": True}, {"full": True}, {"full": "1m"}, {"stale": True}, {"stale": 1},
        {"stale": {"operations": ["open"]}}, {"slow": 5}, {"owner": "5:5"}, {"user": "1:1"}, {"means": "engine"},
    ]  # fmt: skip
    cells = [expand(matrix(homes=[base | change]), [repro()])[0] for change in changes]
    assert len({key(cell, Identity(image_id="i")) for cell in cells}) == len(changes)
    bound = expand(matrix(homes=[{"kind": "bind", "path": "/h"}]), [repro()])[0]
    kinds = [Identity(image_id="i", home={"file_system": kind}) for kind in ("ext4", "nfs4")]
    assert key(bound, kinds[0]) != key(bound, kinds[1])


@pytest.mark.parametrize(
    "wrong",
    [
        "bind", "nfs", "restricted", {"kind": "bind", "path": "me"}, {"kind": "bind", "path": "/a/../b"},
        {"kind": "bind", "path": "/a,readonly"}, {"kind": "restricted", "squash": False}, NFS | {"version": "5"},
        NFS | {"options": ["soft,addr=1.2.3.4"]}, NFS | {"server": "a b"}, {"kind": "local", "user": "me"},
        {"kind": "local", "user": "1000"}, {"kind": "restricted", "stale": {"operations": ["fly"]}},
        {"kind": "restricted", "full": "lots"}, {"kind": "restricted", "slow": 0},
    ],
)  # fmt: skip
def test_what_is_no_home_is_refused(wrong: object) -> None:
    with pytest.raises(ValidationError):
        home(wrong)


MOUNTS = """\
21 1 254:0 / / rw - ext4 /dev/vda rw
22 21 0:20 / /home rw,relatime shared:1 - nfs4 server:/home rw
23 22 0:21 / /home/with\\040blank rw - fuse.sshfs x rw
24 21 0:22 / /homely rw - xfs /dev/vdb rw
25 21 0:23 / /home rw - autofs systemd-1 rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/var", "ext4"), ("/home/me", "autofs"), ("/home/with blank/x", "fuse.sshfs"), ("/homely", "xfs")],
)
def test_the_file_system_of_a_path_is_that_of_the_nearest_and_last_mount(tmp_path: Path, path: str, kind: str) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS)
    assert file_system(path, table) == kind
    assert file_system(path, tmp_path / "none") is None


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (NFS, "mount :/e: no such device", "nfs-common"),
        (NFS, "mount :/e: connection refused", "does not answer"),
        (NFS, "mount :/e: permission denied", "exportfs"),
        (NFS, "mount :/e: invalid argument", "nfs(5)"),
        ({"kind": "bind", "path": "/h"}, "bind source path does not exist: /h", "no such folder"),
        ({"kind": "bind", "path": "/h"}, "stat /h: permission denied", "root_squash"),
        ({"kind": "bind", "path": "/h"}, "something new", "something new"),
    ],
)
def test_what_the_engine_says_of_a_mount_is_explained(value: object, error: str, words: str) -> None:
    text = homes.explain(home(value), "node7", f"The container engine could not mount it: {error}")
    assert words in text
    assert "node7" in text


def test_the_docker_run_line_has_the_options_of_the_export() -> None:
    words = shlex.split(docker_run(spec(NFS)))
    mount = next(word for word in words if word.startswith("type=volume"))
    (fields,) = csv.reader([mount])
    assert "volume-opt=o=addr=files.example,nfsvers=3,rw,nolock,soft" in fields
    assert "volume-nocopy" in fields
    assert "--user 1:2" in docker_run(spec({"kind": "local", "user": "1:2"}))


def test_the_log_of_a_home_has_a_name_that_no_repro_knows() -> None:
    made = spec({"kind": "restricted", "squash": True})
    bounds = {"timeout": 1.0, "limits": Limits(), "memory": "1g", "labels": {}}
    run = launch.recorded(made, first=1, last=1, nonce="abc", **bounds)  # type: ignore[arg-type]
    assert run.attendant is not None
    assert run.attendant.command[-2:] == ("--watch", restricted.watch_name("abc"))
    assert f"WATCH={restricted.watch_name('abc')} THERE_BEFORE=\n" in run.command[1]
    bound = launch.recorded(spec({"kind": "bind", "path": "/h"}), first=1, last=1, nonce="abc", **bounds)  # type: ignore[arg-type]
    assert "WATCH= THERE_BEFORE=yes\n" in bound.command[1]
    assert isinstance(home({"kind": "restricted", "squash": True}), RestrictedHome)


def test_the_file_system_of_another_hosts_folder_is_not_guessed(tmp_path: Path) -> None:
    bound = home({"kind": "bind", "path": str(tmp_path)})
    assert homes.label(bound) != "bind"
    assert homes.label(bound, "ssh://me@node1") == "bind"
    assert homes.identity(bound) != homes.identity(bound, "ssh://me@node1")
