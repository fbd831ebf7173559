"""Choose the AMD GPUs that a device of the matrix means, and name the columns they make. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.plan.devices import AutoDevice, GpuDevice
from harness.run.grants import DeviceGrant
from harness.run.topology import Gpu, Topology

_OFFERS = frozenset({"device", "hardware", "kernels"})


def grants(device: AutoDevice | GpuDevice, topology: Topology) -> tuple[DeviceGrant, ...]:
    """Return a grant for each column of ``device``; one that says why it is absent when no GPU or too many match.

    Two GPUs are alike when chip, model, size and partition mode are; only alike ones can stand in for each other.
    """
    if isinstance(device, AutoDevice):
        # One column for every kind of GPU: a desktop has the one in its processor as well.
        kinds = _kinds(topology.gpus)
        return tuple(_any(kind, topology, unit=_kind(kind[0]) if len(kinds) > 1 else "") for kind in kinds)
    found = [gpu for gpu in topology.gpus if _matches(gpu, device.selectors)]
    if not found:
        return (absent(device, f"{_asked(device)}; {_there(topology)}"),)
    if device.pick == "each":
        units = [_each(gpu, topology) for gpu in found]
    elif device.pick == "all":
        units = [_all(found, topology)]
    elif len(kinds := _kinds(found)) > 1:
        listed = ", ".join(f"{_kind(kind[0])} ({', '.join(gpu.render for gpu in kind)})" for kind in kinds)
        why = f"{_asked(device)} matches GPUs of {len(kinds)} kinds: {listed}. Select one kind, or say `pick: each`"
        return (absent(device, why),)
    else:
        units = [_any(found, topology)]
    return tuple(replace(unit, through=device.through) for unit in units)


def absent(device: AutoDevice | GpuDevice, reason: str) -> DeviceGrant:
    """Return the grant of a device that is not there, so that plans and tables can still name its column."""
    return DeviceGrant(label=device.name, offers=_OFFERS, absent=reason)


def _matches(gpu: Gpu, selectors: Mapping[str, str | int]) -> bool:
    for name, wanted in selectors.items():
        here = getattr(gpu, name)
        if (str(wanted).lower() not in here.lower()) if name == "model" else (here != wanted):
            return False
    return True


def _asked(device: AutoDevice | GpuDevice) -> str:
    selectors = device.selectors if isinstance(device, GpuDevice) else {}
    said = ", ".join(f"{name}: {value}" for name, value in selectors.items())
    return f"devices: {device.name}: {said}" if said else f"devices: {device.name}"


def _there(topology: Topology) -> str:
    listed = "; ".join(f"{gpu.index}: {gpu.gfx} {gpu.model} {gpu.render} {gpu.uuid}".strip() for gpu in topology.gpus)
    return f"no such GPU is here. There are: {listed}"


def _identity(gpu: Gpu) -> tuple[str, str, int, str]:
    return gpu.gfx, gpu.model, gpu.cus, gpu.mode


def _kinds(gpus: Sequence[Gpu]) -> list[list[Gpu]]:
    kinds: dict[tuple[str, str, int, str], list[Gpu]] = {}
    for gpu in gpus:
        kinds.setdefault(_identity(gpu), []).append(gpu)
    return list(kinds.values())


def _kind(gpu: Gpu) -> str:
    return f"{gpu.gfx} {gpu.model}" + (f" {gpu.mode}" if gpu.mode else "")


def _grant(gpus: Sequence[Gpu], topology: Topology, *, label: str, unit: str = "", which: str = "") -> DeviceGrant:
    kinds = [list(_identity(gpu)) for gpu in gpus] if which == "all" else [list(_identity(gpus[0]))]
    return DeviceGrant(
        label=label,
        unit=unit,
        offers=_OFFERS,
        gpus=tuple(gpus),
        together=which == "all",
        identity={"gpus": kinds, "driver": topology.driver, "which": which},
    )


def _any(gpus: Sequence[Gpu], topology: Topology, unit: str = "") -> DeviceGrant:
    return _grant(gpus, topology, label=unit or gpus[0].gfx, unit=unit)


def _all(gpus: Sequence[Gpu], topology: Topology) -> DeviceGrant:
    counts = Counter(gpu.gfx for gpu in gpus)
    label = ", ".join(f"{gfx} x{count}" if count > 1 else gfx for gfx, count in counts.items())
    return _grant(gpus, topology, label=label, which="all")


def _each(gpu: Gpu, topology: Topology) -> DeviceGrant:
    unit = f"#{gpu.index}"
    # A card keeps its UUID when it moves to another slot; partitions share it, and some cards have none.
    which = f"{gpu.uuid or gpu.pci}.{gpu.partition}" if gpu.partition is not None else gpu.uuid or gpu.pci
    return _grant([gpu], topology, label=f"{gpu.gfx} {unit}", unit=unit, which=which)
