"""Find the AMD GPUs of this host in the kernel's KFD topology, and grant them to containers.

A container gets ``/dev/kfd`` and render nodes, with their numeric groups: group names differ between host and image.
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.run.grants import DeviceGrant

KFD = Path("/dev/kfd")
TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")
AMD = 0x1002


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU node of the kernel's KFD topology."""

    node: int
    gfx: str
    render: Path


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


def grant(gpus: Sequence[Gpu], kfd: Path = KFD) -> DeviceGrant:
    """Return what a container is given for ``gpus``, of which there is at least one."""
    return DeviceGrant(
        label=", ".join(gpu.gfx for gpu in gpus),
        offers=frozenset({"device", "hardware", "kernels"}),
        nodes=(kfd, *(gpu.render for gpu in gpus)),
        identity={"gpus": [gpu.gfx for gpu in gpus], "driver": _driver()},
    )
