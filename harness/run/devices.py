"""Turn a device of the matrix into what a container is given for it."""

from __future__ import annotations

from pathlib import Path

from harness.errors import ConfigError
from harness.plan.devices import AutoDevice, Device, GpuDevice, NoDevice, SoftwareDevice
from harness.run import gpus, software
from harness.run.gpus import KFD, TOPOLOGY
from harness.run.grants import NOTHING, DeviceGrant


def grant(device: Device, *, kfd: Path = KFD, topology: Path = TOPOLOGY) -> DeviceGrant:
    """Return what a container is given for ``device``; ``auto`` takes the GPUs when there are any.

    Raises ConfigError when the matrix asks for a GPU and this host has none.
    """
    match device:
        case NoDevice():
            return NOTHING
        case SoftwareDevice():
            return software.grant(device)
        case AutoDevice():
            return gpus.grant(found, kfd) if (found := _found(kfd, topology)) else software.grant(software.DEFAULT)
        case GpuDevice():
            if found := _found(kfd, topology):
                return gpus.grant(found, kfd)
            raise ConfigError(
                f"devices: {device.name}: this host has no AMD GPU that the amdgpu driver offers for computing (no "
                f"{kfd}, or no GPU under {topology}). Use `auto`, which goes on with the software GPU, or run on a GPU "
                "host."
            )


def _found(kfd: Path, topology: Path) -> list[gpus.Gpu]:
    return gpus.discover(topology) if kfd.exists() else []
