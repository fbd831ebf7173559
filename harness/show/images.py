"""Show what images hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tabulate import tabulate

from harness.build.images import Built
from harness.build.probe import Probe
from harness.plan.models import Image

_HEADS = ("image", "ROCm", "HIP", "compiler", "libamdhip64 build id", "system")


def listed(images: Sequence[Image], built: Mapping[str, Built], *, as_json: bool) -> str:
    """List the images that are built, with what was found inside."""
    there = [(image, built[image.name]) for image in images if image.name in built]
    if as_json:
        return json.dumps(
            [
                {"name": image.name, "claimed": image.rocm, "tag": made.tag, "id": made.image_id,
                 "spec_hash": made.spec_hash, "inside": made.probe.model_dump(mode="json") if made.probe else None}
                for image, made in there
            ],
            indent=1,
        )  # fmt: skip
    return tabulate(
        [[image.name, *_row(made.probe or Probe())] for image, made in there], _HEADS, "rounded_outline",
        disable_numparse=True,
    )  # fmt: skip


def _row(probe: Probe) -> list[str]:
    runtime = next((library.build_id for library in probe.libraries if library.soname.startswith("libamdhip64")), "")
    return [probe.rocm, probe.hip, probe.compiler.removeprefix("Debian "), runtime[:12], probe.os]
