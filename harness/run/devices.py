"""Turn a device of the matrix into what a container is given for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.errors import ConfigError
from harness.plan.devices import AutoDevice, Device, GpuDevice, NoDevice, SoftwareDevice
from harness.run import gpus, software
from harness.run.gpus import DEV
from harness.run.grants import NOTHING, DeviceGrant
from harness.run.hosts import Seen
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


def far(device: Device, seen: Seen | None) -> DeviceGrant:
    """Return what a container is given for a device of another host, as that was ``seen`` last; None: never.

    A host that offers no GPU where the matrix asks for one makes the grant absent: it may offer one at the next look.
    """
    match device:
        case NoDevice():
            return NOTHING
        case SoftwareDevice():
            return software.grant(device)
    if seen is None:
        return _absent(device, f"{device.host} was not looked at yet")
    if seen.topology.gpus:
        return replace(gpus.grant(seen.topology), owners=seen.groups)
    if isinstance(device, AutoDevice):
        return software.grant(software.DEFAULT)
    return _absent(
        device,
        f"devices: {device.name}: {device.host} has no AMD GPU that the amdgpu driver offers for computing (no "
        "/dev/kfd, or no GPU in its /sys). Use `auto`, which goes on with the software GPU.",
    )


def _absent(device: Device, reason: str) -> DeviceGrant:
    """Return the grant of a device of which nothing is known, so that plans and tables can still name its column."""
    return DeviceGrant(label=device.name, offers=frozenset({"device", "hardware", "kernels"}), absent=reason)


def _hardware(dev: Path, sysfs: Path) -> DeviceGrant | None:
    if not (dev / "kfd").exists():
        return None
    topology = discover(sysfs)
    return gpus.grant(topology, dev) if topology.gpus else None
