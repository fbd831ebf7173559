"""Write synthetic sysfs trees of hosts, with the values that public dumps of them show.

Source of the values: https://github.com/ROCm/k8s-device-plugin/tree/master/testdata and the threads named beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CPU = {"cpu_cores_count": 64, "simd_count": 0, "vendor_id": 0, "device_id": 0, "drm_render_minor": 0}
MI210 = {"simd_count": 416, "simd_per_cu": 4, "gfx_target_version": 90010, "vendor_id": 4098, "device_id": 29711,
         "domain": 0, "local_mem_size": 0, "num_xcc": 1}  # fmt: skip
MI300X = MI210 | {"simd_count": 1216, "gfx_target_version": 90402, "device_id": 29857, "num_xcc": 8}
MI300A = MI300X | {"simd_count": 912, "device_id": 29856, "num_xcc": 6}
MI250 = MI210 | {"device_id": 0x740C}
RX7900 = MI210 | {"simd_count": 192, "simd_per_cu": 2, "gfx_target_version": 110000, "device_id": 29772,
                  "location_id": 34304, "unique_id": 11673270660693242239, "drm_render_minor": 128}  # fmt: skip
PRO_VII = MI210 | {"simd_count": 240, "gfx_target_version": 90006, "device_id": 0x66A1, "location_id": 768,
                   "drm_render_minor": 128}  # fmt: skip
# An old kernel: no gfx_target_version, no domain, no num_xcc, no simd_per_cu, and the memory is told.
VEGA10 = {"simd_count": 256, "vendor_id": 4098, "device_id": 26720, "location_id": 6400, "drm_render_minor": 128,
          "local_mem_size": 17163091968}  # fmt: skip
NVIDIA = {"simd_count": 108, "vendor_id": 4318, "device_id": 8373, "drm_render_minor": 129, "location_id": 512}

MI210_LOCATIONS = (25344, 17152, 768, 9728, 58112, 49920, 33536, 41728)
MI210_HIVES = (12609507387757274807, 18091350218769748594)
MI210_UNIQUE = 1801979520617338022
CPX_UNIQUE = 16404946649897475633

Node = Mapping[str, int] | None  # None: a node whose properties cannot be read

HOSTS: Mapping[str, tuple[Node, ...]] = {
    "eight-mi210": (
        CPU, CPU,
        *(MI210 | {"location_id": location, "drm_render_minor": 128 + n, "unique_id": MI210_UNIQUE + n,
                   "hive_id": MI210_HIVES[n // 4]} for n, location in enumerate(MI210_LOCATIONS)),
    ),
    "mi300x-spx": (CPU, CPU, *(MI300X | {"location_id": 18176 + 256 * n, "drm_render_minor": 128 + 8 * n,
                                         "unique_id": 4376936076086227261 + n} for n in range(2))),
    "mi300x-cpx": (CPU, CPU, *(MI300X | {"simd_count": 152, "num_xcc": 1, "location_id": 1280 + n,
                                         "drm_render_minor": 128 + n, "unique_id": CPX_UNIQUE} for n in range(8))),
    "mi300a": tuple(node for n in range(4) for node in (
        CPU | {"cpu_cores_count": 48}, MI300A | {"location_id": 256 * (n + 1), "drm_render_minor": 128 + n})),
    "mi250": (CPU, *(MI250 | {"location_id": 10496 + 768 * n, "drm_render_minor": 128 + n} for n in range(2))),
    "rx7900": (CPU, RX7900),
    "pro-vii": (CPU, PRO_VII),
    "vega10": (CPU, VEGA10),
    "mixed": (CPU, PRO_VII, NVIDIA),
    "unreadable": (CPU, None, MI210 | {"location_id": 768, "drm_render_minor": 129}, None),
    "no-gpu": (CPU,),
}  # fmt: skip


def write_tree(root: Path, nodes: tuple[Node, ...], *, driver: str | None = "6.16.6") -> Path:
    """Write a sysfs tree and return its root; an empty properties file is what device cgroups leave of a node."""
    for number, node in enumerate(nodes):
        folder = root / "class/kfd/kfd/topology/nodes" / str(number)
        folder.mkdir(parents=True)
        lines = [f"{key} {value}" for key, value in (node or {}).items()]
        (folder / "properties").write_text("\n".join([*lines, ""]))
        (folder / "gpu_id").write_text("0\n")
    module = root / "module/amdgpu"
    module.mkdir(parents=True)
    if driver is not None:
        (module / "version").write_text(driver + "\n")
    return root
