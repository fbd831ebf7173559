"""Read what an image really holds: versions, compiler, packages, build ids of libraries, and what it offers to repros.

Pure; ``probe.sh`` does the looking, inside the image.
"""

from __future__ import annotations

import re
from pathlib import Path

from packaging.version import InvalidVersion, Version
from pydantic import BaseModel, ConfigDict

SCRIPT = (Path(__file__).parent / "probe.sh").read_text()

# Packages whose version is that of the HIP runtime, best evidence first: Debian's and AMD's names of libamdhip64.
_RUNTIME = re.compile(r"^(libamdhip64-\d+|hip-runtime-amd)$")
# "1:7.2.4+dfsg-1~exp2": epoch, upstream version, repacking mark, revision.
_UPSTREAM = re.compile(r"^(?:\d+:)?(\d+(?:\.\d+){1,3})")


class Library(BaseModel):
    """A shared library by the name programs ask for; ``build_id`` tells two builds of one version apart."""

    model_config = ConfigDict(frozen=True)
    soname: str
    build_id: str
    file: str


class Probe(BaseModel):
    """What was found inside; an empty string means that it could not be told."""

    model_config = ConfigDict(frozen=True)
    os: str = ""
    rocm: str = ""
    hip: str = ""
    compiler: str = ""
    packages: dict[str, str] = {}
    libraries: tuple[Library, ...] = ()
    offers: frozenset[str] = frozenset()

    @property
    def version(self) -> Version | None:
        """Return the ROCm version as a number that compares, or None when it is unknown."""
        return parse_version(self.rocm)


def parse_version(text: str) -> Version | None:
    """Read a version; None for what is not one."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


def read(output: str) -> Probe:
    """Read what ``probe.sh`` printed; lines it does not know are passed over."""
    single: dict[str, str] = {}
    packages: dict[str, str] = {}
    libraries: list[Library] = []
    offers: set[str] = set()
    for line in output.splitlines():
        match line.split(" "):
            case ["package", name, version]:
                packages[name] = version
            case ["library", soname, build_id, file]:
                libraries.append(Library(soname=soname, build_id=build_id, file=file))
            case ["offers", need]:
                offers.add(need)
            case [key, *words] if words:
                single.setdefault(key, " ".join(words).strip())
    return Probe(
        os=single.get("os", ""),
        rocm=rocm_version(single.get("rocm_file", ""), packages, single.get("hip", "")),
        hip=single.get("hip", ""),
        compiler=single.get("compiler", ""),
        packages=packages,
        libraries=tuple(libraries),
        offers=frozenset(offers),
    )


def rocm_version(version_file: str, packages: dict[str, str], hip: str) -> str:
    """Tell the ROCm version: the version file of AMD's images, else the runtime's package, else HIP's own.

    HIP's version is the last resort because it is not ROCm's from 7.14 on.
    """
    for text in (version_file, *(version for name, version in packages.items() if _RUNTIME.match(name)), hip):
        if match := _UPSTREAM.match(text):
            return match.group(1)
    return ""


def lie(claimed: str | None, probe: Probe) -> str | None:
    """Say what is wrong with a claimed version, or return None: "6.4" is true of 6.4.3, "6.4.0" is not."""
    if claimed is None or probe.version is None:
        return None
    claim, found = claimed.split("."), probe.rocm.split(".")
    if found[: len(claim)] == claim:
        return None
    return f"said to be ROCm {claimed}, inside is {probe.rocm}"


def mixed(probe: Probe) -> str | None:
    """Say when compiler driver, runtime and HSA runtime come from different releases, or return None."""
    wanted = {"hipcc", "rocm-hip-runtime"} | {name for name in probe.packages if _RUNTIME.match(name)}
    wanted |= {name for name in probe.packages if name.startswith("libhsa-runtime64-")}
    found = {
        name: match.group(1)
        for name, version in sorted(probe.packages.items())
        if name in wanted and (match := _UPSTREAM.match(version)) and match.group(1).count(".") == 2
    }
    if len(set(found.values())) < 2:
        return None
    return "holds parts of several releases: " + ", ".join(f"{name} {version}" for name, version in found.items())
