"""Turn a device of the matrix into the columns that it makes, each with what a container is given for it."""

from __future__ import annotations

import os
from pathlib import Path

from harness.plan.devices import AutoDevice, Device, GpuDevice, NoDevice, SoftwareDevice
from harness.run import gpus, software
from harness.run.grants import NOTHING, DeviceGrant
from harness.run.topology import Topology, discover


def dev() -> Path:
    """Return where the host's device nodes are; $HARNESS_DEV names another place, as inside a container."""
    return Path(os.environ.get("HARNESS_DEV", "/dev"))


def sysfs() -> Path:
    """Return where the host's sysfs is; $HARNESS_SYSFS names another place, as inside a container."""
    return Path(os.environ.get("HARNESS_SYSFS", "/sys"))


def grants(device: Device) -> tuple[DeviceGrant, ...]:
    """Return a grant for each column of ``device``; ``auto`` takes the GPUs when there are any."""
    match device:
        case NoDevice():
            return (NOTHING,)
        case SoftwareDevice():
            return (software.grant(device),)
        case AutoDevice():
            topology = here()
            return gpus.grants(device, topology) if topology.gpus else (software.grant(software.DEFAULT),)
        case GpuDevice():
            topology = here()
            if topology.gpus:
                return gpus.grants(device, topology)
            why = (
                f"devices: {device.name}: this host has no AMD GPU that the amdgpu driver offers for computing (no "
                f"{dev() / 'kfd'}, or no GPU in what `harness devices` lists). Use `auto`, which goes on with the "
                "software GPU, or run on a GPU host."
            )
            return (gpus.absent(device, why),)


def here() -> Topology:
    """Return the GPUs of this host; none without the driver's node for computing."""
    found = discover(sysfs())
    return found if (dev() / "kfd").exists() else Topology(gpus=(), driver=found.driver, notes=found.notes)
