"""Turn a device of the matrix into what a container is given for it."""

from __future__ import annotations

from pathlib import Path

from harness.errors import ConfigError
from harness.plan.devices import AutoDevice, Device, GpuDevice, NoDevice, SoftwareDevice
from harness.run import gpus, software
from harness.run.gpus import DEV
from harness.run.grants import NOTHING, DeviceGrant
from harness.run.topology import SYSFS, discover


def grant(device: Device, *, dev: Path = DEV, sysfs: Path = SYSFS) -> DeviceGrant:
    """Return what a container is given for ``device``; ``auto`` takes the GPUs when there are any.

    Raises ConfigError when the matrix asks for a GPU and this host has none.
    """
    match device:
        case NoDevice():
            return NOTHING
        case SoftwareDevice():
            return software.grant(device)
        case AutoDevice():
            return _hardware(dev, sysfs) or software.grant(software.DEFAULT)
        case GpuDevice():
            if found := _hardware(dev, sysfs):
                return found
            raise ConfigError(
                f"devices: {device.name}: this host has no AMD GPU that the amdgpu driver offers for computing (no "
                f"{dev / 'kfd'}, or no GPU in what `harness devices` lists). Use `auto`, which goes on with the "
                "software GPU, or run on a GPU host."
            )


def _hardware(dev: Path, sysfs: Path) -> DeviceGrant | None:
    if not (dev / "kfd").exists():
        return None
    topology = discover(sysfs)
    return gpus.grant(topology, dev) if topology.gpus else None
