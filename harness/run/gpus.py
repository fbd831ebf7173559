"""Grant the AMD GPUs of this host to containers.

A container gets ``/dev/kfd`` and render nodes, with their numeric groups: group names differ between host and image.
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
"""

from __future__ import annotations

from pathlib import Path

from harness.run.grants import DeviceGrant
from harness.run.topology import Topology

DEV = Path("/dev")


def grant(topology: Topology, dev: Path = DEV) -> DeviceGrant:
    """Return what a container is given for all GPUs of ``topology``, which has at least one."""
    names = [gpu.gfx for gpu in topology.gpus]
    return DeviceGrant(
        label=", ".join(names),
        offers=frozenset({"device", "hardware", "kernels"}),
        nodes=(dev / "kfd", *(dev / "dri" / gpu.render for gpu in topology.gpus)),
        identity={"gpus": names, "driver": topology.driver},
    )
