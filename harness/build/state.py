"""Keep small facts between runs: one JSON file each, replaced as a whole, so that it is never half-written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)


def read_state(path: Path, model: type[M]) -> M | None:
    """Read a fact; None when it is not there or was written by a version that meant something else."""
    try:
        return model.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def write_state(path: Path, value: BaseModel) -> None:
    """Write a fact; a reader sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(value.model_dump_json(indent=1) + "\n")
    fresh.replace(path)
