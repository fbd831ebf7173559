"""Describe a container, as a value: what the engine is asked for, and the same as a ``docker run`` line.

Least privilege is what a container gets: no network, no capabilities, no new privileges, a read-only root, an init
process, and bounds on memory and processes. What is wider than that was asked for in the matrix, word by word.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.plan.models import Wider

# Docker mounts a tmpfs with noexec unless told otherwise; runtime compilers load what they write there.
TMP_OPTIONS = "rw,exec,nosuid,nodev"
HOME = "/home/repro"


@dataclass(frozen=True, kw_only=True)
class Volume:
    """A named volume, with the options of the ``local`` driver by which the engine makes it when it is not there."""

    name: str
    options: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Attendant:
    """A program of ours, in a container of its own, that serves another container's home while that one runs."""

    image: str
    command: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Powers:
    """What only containers of ours have, never those of cells; run.beside says what for.

    ``volumes_of`` names containers whose volumes it gets, ``vanishes`` has the engine remove it when it ends.
    """

    capabilities: tuple[str, ...] = ()
    host_processes: bool = False
    volumes_of: tuple[str, ...] = ()
    vanishes: bool = False


@dataclass(frozen=True, kw_only=True)
class ContainerSpec:
    """Everything that one container is given.

    ``volumes`` are paths of fresh, anonymous volumes. ``shared`` maps paths to the names of volumes that are there and
    are only read, ``filled`` to those that get what the image has at the path, ``written`` to those that are written
    to as they are. ``binds`` maps paths to folders of the engine's host, ``folders`` to those that are only looked at.
    ``owner`` (uid, gid) gets the fresh volumes. ``seccomp`` is a profile as JSON, in place of the engine's own.
    ``devices`` maps nodes of the engine's host to nodes in the container, ``cdi`` names devices by the engine's own
    descriptions.
    """

    image: str
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    tmpfs: Mapping[str, str] = field(default_factory=dict)
    volumes: tuple[str, ...] = ()
    shared: Mapping[str, str] = field(default_factory=dict)
    filled: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, Volume] = field(default_factory=dict)
    binds: Mapping[str, str] = field(default_factory=dict)
    owner: tuple[int, int] | None = None
    user: str | None = None
    seccomp: str | None = None
    attendant: Attendant | None = None
    powers: Powers = Powers()
    devices: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[int, ...] = ()
    cdi: tuple[str, ...] = ()
    runtime: str | None = None
    wider: Wider = field(default_factory=Wider)
    memory: str | None = None
    pids: int = 512
    cpus: float | None = None


def docker_run(spec: ContainerSpec) -> str:
    """Write the ``docker run`` line of ``spec``, for the entry point that is built into the image.

    Bounds on memory and processors are left out: they protect the machine that runs many cells, not the result.
    """
    words = ["docker", "run", "--rm", "--init", "--network", "none", "--cap-drop", "ALL"]
    words += ["--security-opt", "no-new-privileges", "--read-only", "--pids-limit", str(spec.pids), *_wider(spec.wider)]
    for path, options in spec.tmpfs.items():
        words += ["--tmpfs", f"{path}:{options}"]
    for path in spec.volumes:
        words += ["--volume", path]
    for path, source in spec.binds.items():
        words += ["--mount", f"type=bind,source={source},target={path}"]
    for path, volume in spec.written.items():
        # A value of --mount is a line of CSV; options with commas are quoted as such.
        options = "".join(f',"volume-opt={name}={value}"' for name, value in volume.options.items())
        words += [
            "--mount",
            f"type=volume,source={volume.name},target={path},volume-nocopy,volume-driver=local{options}",
        ]
    for path, name in spec.shared.items():
        words += ["--mount", f"type=volume,source={name},target={path},readonly,volume-nocopy"]
    words += ["--user", spec.user] if spec.user else []
    for outside, inside in spec.devices.items():
        words += ["--device", inside if inside == outside else f"{outside}:{inside}"]
    for name in spec.cdi:
        words += ["--device", name]
    if spec.runtime:
        words += ["--runtime", spec.runtime]
    for group in spec.groups:
        words += ["--group-add", str(group)]
    for name, value in spec.environment.items():
        words += ["--env", f"{name}={value}"]
    return shlex.join([*words, spec.image, *spec.command])


def _wider(wider: Wider) -> list[str]:
    words = [word for capability in wider.capabilities for word in ("--cap-add", capability)]
    words += ["--security-opt", f"seccomp={wider.seccomp}"] if wider.seccomp else []
    words += ["--ipc", wider.ipc] if wider.ipc else []
    return words + (["--shm-size", wider.shm_size] if wider.shm_size else [])
