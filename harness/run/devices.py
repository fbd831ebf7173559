"""Find the AMD GPUs of this host and turn a device of the matrix into what a container is given for it.

A container gets ``/dev/kfd`` and render nodes, with their numeric groups: group names differ between host and image.
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import ConfigError
from harness.plan.models import AutoDevice, GpuDevice, NoDevice

KFD = Path("/dev/kfd")
TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")
AMD = 0x1002
_HARDWARE = frozenset({"device", "hardware", "kernels"})


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU node of the kernel's KFD topology."""

    node: int
    gfx: str
    render: Path


@dataclass(frozen=True, kw_only=True)
class DeviceGrant:
    """What a container is given, what that offers to repros, and what of it decides results."""

    label: str
    offers: frozenset[str]
    nodes: tuple[Path, ...] = ()
    identity: Mapping[str, Any] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[int, ...]:
        """Return the numeric groups that own the device nodes."""
        return tuple(sorted({node.stat().st_gid for node in self.nodes}))


def decode_gfx(version: int) -> str:
    """Decode ``gfx_target_version``: 90010 is gfx90a, 110000 is gfx1100; minor and step are hexadecimal digits.

    The encoding is major * 10000 + minor * 100 + step, see kfd_topology.c of the Linux kernel:
    https://github.com/torvalds/linux/blob/master/drivers/gpu/drm/amd/amdkfd/kfd_device.c
    """
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def discover(topology: Path = TOPOLOGY) -> list[Gpu]:
    """List the AMD GPUs in ``topology``; nodes that cannot be read (another container's GPUs) are passed over."""
    found = []
    for folder in sorted(topology.glob("*"), key=lambda path: int(path.name) if path.name.isdigit() else -1):
        try:
            lines = (folder / "properties").read_text().splitlines()
        except OSError:
            continue
        values = {name: int(value) for name, _, value in (line.partition(" ") for line in lines) if value.isdigit()}
        if values.get("vendor_id") == AMD and values.get("simd_count", 0) > 0 and values.get("drm_render_minor"):
            found.append(
                Gpu(
                    node=int(folder.name),
                    gfx=decode_gfx(values.get("gfx_target_version", 0)),
                    render=Path(f"/dev/dri/renderD{values['drm_render_minor']}"),
                )
            )
    return found


def _driver() -> str:
    """Return the amdgpu module's version (dkms packages have one) or the kernel's release (in-tree drivers do not)."""
    for source in (Path("/sys/module/amdgpu/version"), Path("/proc/sys/kernel/osrelease")):
        if source.is_file():
            return source.read_text().strip()
    return "unknown"


def grant(device: AutoDevice | NoDevice | GpuDevice, *, kfd: Path = KFD, topology: Path = TOPOLOGY) -> DeviceGrant:
    """Return what a container is given for ``device``; ``auto`` takes the GPUs when there are any.

    Raises ConfigError when the matrix asks for a GPU and this host has none.
    """
    gpus = discover(topology) if kfd.exists() else []
    if isinstance(device, NoDevice) or (isinstance(device, AutoDevice) and not gpus):
        return DeviceGrant(label="none", offers=frozenset({"no-device"}), identity={"gpus": []})
    if not gpus:
        raise ConfigError(
            f"devices: {device.name}: this host has no AMD GPU that the amdgpu driver offers for computing (no {kfd}, "
            f"or no GPU under {topology}). Use `auto`, which goes on without, or run on a GPU host."
        )
    return DeviceGrant(
        label=", ".join(gpu.gfx for gpu in gpus),
        offers=_HARDWARE,
        nodes=(kfd, *(gpu.render for gpu in gpus)),
        identity={"gpus": [gpu.gfx for gpu in gpus], "driver": _driver()},
    )
