"""Look at the AMD GPUs of this host: the cards on the PCI bus, the driver, the nodes and who may open them."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.doctor.finding import Finding
from harness.run import devices
from harness.run.topology import Gpu, Topology, discover

_AMD = "0x1002"
# PCI classes: VGA and 3D controllers, and "processing accelerators", which Instinct cards are.
# https://github.com/pciutils/pciids/blob/master/pci.ids
_DISPLAY, _ACCELERATOR = ("0x0300", "0x0302", "0x0380"), "0x1200"
_VISIBILITY = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
_WHAT = "AMD GPU"


def examine(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Say what of the host's GPUs containers can be given, and what stands in the way."""
    topology = discover(devices.sysfs())
    kfd = devices.dev() / "kfd"
    if not kfd.exists():
        yield _without_kfd(topology, kfd)
    elif not topology.gpus:
        yield Finding(
            what=_WHAT, state="error", detail=f"{kfd} is there, but the driver lists no GPU, so `auto` is software",
            mend="dmesg | grep -i -e amdgpu -e kfd",
        )  # fmt: skip
    else:
        yield _there(topology)
        yield from _nodes(topology, kfd)
        yield Finding(what="GPU driver", state="ok", detail=f"{topology.driver}; no container changes it")
    for note in topology.notes:
        yield Finding(what=_WHAT, state="warning", detail=note, mend="sudo chmod does not help: ask who holds it")
    if said := [name for name in _VISIBILITY if name in environment]:
        detail = f"{', '.join(said)} is set here and does not reach containers: the matrix chooses GPUs"
        yield Finding(what=_WHAT, state="warning", detail=detail, mend=f"unset {' '.join(said)}")


def _without_kfd(topology: Topology, kfd: Path) -> Finding:
    cards = _cards()
    if topology.gpus:
        detail = f"the driver lists {len(topology.gpus)}, but there is no {kfd}: it is not handed into this container"
        return Finding(what=_WHAT, state="error", detail=detail, mend="start this container with --device /dev/kfd")
    if cards:
        detail = f"{', '.join(cards)} is on the PCI bus, but no amdgpu driver offers it for computing (no {kfd})"
        return Finding(what=_WHAT, state="error", detail=detail, mend="sudo modprobe amdgpu; dmesg | grep -i amdgpu")
    return Finding(what=_WHAT, state="ok", detail="none in this machine; `auto` is the software GPU")


def _cards() -> list[str]:
    """Return the addresses of AMD's display and accelerator cards that no driver serves, or another than amdgpu."""
    found = []
    for folder in sorted((devices.sysfs() / "bus/pci/devices").glob("*")):
        with contextlib.suppress(OSError):
            kind = (folder / "class").read_text().strip()[:6]
            ours = (folder / "vendor").read_text().strip() == _AMD and kind in {*_DISPLAY, _ACCELERATOR}
            driver = (folder / "driver").resolve().name if (folder / "driver").exists() else "no driver"
            if ours:
                found.append(f"{folder.name} ({driver})")
    return found


def _there(topology: Topology) -> Finding:
    shown = ", ".join(f"{gpu.gfx} ({gpu.render})" for gpu in topology.gpus)
    if unknown := [gpu.render for gpu in topology.gpus if gpu.gfx == "gfx?"]:
        return Finding(
            what=_WHAT, state="warning", detail=f"the kernel does not say which chip {', '.join(unknown)} is",
            mend="a newer kernel; `index:` or `render:` still selects it",
        )  # fmt: skip
    return Finding(what=_WHAT, state="ok", detail=f"{shown}: `auto` runs on it")


def _nodes(topology: Topology, kfd: Path) -> Iterator[Finding]:
    gone = [gpu for gpu in topology.gpus if not _node(gpu).exists()]
    if gone:
        detail = (
            f"{', '.join(gpu.render for gpu in gone)} is not in {devices.dev() / 'dri'}: cells on it have no answer"
        )
        yield Finding(
            what="GPU nodes", state="error", detail=detail, mend="dmesg | grep -i amdgpu; sudo udevadm trigger"
        )
    closed = [
        path for path in (kfd, *map(_node, topology.gpus)) if path.exists() and (path.stat().st_mode & 0o060) != 0o060
    ]
    if closed:
        detail = f"{', '.join(map(str, closed))}: the group that owns it may not read and write"
        mend = f"sudo chgrp render {closed[0]} && sudo chmod 660 {closed[0]}; a udev rule keeps it"
        yield Finding(what="GPU nodes", state="error", detail=detail, mend=mend)
    if not gone and not closed:
        groups = sorted({path.stat().st_gid for path in (kfd, *map(_node, topology.gpus))})
        detail = (
            f"{kfd} and {len(topology.gpus)} render nodes; containers get their groups {', '.join(map(str, groups))}"
        )
        yield Finding(what="GPU nodes", state="ok", detail=detail)
        yield from _groups(groups, kfd)


def _groups(groups: list[int], kfd: Path) -> Iterator[Finding]:
    """Say when this user cannot open the nodes: containers can, but programs of the host cannot."""
    if (
        os.geteuid()
        and not stat.S_IMODE(kfd.stat().st_mode) & 0o006
        and not set(groups) & {os.getegid(), *os.getgroups()}
    ):
        detail = f"this user is in none of {', '.join(map(str, groups))}: containers work, resets cannot be read"
        yield Finding(what="GPU groups", state="warning", detail=detail, mend="sudo usermod -aG render,video $USER")


def _node(gpu: Gpu) -> Path:
    return devices.dev() / "dri" / gpu.render
