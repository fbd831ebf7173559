"""Know the chips that the software GPU can be: the files in ``softgpu/chips``, which are also compiled into it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOFTGPU = Path(__file__).resolve().parents[2] / "softgpu"
_LINE = re.compile(r'^(\w+) *= *"?([^"]*?)"?$', re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Chip:
    """One chip: ``id`` is its file's name, ``gfx`` its instruction set, ``marketing`` what AMD calls it."""

    id: str
    gfx: str
    alias: str
    marketing: str
    xnack: bool
    images: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names that a matrix may call it by."""
        return self.id, self.alias, self.gfx


@cache
def chips(folder: Path = SOFTGPU / "chips") -> tuple[Chip, ...]:
    """Read all chips, sorted by their id, as the build of the software GPU sorts them."""
    return tuple(_chip(path.read_text()) for path in sorted(folder.glob("*.chip")))


def _chip(text: str) -> Chip:
    values = dict(_LINE.findall(text))
    return Chip(
        id=values["id"],
        gfx=values["gfx"],
        alias=values["alias"],
        marketing=values["marketing"],
        xnack=values.get("xnack") == "true",
        images=values.get("images") != "false",
    )


def find_chip(name: str, among: Iterable[Chip] | None = None) -> Chip | None:
    """Return the chip that a name means; a gfx name means the first chip that has it."""
    known = tuple(chips() if among is None else among)
    exact = (chip for chip in known if name in {chip.id, chip.alias})
    return next(exact, next((chip for chip in known if chip.gfx == name), None))
