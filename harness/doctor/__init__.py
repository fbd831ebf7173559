"""Say what this host offers to the harness and what it lacks, each with what mends it. Changes nothing."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from harness.build import softgpu
from harness.doctor import engines, gpus, here
from harness.doctor.finding import Finding
from harness.errors import HarnessError
from harness.plan.chips import chips, find_chip
from harness.plan.devices import GFX
from harness.plan.project import Project, read
from harness.survey import survey


def examine(matrix: Path, override: str | None) -> list[Finding]:
    """Look at everything a run needs."""
    project, about = _project(matrix)
    names = list(dict.fromkeys(device.host for device in project.matrix.devices)) if project else [None]
    root = project.root if project else matrix.resolve().parent
    return [
        Finding(what="Python", state="ok", detail=platform.python_version()),
        about,
        *(_columns(project) if project else ()),
        *(engines.own(override) if None in names else ()),
        *engines.far([name for name in names if name], root / ".harness"),
        *gpus.examine(os.environ),
        *here.examine(root, os.environ),
        *_software(),
    ]


def _project(matrix: Path) -> tuple[Project | None, Finding]:
    try:
        project = read(matrix)
    except HarnessError as error:
        return None, Finding(what="matrix", state="error", detail=str(error), mend="docs/matrix.md has every key")
    except OSError as error:
        return None, Finding(
            what="matrix", state="error", detail=f"{matrix}: {error.strerror}", mend="-m FILE names it"
        )
    return project, Finding(what="matrix", state="ok", detail=f"{matrix}: {len(project.cells)} cells")


def _columns(project: Project) -> Iterator[Finding]:
    """Name the devices of the matrix that are not here."""
    try:
        found = survey(project).grants
    except HarnessError as error:
        yield Finding(what="devices", state="error", detail=str(error))
        return
    missing = [column.absent for device in project.matrix.devices if device.host is None
               for column in found[device.name] if column.absent]  # fmt: skip
    for reason in missing:
        yield Finding(what="devices", state="error", detail=reason, mend="harness devices lists what is here")
    if not missing:
        labels = dict.fromkeys(column.label for columns in found.values() for column in columns)
        yield Finding(what="devices", state="ok", detail=f"columns: {', '.join(labels)}")


def _software() -> Iterator[Finding]:
    default = find_chip(GFX)
    kinds = ", ".join(dict.fromkeys(chip.gfx for chip in chips()))
    yield Finding(
        what="software GPU",
        state="ok" if default else "error",
        detail=(
            f"plays {kinds}; `auto` takes {GFX} ({default.marketing if default else 'missing'}) where there is no AMD "
            "GPU. The image's own HIP runtime runs on it; copies and fills happen, kernels of the program do not "
            "execute: what needs them is skipped, and a verdict that may rest on one is marked (docs/no-gpu.md)"
        ),
        mend="" if default else "git checkout softgpu/chips",
    )
    yield Finding(
        what="its library",
        state="ok",
        detail=f"built once from {len(softgpu.sources())} files, kept in the volume {softgpu.volume()}",
    )


def as_objects(findings: Sequence[Finding]) -> list[dict[str, str]]:
    """Return the findings as ``harness doctor --json`` prints them."""
    return [asdict(finding) for finding in findings]


def as_text(findings: Sequence[Finding]) -> str:
    """Return one line for each finding, and one below it for what mends it."""
    width = max(len(finding.what) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.state:<7} {finding.what:<{width}}  {finding.detail}")
        if finding.mend:
            lines.append(f"{'':<7} {'':<{width}}  -> {finding.mend}")
    return "\n".join(lines)
