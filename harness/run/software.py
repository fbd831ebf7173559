"""Grant the software GPU to a container: its library in front of the image's own, and what it is to play.

The variables are those of docs/softgpu.md. The library lies in a named volume, so that an engine on another host has it
too, and is found by LD_LIBRARY_PATH: every libamdhip64 names libhsa-runtime64.so.1 as a plain dependency.
"""

from __future__ import annotations

from harness.build.softgpu import FOLDER, source_hash, volume
from harness.plan.chips import find_chip
from harness.plan.devices import Faults, SoftwareDevice
from harness.run.grants import DeviceGrant
from harness.run.limits import in_bytes

DEFAULT = SoftwareDevice(kind="software")
_SWITCHES = ("large_bar", "hmm", "images", "vmm")


def grant(device: SoftwareDevice) -> DeviceGrant:
    """Return what a container is given for the software GPU."""
    chip = find_chip(device.gfx)
    variables = _variables(device)
    offers = {"device"} | ({"xnack"} if device.xnack and chip and chip.xnack else set())
    return DeviceGrant(
        label=_label(device),
        offers=frozenset(offers),
        environment={"LD_LIBRARY_PATH": FOLDER, **variables},
        volumes={FOLDER: volume()},
        identity={"software": variables, "library": source_hash()},
        software=True,
    )


def _variables(device: SoftwareDevice) -> dict[str, str]:
    variables = {"SOFTGPU_GFX": device.gfx, "SOFTGPU_GPUS": str(device.count)}
    if device.memory:
        variables["SOFTGPU_VRAM_MB"] = str(in_bytes(device.memory) >> 20)
    if device.xnack is not None:
        variables["HSA_XNACK"] = str(int(device.xnack))
    for name in _SWITCHES:
        if (value := getattr(device, name)) is not None:
            variables[f"SOFTGPU_{name.upper()}"] = str(int(value))
    return variables | _faults(device.faults)


def _faults(faults: Faults) -> dict[str, str]:
    asked = faults.model_dump(exclude_none=True)
    if "oom_after" in asked:
        asked["oom_after"] = in_bytes(asked["oom_after"])
    return {f"SOFTGPU_{name.upper()}": str(value) for name, value in asked.items()}


def _label(device: SoftwareDevice) -> str:
    """Name the device as tables show it, with everything that is not as on the chip."""
    parts = [f"software {device.gfx}" + (f" x{device.count}" if device.count > 1 else "")]
    parts += [device.memory] if device.memory else []
    switches = ("xnack", *_SWITCHES)
    parts += [f"{name} {'on' if value else 'off'}" for name in switches if (value := getattr(device, name)) is not None]
    parts += [f"fault {name}={value}" for name, value in device.faults.model_dump(exclude_none=True).items()]
    return ", ".join(parts)
