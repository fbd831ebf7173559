"""Say what building needs of a container engine; ``run.engine`` has it, tests may bring another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

# Labels of the images that we build; nothing without them is ever removed. Containers inherit the labels of their
# image, so those of containers (run.engine) have other names: a user's own container of an image of ours is not ours.
LABEL_SPEC = "rocm-harness.spec-hash"
LABEL_BUILT_FOR = "rocm-harness.built-for"


class BuildError(Exception):
    """Carry the log of a build that the engine gave up."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.message = message
        self.log = log


class Tools(Protocol):
    """The programs of the building host; ``run.tools`` has them."""

    def need(self, name: str, package: str) -> None:
        """Make sure that a program is there, installing the package that has it if need be."""

    def as_root(self, command: Sequence[str]) -> list[str]:
        """Return the words that run a command as root."""


class Builder(Protocol):
    """The part of an engine that deals with images. Every method raises InfraError when the engine fails."""

    def image_id(self, reference: str) -> str | None:
        """Return the id of a local image, or None when there is none."""

    def pull(self, repository: str, tag: str) -> str:
        """Pull an image and return its reference by digest."""

    def tag(self, image_id: str, reference: str) -> None:
        """Give an image one more name."""

    def import_root(self, archive: Path, reference: str) -> None:
        """Make an image of one layer from a tar archive of a root file system."""

    def build(
        self, folder: Path, tag: str, *, labels: Mapping[str, str], arguments: Mapping[str, str],
        progress: Callable[[str], None],
    ) -> str:  # fmt: skip
        """Build a folder and return the image's id; raises BuildError when a step fails."""

    def output(self, image: str, script: str, *, timeout: float) -> str:
        """Run a shell script in a throw-away container and return what it printed."""

    def fill_volume(self, name: str, image: str, folder: str, *, check: str, labels: Mapping[str, str]) -> None:
        """Make sure that a named volume holds what an image has in ``folder``; ``check`` is a script that sees it."""
