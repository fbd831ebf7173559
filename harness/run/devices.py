"""Turn a device of the matrix into the columns that it makes, each with what a container is given for it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from harness.plan.devices import AutoDevice, Device, GpuDevice, NoDevice, SoftwareDevice
from harness.run import gpus, software
from harness.run.grants import NOTHING, DeviceGrant
from harness.run.hosts import Seen
from harness.run.topology import Topology, discover


def dev() -> Path:
    """Return where the host's device nodes are; $HARNESS_DEV names another place, as inside a container."""
    return Path(os.environ.get("HARNESS_DEV", "/dev"))


def sysfs() -> Path:
    """Return where the host's sysfs is; $HARNESS_SYSFS names another place, as inside a container."""
    return Path(os.environ.get("HARNESS_SYSFS", "/sys"))


def grants(device: Device) -> tuple[DeviceGrant, ...]:
    """Return a grant for each column of a device of this host."""
    return _columns(device, here(), "this host", str(dev() / "kfd"))


def _columns(device: Device, topology: Topology, host: str, kfd: str) -> tuple[DeviceGrant, ...]:
    """Return a grant for each column of ``device``; ``auto`` takes the GPUs when there are any."""
    match device:
        case NoDevice():
            return (NOTHING,)
        case SoftwareDevice():
            return (software.grant(device),)
        case AutoDevice() | GpuDevice() if topology.gpus:
            return gpus.grants(device, topology)
        case AutoDevice():
            return (software.grant(software.DEFAULT),)
        case GpuDevice():
            why = (
                f"devices: {device.name}: {host} has no AMD GPU that the amdgpu driver offers for computing (no {kfd}, "
                "or no GPU in what `harness devices` lists). Use `auto`, which goes on with the software GPU, or run "
                "on a GPU host."
            )
            return (gpus.absent(device, why),)


def here() -> Topology:
    """Return the GPUs of this host; none without the driver's node for computing."""
    found = discover(sysfs())
    return found if (dev() / "kfd").exists() else Topology(gpus=(), driver=found.driver, notes=found.notes)


def far(device: Device, seen: Seen | None) -> tuple[DeviceGrant, ...]:
    """Return a grant for each column of a device of another host, as that was ``seen`` last; None: never."""
    if isinstance(device, AutoDevice | GpuDevice) and seen is None:
        return (gpus.absent(device, f"{device.host} was not looked at yet"),)
    topology = seen.topology if seen else Topology(gpus=(), driver="", notes=())
    owners = seen.groups if seen else {}
    return tuple(replace(grant, owners=owners) for grant in _columns(device, topology, f"{device.host}", "/dev/kfd"))
