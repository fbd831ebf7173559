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
class ContainerSpec:
    """Everything that one container is given.

    ``volumes`` are paths of fresh, anonymous volumes. ``shared`` maps paths to the names of volumes that are there and
    are only read, ``filled`` to those that get what the image has at the path, ``folders`` to folders of the engine's
    host that are only looked at. ``devices`` maps nodes of the engine's host to nodes in the container, ``cdi`` names
    devices by the engine's own descriptions.
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
    for path, name in spec.shared.items():
        words += ["--mount", f"type=volume,source={name},target={path},readonly,volume-nocopy"]
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
