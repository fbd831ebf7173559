"""Make the root of a base from a distribution's own archive, with mmdebstrap.

Source of the options: mmdebstrap(1), https://manpages.debian.org/bookworm/mmdebstrap/mmdebstrap.1.en.html
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

from harness.build.builder import Tools
from harness.build.dockerfiles import REPOSITORY
from harness.errors import InfraError
from harness.plan.models import DistroSource

# Where mmdebstrap looks by itself for the keys of Ubuntu's archive, and where the package ubuntu-keyring puts them.
UBUNTU_KEYRING = Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg")


def bootstrap_command(source: DistroSource, keyring: Path | None = None) -> list[str]:
    """Return the mmdebstrap command of a base, without its output; ``keyring`` stands in where the source names none.

    mmdebstrap knows the mirrors of Debian and Ubuntu by itself.
    """
    command = ["mmdebstrap", "--variant=minbase", "--format=tar", f"--components={','.join(source.components)}"]
    if trusted := source.keyring or keyring:
        command.append(f"--keyring={trusted}")
    if not source.check_valid_until:
        command.append('--aptopt=Acquire::Check-Valid-Until "false"')
    # The minimal base of Ubuntu resolute has neither apt-get nor the archive's keys; that of Debian has both.
    include = "apt,ca-certificates,ubuntu-keyring" if source.distribution == "ubuntu" else "ca-certificates"
    command += [f"--include={include}", source.suite, "-"]
    return [*command, source.mirror] if source.mirror else command


def bootstrapped_name(source: DistroSource) -> str:
    """Name a bootstrapped base after its command: another mirror or option makes another base."""
    digest = hashlib.sha256(shlex.join(bootstrap_command(source)).encode()).hexdigest()
    return f"{REPOSITORY}/base:{source.distribution}-{source.suite}-{digest[:12]}"


def write_root(source: DistroSource, archive: Path, tools: Tools, keyring: Path | None = None) -> None:
    """Write the root of ``source`` to ``archive``, a tar file; raise InfraError with what mmdebstrap complained of."""
    _mmdebstrap(bootstrap_command(source, keyring), archive, tools, source)


def ubuntu_keyring(source: DistroSource, state: Path, tools: Tools, progress: Callable[[str], None]) -> Path | None:
    """Return a keyring of Ubuntu's archive for a host that has none; None where mmdebstrap finds one by itself.

    It comes from Debian trixie's package ubuntu-keyring, verified with Debian's keys, and is kept in ``state``.
    Raises InfraError when Debian's archive does not give it.
    """
    if source.distribution != "ubuntu" or source.keyring or UBUNTU_KEYRING.exists():
        return None
    kept = state / "keyrings" / UBUNTU_KEYRING.name
    if not kept.exists():
        progress("taking the keys of Ubuntu's archive from Debian's package ubuntu-keyring")
        kept.parent.mkdir(parents=True, exist_ok=True)
        unpacked, taken = (kept.with_suffix(f".{os.getpid()}.{what}") for what in ("tar", "gpg"))
        try:
            command = ["mmdebstrap", "--variant=extract", "--format=tar", "--include=ubuntu-keyring", "trixie", "-"]
            _mmdebstrap(command, unpacked, tools, DistroSource(kind="distro", suite="trixie"))
            with tarfile.open(unpacked) as tar:
                member = tar.extractfile(f".{UBUNTU_KEYRING}")
                taken.write_bytes(member.read() if member else b"")
            taken.replace(kept)
        finally:
            unpacked.unlink(missing_ok=True)
            taken.unlink(missing_ok=True)
    return kept


def _mmdebstrap(command: list[str], archive: Path, tools: Tools, source: DistroSource) -> None:
    with archive.open("wb") as output:
        # Unprivileged, mmdebstrap needs user namespaces and subordinate ids, which many hosts do not give.
        made = subprocess.run(tools.as_root(command), stdout=output, stderr=subprocess.PIPE, check=False)
    if made.returncode:
        raise InfraError(_explain(source, made.stderr.decode(errors="replace")))


def _explain(source: DistroSource, log: str) -> str:
    errors = [line for line in log.splitlines() if line.startswith(("E:", "Err:", "W:")) or "rror" in line]
    hint = ""
    if "Check-Valid-Until" in log or "expired" in log or "not valid anymore" in log:
        hint = " The suite's lists are past their date: `check_valid_until: false` accepts them."
    elif "NO_PUBKEY" in log or "keyring" in log:
        package = {"debian": "debian-archive-keyring", "ubuntu": "ubuntu-keyring"}[source.distribution]
        hint = f" The keyring is missing: the package {package} has it; `keyring:` names the file if it is elsewhere."
    elif "resolve" in log or "connect" in log:
        hint = " Is there a network, or a mirror that `mirror:` could name?"
    shown = "; ".join(errors[-3:]) or log.strip()[-300:]
    return f"mmdebstrap could not make the base {source.distribution} {source.suite}: {shown}.{hint}"
