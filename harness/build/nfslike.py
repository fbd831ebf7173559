"""Build the file system that behaves like a troublesome NFS export, once for each state of its sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from harness.build.context import File, hash_files, read_tree
from harness.build.dockerfiles import Base, render_nfslike
from harness.build.images import Built, Workshop
from harness.plan.models import DistroSource
from harness.plan.repros import BUILTIN

NAME = "restricted home"  # of its image; a blank is in no name that a matrix gives
PROGRAM = "/opt/nfslike"
PACKAGES = ("g++", "make", "pkg-config", "libfuse3-dev")
_SOURCES = BUILTIN.parent / "nfslike"


@cache
def sources() -> Mapping[str, File]:
    """Read everything that the program is made from."""
    return read_tree(_SOURCES, "nfslike/")


@cache
def source_hash() -> str:
    """Hash the sources: results in homes that another state of them made are other results."""
    return hash_files(sources())[:16]


def provide(
    workshop: Workshop, where: DistroSource, base: Base, note: Callable[[str], None], ca_bundle: bytes | None
) -> tuple[Built, bool]:
    """Return the image that the file system runs in, and whether it was built now.

    Raises ConfigError or InfraError as building any image does.
    """
    context = render_nfslike(where, base, sources(), ca_bundle=ca_bundle)
    return workshop.ensure(NAME, context, note, look_inside=False)
