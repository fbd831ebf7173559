"""Hand GPUs over to a container: by device nodes, by CDI, or by AMD's container runtime.

Visibility variables (ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES) are never set: they renumber, and are no boundary.
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import ConfigError, InfraError
from harness.run import devices
from harness.run.grants import DeviceGrant
from harness.run.topology import Gpu

_DEV = Path("/dev")
_CDI_KIND = "amd.com/gpu"
_AMD_RUNTIME = "amd"


@dataclass(frozen=True, kw_only=True)
class Passage:
    """What the engine is asked for: ``nodes`` maps a path on its host to one in the container."""

    nodes: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[int, ...] = ()
    cdi: tuple[str, ...] = ()
    runtime: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def passage(device: DeviceGrant, gpus: Sequence[Gpu], facts: Mapping[str, Any] | None = None) -> Passage:
    """Return how ``gpus`` of ``device`` reach a container; ``facts`` is what the engine says of itself, None: unasked.

    Raises ConfigError when the engine lacks what the matrix asks for, InfraError when a node vanished.
    """
    if not gpus:
        return Passage()
    through, far = device.through, device.owners is not None
    nodes = {str((_DEV if far else devices.dev()) / name): str(_DEV / name) for name in _names(gpus)}
    groups = _groups(nodes) if device.owners is None else tuple(
        sorted({device.owners[Path(name).name] for name in nodes if Path(name).name in device.owners}))  # fmt: skip
    # Descriptions are files of the engine's host: of another one they cannot be read from here.
    described = None if far else _described(gpus, facts or {})
    if through == "cdi" and described is None:
        raise ConfigError(f"devices: `through: cdi` needs Docker Engine 25 or later and a CDI description of "
                          f"{', '.join(gpu.render for gpu in gpus)}: install AMD's container toolkit and run "
                          "`sudo amd-ctk cdi generate`, or leave `through` out")  # fmt: skip
    if through in {"auto", "cdi"} and described is not None:
        return Passage(cdi=described, groups=groups)
    if through == "runtime":
        return Passage(runtime=_amd_runtime(facts), groups=groups, environment=_wanted(gpus))
    return Passage(nodes=nodes, groups=groups)


def _names(gpus: Sequence[Gpu]) -> list[str]:
    """Return the nodes of ``gpus`` below /dev: the one for computing, which all share, and the render nodes."""
    return ["kfd", *(f"dri/{gpu.render}" for gpu in gpus)]


def _groups(nodes: Iterable[str]) -> tuple[int, ...]:
    """Return the numbers of the groups that own the nodes: their names differ in the image."""
    try:
        return tuple(sorted({Path(node).stat().st_gid for node in nodes}))
    except OSError as error:
        raise InfraError(
            f"{error.filename} is not there: {error.strerror}. Did the driver lose the GPU? `dmesg | grep -i amdgpu` "
            "says why; `harness devices` lists what is left."
        ) from None


def _amd_runtime(facts: Mapping[str, Any] | None) -> str:
    if facts is not None and _AMD_RUNTIME not in (facts.get("Runtimes") or {}):
        raise ConfigError("devices: `through: runtime` needs AMD's container runtime, which this engine does not have: "
                          "install the AMD Container Toolkit and run `sudo amd-ctk runtime configure`, or leave "
                          "`through` out")  # fmt: skip
    return _AMD_RUNTIME


def _wanted(gpus: Sequence[Gpu]) -> dict[str, str]:
    """Name GPUs to AMD's runtime by its own variable, which ROCm does not read.

    https://instinct.docs.amd.com/projects/container-toolkit/en/latest/container-runtime/running-workloads.html
    """
    return {"AMD_VISIBLE_DEVICES": ",".join(str(gpu.index) for gpu in gpus)}


def _described(gpus: Sequence[Gpu], facts: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the CDI names of ``gpus`` when the engine knows CDI and one of its descriptions has each render node.

    An engine before 25 says null of its folders: https://docs.docker.com/engine/release-notes/25.0/
    """
    names: dict[str, str] = {}
    for folder in facts.get("CDISpecDirs") or ():
        for path in sorted(Path(folder).glob("*.json")):
            names |= _render_nodes(path)
    found = [names.get(gpu.render) for gpu in gpus]
    return tuple(name for name in found if name) if all(found) else None


def _render_nodes(path: Path) -> dict[str, str]:
    """Map render nodes to CDI names as one description has them; it is read, so that numbers are never guessed."""
    try:
        spec = json.loads(path.read_text())
        if spec.get("kind") != _CDI_KIND:
            return {}
        return {
            Path(node["path"]).name: f"{_CDI_KIND}={device['name']}"
            for device in spec.get("devices", ())
            if device["name"] != "all"
            for node in device.get("containerEdits", {}).get("deviceNodes", ())
            if "/dri/renderD" in node["path"]
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
