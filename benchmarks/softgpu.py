"""Measure what the software GPU costs a process on each ROCm version, beside the same process without it.

Figures are medians of the trials. The bounds are those of the issue that asked for the software GPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tabulate import tabulate

HERE = Path(__file__).parent
HARNESS = Path(sys.executable).parent / "harness"
MATRIX = str(HERE / "softgpu" / "matrix.yaml")
MOST_ADDED_MS, MOST_LAUNCHES_S, MOST_SYNC_US = 50.0, 0.3, 5.0


def measured() -> list[dict[str, Any]]:
    """Run every trial afresh, and return the results."""
    subprocess.run([HARNESS, "run", "--fresh", "--matrix", MATRIX], check=True, stdout=subprocess.DEVNULL)
    listed = subprocess.run(
        [HARNESS, "table", "--json", "--matrix", MATRIX], check=True, capture_output=True, text=True
    )
    results: list[dict[str, Any]] = json.loads(listed.stdout)
    return results


def main() -> None:
    """Print one row for each version, and end with 1 when a bound does not hold."""
    figures: dict[tuple[str, str, str], float] = {}
    versions: dict[str, str] = {}
    for item in measured():
        versions[item["image"]] = item["rocm"]
        for name, metric in item["metrics"].items():
            figures[item["image"], "none" if item["device"] == "none" else "software", name] = metric["median"]
    rows, worst = [], 0.0
    for image, rocm in versions.items():
        added = figures[image, "software", "start_up"] - figures[image, "none", "start_up"]
        launches, sync = figures[image, "software", "launches_50000"], figures[image, "software", "idle_sync"]
        shares = (added / MOST_ADDED_MS, launches / MOST_LAUNCHES_S, sync / MOST_SYNC_US)
        worst = max(worst, *shares)
        figure = (f"{added:.1f} ms", f"{launches:.2f} s", f"{sync:.2f} us")
        rows.append([rocm, *(f"{text} ({share:.2f})" for text, share in zip(figure, shares, strict=True))])
    heads = ["ROCm", f"start-up adds (of {MOST_ADDED_MS:g} ms)", f"50,000 empty kernels (of {MOST_LAUNCHES_S} s)",
             f"idle hipStreamSynchronize (of {MOST_SYNC_US:g} us)"]  # fmt: skip
    print(tabulate(rows, heads, "rounded_outline"))
    sys.exit(worst > 1)


if __name__ == "__main__":
    main()
