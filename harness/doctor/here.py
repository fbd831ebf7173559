"""Look at this machine beside its engine and GPUs: the project's folder, the home, what builds take from outside."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.build.host import from_environment
from harness.doctor.engines import disk
from harness.doctor.finding import Finding
from harness.errors import HarnessError
from harness.run.filesystems import MOUNTS, file_system

# Records of a long run, logs, the contexts of images.
_SPACE_FOR_RECORDS = 200 << 20
_NETWORK = ("nfs", "cifs", "smb", "lustre", "ceph", "fuse.sshfs", "afs", "beegfs", "gpfs")
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy")
_SETTINGS = (*_PROXIES, "no_proxy", "HARNESS_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
             "DOCKER_HOST", "DOCKER_CONTEXT", "ENGINE", "HARNESS_DEV", "HARNESS_SYSFS")  # fmt: skip
_PROXY = re.compile(r"(https?|socks5h?)://([^@/]+@)?[^@/:\s]+(:[0-9]+)?/?")


def examine(root: Path, environment: Mapping[str, str], mounts: Path = MOUNTS) -> Iterator[Finding]:
    """Look at the project's folder ``root``, at the home, and at ``environment``."""
    yield from _project(root, mounts)
    yield from _home(environment, mounts)
    yield from _settings(environment)


def _project(root: Path, mounts: Path) -> Iterator[Finding]:
    state = root / ".harness"
    try:
        with tempfile.NamedTemporaryFile(dir=state if state.is_dir() else root):
            pass
    except OSError as error:
        yield Finding(what="project folder", state="error", detail=f"{root} cannot be written to: {error.strerror}",
                      mend=f"sudo chown -R $USER {root}, or copy the project elsewhere")  # fmt: skip
        return
    yield disk("project folder", root, _SPACE_FOR_RECORDS)
    if (kind := _network(root, mounts)) is not None:
        detail = f"{root} is on {kind}: several hosts may put their records together there, each runs its own"
        yield Finding(what="project folder", state="ok", detail=detail)


def _home(environment: Mapping[str, str], mounts: Path) -> Iterator[Finding]:
    home = environment.get("HOME", "")
    if (kind := _network(Path(home), mounts)) is not None:
        detail = f"{home} is on {kind}: a bug seen there may be the mount's, and cells have a local home unless asked"
        yield Finding(what="home", state="warning", detail=detail, mend="add `homes:` to the matrix: docs/nfs-home.md")
    else:
        yield Finding(what="home", state="ok", detail=f"{home} is on {file_system(home, mounts) or 'a local disk'}")


def _network(folder: Path, mounts: Path) -> str | None:
    kind = file_system(str(folder), mounts) or ""
    return kind if kind.startswith(_NETWORK) else None


def _settings(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Name the settings that builds take over; never their values, which may hold a password."""
    found = sorted(name for name in environment if name in _SETTINGS or name.lower() in _SETTINGS)
    shown = f"taken from the environment: {', '.join(found) or 'none'}"
    try:
        from_environment(environment)
    except HarnessError as error:
        yield Finding(what="CA bundle", state="error", detail=str(error), mend="name the company's file, or unset it")
    wrong = [
        name
        for name in found
        if name.lower() in _PROXIES and environment[name] and not _PROXY.fullmatch(environment[name])
    ]
    if wrong:
        yield Finding(what="proxy", state="error", detail=f"{', '.join(wrong)} is no address of a proxy",
                      mend=f"export {wrong[0]}=http://proxy.example:3128")  # fmt: skip
    pairs = [(name, name.upper()) for name in _PROXIES if environment.get(name) and environment.get(name.upper())]
    for low, high in pairs:
        if environment[low] != environment[high]:
            detail = f"{low} and {high} differ: some tools take the one, some the other"
            yield Finding(what="proxy", state="warning", detail=detail, mend=f"export {high}=${low}")
    yield Finding(what="settings", state="ok", detail=shown)
    locks = Path("/run/lock")
    if locks.is_dir() and not os.access(locks, os.W_OK):
        yield Finding(what="GPU locks", state="error", detail=f"{locks} cannot be written to: GPUs cannot be held",
                      mend=f"sudo chmod 1777 {locks}")  # fmt: skip
