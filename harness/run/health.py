"""Read from sysfs and the driver how a GPU is: what went wrong on it so far, and how much of its memory is used."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.run import devices
from harness.run.topology import Gpu

# DRM_IOCTL_AMDGPU_INFO and its query, which any process that may open the render node can ask:
# https://github.com/torvalds/linux/blob/master/include/uapi/drm/amdgpu_drm.h
_INFO, _VRAM_LOST_COUNTER = 0x40206445, 0x1F


@dataclass(frozen=True, kw_only=True)
class Health:
    """How a GPU is now; ``counters`` only ever grow, ``used`` is its memory in use in bytes, None where not told."""

    counters: Mapping[str, int] = field(default_factory=dict)
    used: int | None = None


def read(gpu: Gpu) -> Health:
    """Read the health of ``gpu``; what this user may not read, or this kernel does not tell, is left out.

    Counters: resets that lost the card's memory, and uncorrectable errors of each block that has RAS.
    https://docs.kernel.org/gpu/amdgpu/ras.html
    """
    counters = {}
    if (lost := _vram_lost(gpu)) is not None:
        counters["resets"] = lost
    folder = devices.sysfs() / "class/drm" / gpu.render / "device"
    for path in sorted(folder.glob("ras/*_err_count")):
        with contextlib.suppress(OSError, ValueError, KeyError):
            values = dict(line.split(":") for line in path.read_text().splitlines())
            counters[f"{path.name.removesuffix('_err_count')} errors"] = int(values["ue"])
    used = None
    with contextlib.suppress(OSError, ValueError):
        used = int((folder / "mem_info_vram_used").read_text())
    return Health(counters=counters, used=used)


def unknown(_gpu: Gpu) -> Health:
    """Return what is known of a GPU of another host: nothing, from here."""
    return Health()


def _vram_lost(gpu: Gpu) -> int | None:
    """Ask the driver how often a reset lost the card's memory; None where it cannot be asked."""
    answer = ctypes.c_uint32()
    question = struct.pack("=QII16x", ctypes.addressof(answer), ctypes.sizeof(answer), _VRAM_LOST_COUNTER)
    try:
        node = os.open(devices.dev() / "dri" / gpu.render, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.ioctl(node, _INFO, question)
    except OSError:
        return None
    finally:
        os.close(node)
    return answer.value
