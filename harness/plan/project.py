"""Read a whole project: the matrix file, the repros it names, and the cells that follow."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ConfigError
from harness.plan.cells import Cell, MisnamedError, apply, expand, require
from harness.plan.chips import chips, find_chip
from harness.plan.devices import SoftwareDevice
from harness.plan.loading import load, place
from harness.plan.models import Matrix, Selection
from harness.plan.repros import ReproFolder, find, load_repro


@dataclass(frozen=True, kw_only=True)
class Project:
    """A matrix with its repros and cells; ``root`` is the folder of the matrix file."""

    root: Path
    matrix: Matrix
    repros: tuple[ReproFolder, ...]
    cells: tuple[Cell, ...]

    @property
    def state(self) -> Path:
        """Return the folder that holds everything the harness writes for this project."""
        return self.root / ".harness"

    @property
    def jobs(self) -> int:
        """Return how many cells run at once: most of a cell's life is waiting for the engine, not computing."""
        return self.matrix.jobs or min(8, 2 * (os.cpu_count() or 1))


def read(matrix_file: Path) -> Project:
    """Read the matrix and everything it names.

    Raises ConfigError, with file and place, for the first file that is not as it should be; nothing has run then.
    """
    matrix = load(matrix_file, Matrix)
    try:
        return _read(matrix_file.resolve().parent, matrix)
    except MisnamedError as error:
        raise ConfigError(f"{place(matrix_file, error.at)}: {error}") from None


def _check_chips(matrix: Matrix) -> None:
    """Refuse a software GPU that is no chip we know, or is to do what the chip cannot."""
    names = [name for chip in chips() for name in chip.names]
    for number, device in enumerate(matrix.devices):
        if not isinstance(device, SoftwareDevice):
            continue
        require(device.gfx, names, ("devices", number, "gfx"))
        chip = find_chip(device.gfx)
        if device.xnack and chip and not chip.xnack:
            raise MisnamedError(("devices", number, "xnack"), f"{chip.gfx} ({chip.marketing}) has no XNACK")


def _read(root: Path, matrix: Matrix) -> Project:
    _check_chips(matrix)
    folders = find(root)
    chosen = matrix.repros or [Selection(name=name) for name in folders]
    for number, selection in enumerate(chosen):
        require(selection.name, list(folders), ("repros", number))
    repros = [
        apply(selection, load_repro(selection.name, folders[selection.name]), ("repros", number))
        for number, selection in enumerate(chosen)
    ]
    return Project(root=root, matrix=matrix, repros=tuple(repros), cells=tuple(expand(matrix, repros)))
