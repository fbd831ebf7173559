"""Render Dockerfiles and their contexts from plain values. Reads templates and repro files, runs nothing.

The Dockerfiles use no BuildKit feature: the classic builder of Docker Engine 20.10, BuildKit and Podman all build them.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jinja2

from harness.build.context import HOST, Context, File, read_tree
from harness.plan.commands import fill
from harness.plan.models import DistroSource, Image
from harness.plan.repros import BUILTIN, SHARED, Case, ReproFolder

TEMPLATES = BUILTIN.parent / "images"
REPOSITORY = "rocm-harness"
SHARED_IN_IMAGE = f"/repro/{SHARED}"

# Seconds for a build that is not the experiment; a busy host must not look like a repro that does not build.
BUILD_PATIENCE = 600.0

# Where a base keeps its mirror: one-line style (mmdebstrap) or deb822 (registry images). See sources.list(5).
_FIND_MIRROR = (
    r"mirror=$(sed -n -e 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' -e 's/^URIs: *\([^ ]*\).*/\1/p' "
    r"/etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)"
)


@dataclass(frozen=True, kw_only=True)
class Base:
    """What a Dockerfile starts from; ``reference`` is what FROM names, ``how`` says where it came from."""

    reference: str
    how: str

    @property
    def comment(self) -> str:
        """Return ``how`` as a Dockerfile comment."""
        return f"# Base: {self.how}"


def render_image(image: Image, base: Base, *, ca_bundle: bytes | None = None) -> Context:
    """Render the Dockerfile of one ROCm user space."""
    files = _host_files(image.source, ca_bundle, tls=bool(image.layers))
    text = _render("distro.Dockerfile.j2", {**_values(image.source, base, files), "image": image})
    return Context(name=f"{REPOSITORY}/image/{image.name}", dockerfile=text, files=files)


def render_cell(image: Image, base: Base, repro: ReproFolder, *, ca_bundle: bytes | None = None) -> Context:
    """Render the Dockerfile of a repro on an image: the image's own layers again, then one with the repro built."""
    files = {**_host_files(image.source, ca_bundle, tls=bool(image.layers)), **_repro_files(repro)}
    text = _render("cell.Dockerfile.j2", {**_values(image.source, base, files), "image": image, "repro": repro})
    return Context(name=f"{REPOSITORY}/cell/{image.name}/{repro.name}", dockerfile=text, files=files)


def render_softgpu(
    source: DistroSource, base: Base, sources: Mapping[str, File], *, ca_bundle: bytes | None = None
) -> Context:
    """Render the Dockerfile of the image that builds the software GPU, and holds its library."""
    files = {**_host_files(source, ca_bundle), **sources}
    text = _render("softgpu.Dockerfile.j2", _values(source, base, files))
    return Context(name=f"{REPOSITORY}/softgpu", dockerfile=text, files=files)


def render_nfslike(
    source: DistroSource, base: Base, sources: Mapping[str, File], *, ca_bundle: bytes | None = None
) -> Context:
    """Render the Dockerfile of the image that restricted homes are served from."""
    files = {**_host_files(source, ca_bundle), **sources}
    text = _render("nfslike.Dockerfile.j2", _values(source, base, files))
    return Context(name=f"{REPOSITORY}/nfslike", dockerfile=text, files=files)


def variant(repro: ReproFolder, case: Case) -> str:
    """Return the name of the build that a case runs: cases that agree on the parameters of the build share it."""
    return f"b{list(_variants(repro)).index(_variant_key(repro, case)) + 1}"


def _variants(repro: ReproFolder) -> dict[tuple[object, ...], Case]:
    variants: dict[tuple[object, ...], Case] = {}
    for case in repro.cases():
        variants.setdefault(_variant_key(repro, case), case)
    return variants


def _variant_key(repro: ReproFolder, case: Case) -> tuple[object, ...]:
    values = dict(case.params)
    # The type belongs to the key: 1, True and "1" are different words on a command line.
    return tuple((type(values[name]).__name__, values[name]) for name in repro.build_params())


def build_plan(repro: ReproFolder) -> str:
    """Write the shell file that build.sh reads; every word is quoted, so a value stays a value."""
    experiment = "yes" if repro.spec.regressed_when == "build" else ""
    lines = [f"KEEP=65536 LIMIT={_patience(repro):g} EXPERIMENT={experiment}"]
    for number, case in enumerate(_variants(repro).values(), 1):
        lines.append(f"variant b{number}")
        values = {**dict(case.params), SHARED: SHARED_IN_IMAGE}
        lines += [f"step {shlex.join(fill(command, values))}" for command in repro.spec.build]
    return "\n".join(lines) + "\n"


def _patience(repro: ReproFolder) -> float:
    """Return the seconds for a step: how long the experiment may take says nothing of how long building it may."""
    own = repro.spec.timeout
    return own if repro.spec.regressed_when == "build" else max(own, BUILD_PATIENCE)


def _sources(repro: ReproFolder) -> dict[str, File]:
    """Read the folder without its repro.yaml: what of it decides the result is in the plan and in the cell's key."""
    files = read_tree(repro.path, "repro/source/")
    files.pop("repro/source/repro.yaml", None)
    return files


def _repro_files(repro: ReproFolder) -> dict[str, File]:
    shared = repro.path.parent / SHARED
    return {
        **_sources(repro),
        **read_tree(shared if shared.is_dir() else BUILTIN / SHARED, f"repro/{SHARED}/"),
        **read_tree(TEMPLATES / "support", "repro/harness/"),
        "repro/harness/plan.sh": File(content=build_plan(repro).encode()),
    }


def _host_files(source: DistroSource, ca_bundle: bytes | None, *, tls: bool = False) -> dict[str, File]:
    """Hand the host's certificates only to builds that speak TLS; most mirrors do not, as packages are signed."""
    if ca_bundle is None or not (tls or (source.mirror or "").startswith("https:")):
        return {}
    return {f"{HOST}ca-bundle.crt": File(content=ca_bundle)}


def _values(source: DistroSource, base: Base, files: Mapping[str, File]) -> dict[str, object]:
    host_files = any(path.startswith(HOST) for path in files)
    return {
        "source": source,
        "base": base,
        "host_files": host_files,
        "mirror": f"mirror={shlex.quote(source.mirror)}" if source.mirror else _FIND_MIRROR,
        "apt_options": apt_options(source, host_files=host_files),
    }


def apt_options(source: DistroSource, *, host_files: bool) -> Sequence[str]:
    """Return apt-get's options: see apt.conf(5) and apt-transport-https(1)."""
    options = ["-o Acquire::Retries=2"]
    if not source.check_valid_until:
        options.append("-o Acquire::Check-Valid-Until=false")
    if host_files:
        options.append("-o Acquire::https::CaInfo=/repro/host/ca-bundle.crt")
    return options


# Not HTML: every value is held to a pattern by the models. What is missing is an error, never an empty word.
_TEMPLATES = jinja2.Environment(  # noqa: S701
    loader=jinja2.FileSystemLoader(TEMPLATES),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_TEMPLATES.filters["quote"] = shlex.quote


def _render(template: str, values: Mapping[str, object]) -> str:
    return _TEMPLATES.get_template(template).render(values)
