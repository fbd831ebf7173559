"""Tell the harness what a reproducer saw.

Each call appends one JSON line to the file named by $REPRO_EVENTS; without that variable it does nothing.
An exit status is always enough: these calls only add detail.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

SKIP = 77  # exit status: this case says nothing here
BROKEN = 99  # exit status: the environment is broken, not the software under test


def repro_observe(name: str, value: str) -> None:
    """Record that `name` was seen to be `value`."""
    _append({"observe": {name: value}})


def repro_metric(name: str, value: float, unit: str) -> None:
    """Record a measurement. JSON has no infinity and no NaN: such a value becomes null."""
    _append({"metric": {"name": name, "value": value if math.isfinite(value) else None, "unit": unit}})


def repro_signature(text: str) -> None:
    """Name the failure, as the table shows it."""
    _append({"signature": text})


def _append(event: dict[str, Any]) -> None:
    path = os.environ.get("REPRO_EVENTS")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")
