"""Build the software GPU once for each state of its sources, and keep the library in a named volume.

It is built in the oldest base, so that its glibc symbols are in every newer image. Containers mount the volume
read-only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from harness.build.builder import LABEL_BUILT_FOR, LABEL_SPEC, Builder
from harness.build.context import File, hash_files, read_tree
from harness.build.dockerfiles import REPOSITORY, Base, render_softgpu
from harness.build.images import Built, Workshop
from harness.plan.chips import SOFTGPU
from harness.plan.models import DistroSource, Image

NAME = "software GPU"  # of its image; a blank is in no name that a matrix gives
FOLDER = "/opt/softgpu"
_SUITE = "bookworm"
_PACKAGES = ("g++", "make", "libhsa-runtime-dev")
# Another process may be filling the volume right now.
_CHECK = "for turn in 1 2 3 4 5 6 7 8 9 10; do sha256sum -c /opt/softgpu.sha256 && exit 0; sleep 1; done; exit 1"
_PARTS = ("src", "chips", "surface")


@cache
def sources() -> Mapping[str, File]:
    """Read everything that the library is made from."""
    files = {"softgpu/Makefile": File(content=(SOFTGPU / "Makefile").read_bytes())}
    for part in _PARTS:
        files |= read_tree(SOFTGPU / part, f"softgpu/{part}/")
    return files


@cache
def source_hash() -> str:
    """Hash the sources: results that another state of them gave are other results."""
    return hash_files(sources())[:16]


def volume() -> str:
    """Name the volume that holds the library."""
    return f"{REPOSITORY}-softgpu-{source_hash()}"


def source(images: Sequence[Image], packages: Sequence[str] = _PACKAGES) -> DistroSource:
    """Return where a building image comes from: the oldest base, by the mirror that the matrix uses for Debian."""
    debian = [image.source for image in images if image.source.distribution == "debian"]
    same = next((each for each in debian if each.suite == _SUITE), None)
    lender = same or next(iter(debian), DistroSource(kind="distro", suite=_SUITE))
    own = {"suite": _SUITE, "extra_suites": (), "target_release": None, "packages": tuple(packages)}
    return lender.model_copy(update=own)


def provide(
    workshop: Workshop, engine: Builder, where: DistroSource, base: Base, note: Callable[[str], None],
    ca_bundle: bytes | None,
) -> tuple[Built, bool]:  # fmt: skip
    """Make sure that the volume holds the library; return its image, and whether that was built now.

    Raises ConfigError or InfraError as building any image does.
    """
    context = render_softgpu(where, base, sources(), ca_bundle=ca_bundle)
    built, made_now = workshop.ensure(NAME, context, note, look_inside=False)
    labels = {LABEL_SPEC: context.spec_hash, LABEL_BUILT_FOR: workshop.project}
    engine.fill_volume(volume(), built.image_id, FOLDER, check=_CHECK, labels=labels)
    return built, made_now
