"""Tell what of a plan is built already, from recorded facts alone: no engine is asked, nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from harness.build.bases import recorded
from harness.build.dockerfiles import render_cell, render_image
from harness.build.host import Host
from harness.build.images import Built, remembered
from harness.build.state import read_state, write_state
from harness.plan.models import Image
from harness.plan.repros import ReproFolder


def cell_image_name(image: Image, repro: ReproFolder) -> str:
    """Name the image of a repro on an image; no name of either holds a plus sign."""
    return f"{image.name}+{repro.name}"


class Trouble(BaseModel):
    """Why an image could not be built the last time it was tried."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """The recorded images of one project; answers are None for what is not built, or was built from another spec."""

    state: Path
    host: Host

    def image(self, image: Image) -> Built | None:
        """Return what is known of a ROCm image."""
        base = recorded(self.state, image.source)
        if base is None:
            return None
        return remembered(self.state, image.name, render_image(image, base, ca_bundle=self.host.ca_bundle))

    def cell_image(self, image: Image, repro: ReproFolder) -> Built | None:
        """Return what is known of the image of a repro on an image."""
        base = recorded(self.state, image.source)
        if base is None:
            return None
        context = render_cell(image, base, repro, ca_bundle=self.host.ca_bundle)
        return remembered(self.state, cell_image_name(image, repro), context)

    def trouble(self, name: str) -> str | None:
        """Return why the image ``name`` could not be built the last time, or None when it could."""
        found = read_state(self._note(name), Trouble)
        return found.reason if found else None

    def note_trouble(self, name: str, reason: str | None) -> None:
        """Remember why an image could not be built; None forgets it."""
        if reason is not None:
            write_state(self._note(name), Trouble(reason=reason))
        else:
            self._note(name).unlink(missing_ok=True)

    def _note(self, name: str) -> Path:
        return self.state / "trouble" / f"{name}.json"
