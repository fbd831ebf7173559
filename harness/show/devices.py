"""Show the GPUs of a host."""

from __future__ import annotations

import json
from dataclasses import asdict

from tabulate import tabulate

from harness.run.topology import Gpu, Topology

_HEADS = ("index", "gfx", "model", "CUs", "memory", "PCI", "partition", "render node", "UUID", "hive")


def listed(topology: Topology, *, as_json: bool) -> str:
    """List the GPUs with what selects them in a matrix, the driver, and what was passed over."""
    if as_json:
        return json.dumps(asdict(topology), indent=1)
    rows = [_row(gpu) for gpu in topology.gpus]
    table = tabulate(rows, _HEADS, "rounded_outline", disable_numparse=True) if rows else "there is no AMD GPU"
    return "\n".join([table, f"driver: {topology.driver}", *topology.notes])


def _row(gpu: Gpu) -> list[str]:
    memory = f"{gpu.vram / (1 << 30):.0f} GiB" if gpu.vram else ""
    partition = f"{gpu.partition} ({gpu.mode})" if gpu.partition is not None else gpu.mode
    return [
        str(gpu.index),
        gpu.gfx,
        gpu.model,
        str(gpu.cus),
        memory,
        gpu.pci,
        partition,
        gpu.render,
        gpu.uuid,
        gpu.hive,
    ]
