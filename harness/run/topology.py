"""Read the AMD GPUs of a host from sysfs alone: the KFD topology, and what the amdgpu driver says of each card.

No ROCm is needed on the host. Format of the tree:
https://github.com/ROCm/k8s-device-plugin/tree/master/testdata and drivers/gpu/drm/amd/amdkfd/kfd_topology.c of Linux.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

SYSFS = Path("/sys")
AMD = 0x1002
_SIMDS_PER_CU = {"9": 4, "8": 4}  # by the generation's number: GCN and CDNA have four, RDNA two
# PCI ids: https://github.com/ROCm/rocm-systems (amdsmi), pci.ids. A chip's gfx where the kernel is too old to say it.
_MODELS = {
    0x6860: "Vega 10", 0x6861: "Vega 10", 0x687F: "Vega 10", 0x66A0: "Instinct MI60", 0x66A1: "Radeon Pro VII or MI50",
    0x66AF: "Radeon VII", 0x738C: "Instinct MI100", 0x7408: "Instinct MI250X", 0x740C: "Instinct MI250",
    0x740F: "Instinct MI210", 0x74A0: "Instinct MI300A", 0x74A1: "Instinct MI300X", 0x74A2: "Instinct MI308X",
    0x74A5: "Instinct MI325X", 0x75A0: "Instinct MI350X", 0x75A3: "Instinct MI355X", 0x73BF: "Radeon RX 6900 XT",
    0x744C: "Radeon RX 7900 XTX", 0x7550: "Radeon RX 9070 XT",
}  # fmt: skip
_GFX_OF_OLD = {
    0x6860: "gfx900",
    0x6861: "gfx900",
    0x687F: "gfx900",
    0x66A0: "gfx906",
    0x66A1: "gfx906",
    0x66AF: "gfx906",
}


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU, or one partition or die of a card, as the kernel offers it for computing.

    ``index`` counts GPUs in the order of the kernel's nodes, which is ROCr's. ``vram`` is in bytes, 0 where the kernel
    does not say. ``partition`` is its number on the card where that is partitioned, ``mode`` what the card is set to.
    """

    index: int
    node: int
    gfx: str
    model: str
    cus: int
    vram: int
    pci: str
    uuid: str
    hive: str
    render: str
    xccs: int
    partition: int | None = None
    mode: str = ""


@dataclass(frozen=True, kw_only=True)
class Topology:
    """The GPUs of a host, its driver, and what could not be read or is not ours."""

    gpus: tuple[Gpu, ...]
    driver: str
    notes: tuple[str, ...]


def decode_gfx(version: int) -> str:
    """Decode ``gfx_target_version``: 90010 is gfx90a, 110000 is gfx1100; minor and step are hexadecimal digits.

    The encoding is major * 10000 + minor * 100 + step, see kfd_topology.c of the Linux kernel:
    https://github.com/torvalds/linux/blob/master/drivers/gpu/drm/amd/amdkfd/kfd_device.c
    """
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def discover(sysfs: Path = SYSFS) -> Topology:
    """Read the topology below ``sysfs``.

    Nodes that cannot be read, such as those of another container's GPUs, are noted and passed over.
    """
    nodes = sysfs / "class/kfd/kfd/topology/nodes"
    gpus: list[Gpu] = []
    notes: list[str] = []
    for folder in sorted((path for path in nodes.glob("*") if path.name.isdigit()), key=lambda path: int(path.name)):
        values = _properties(folder / "properties")
        if values is None:
            notes.append(f"node {folder.name} cannot be read: another container's GPU, or no permission")
        elif values.get("simd_count", 0) == 0:
            continue
        elif values.get("vendor_id") != AMD:
            notes.append(f"node {folder.name} is no AMD GPU (vendor {values.get('vendor_id', 0):#06x})")
        elif not values.get("drm_render_minor"):
            notes.append(f"node {folder.name} has no render node, so nothing can be passed through")
        else:
            gpus.append(_gpu(len(gpus), folder, values, sysfs))
    return Topology(gpus=_partitioned(gpus, sysfs), driver=driver(sysfs), notes=tuple(notes))


def _properties(path: Path) -> Mapping[str, int] | None:
    """Read ``key value`` lines; None where the file is empty or cannot be read."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    values = {name: int(value) for name, _, value in (line.partition(" ") for line in lines) if value.strip().isdigit()}
    return values or None


def _gpu(index: int, folder: Path, values: Mapping[str, int], sysfs: Path) -> Gpu:
    device, version = values.get("device_id", 0), values.get("gfx_target_version", 0)
    gfx = decode_gfx(version) if version else _GFX_OF_OLD.get(device, "gfx?")
    per_cu = values.get("simd_per_cu") or _SIMDS_PER_CU.get(gfx.removeprefix("gfx")[:1], 2)
    unique, hive = values.get("unique_id", 0), values.get("hive_id", 0)
    return Gpu(
        index=index,
        node=int(folder.name),
        gfx=gfx,
        model=_MODELS.get(device, f"device {device:#06x}"),
        cus=values["simd_count"] // per_cu,
        vram=_vram(folder, values, sysfs),
        pci=_pci(values),
        uuid=f"GPU-{unique:016x}" if unique else "",
        hive=f"{hive:x}" if hive else "",
        render=f"renderD{values['drm_render_minor']}",
        xccs=values.get("num_xcc", 1),
    )


def _pci(values: Mapping[str, int]) -> str:
    """Return the address of the card: on a partitioned one the low three bits are the partition, not a function."""
    location = values.get("location_id", 0)
    return f"{values.get('domain', 0):04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"


def _vram(folder: Path, values: Mapping[str, int], sysfs: Path) -> int:
    """Return the size of the node's memory: newer kernels leave ``local_mem_size`` 0 and list banks."""
    if size := values.get("local_mem_size", 0):
        return size
    banks = (_properties(bank) or {} for bank in sorted(folder.glob("mem_banks/*/properties")))
    # Heap types 1 and 2 are the frame buffer: HSA_MEM_HEAP_TYPE in hsakmttypes.h.
    if size := sum(bank.get("size_in_bytes", 0) for bank in banks if bank.get("heap_type") in {1, 2}):
        return size
    try:
        total = sysfs / f"class/drm/renderD{values.get('drm_render_minor')}/device/mem_info_vram_total"
        return int(total.read_text())
    except (OSError, ValueError):
        return 0


def _partitioned(gpus: list[Gpu], sysfs: Path) -> tuple[Gpu, ...]:
    """Give each partition of a card its number and the card's address."""
    cards = Counter(_card(gpu) for gpu in gpus)
    found = []
    for gpu in gpus:
        address = f"{_card(gpu)}.0"
        mode = _text(sysfs / "module/amdgpu/drivers/pci:amdgpu" / address / "current_compute_partition")
        if cards[_card(gpu)] > 1:
            partition = int(gpu.pci[-1])
            found.append(replace(gpu, pci=address, partition=partition, mode=mode or f"{cards[_card(gpu)]} partitions"))
        else:
            found.append(replace(gpu, mode=mode))
    return tuple(found)


def _card(gpu: Gpu) -> str:
    return gpu.pci.rpartition(".")[0]


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def driver(sysfs: Path = SYSFS, kernel: Path = Path("/proc/sys/kernel/osrelease")) -> str:
    """Return the amdgpu module's version, which dkms packages have, or else the kernel's release. Never parsed."""
    if version := _text(sysfs / "module/amdgpu/version"):
        return f"amdgpu {version}"
    return f"in-tree amdgpu of Linux {_text(kernel)}" if (sysfs / "module/amdgpu").is_dir() else "none"
