"""Look at a host through its engine: its GPUs, the groups of their nodes, its kernel; and keep what was seen.

A throw-away container on that engine, which may only look, prints the files of /sys that ``topology`` reads. They are
kept as a copy of that part of /sys, so that plans and tables need not ask the host again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from filelock import FileLock
from pydantic import BaseModel

from harness.build.state import read_state, write_state
from harness.errors import InfraError
from harness.plan.hosts import folder
from harness.run.engine import Engine
from harness.run.topology import Topology, discover, driver

_TIMEOUT = 60.0
_FOLDERS = {"/host/sys": "/sys", "/host/dev": "/dev"}
# Every line of every file as `path NUL line`; folders alone too, since a node may be there and not to be read. What is
# missing, as on a host without a GPU, is no error. grep, stat and find are in every Debian and Ubuntu.
_SCRIPT = r"""
echo "kernel $(uname -r)"
cd /host/dev && for node in kfd dri/renderD*; do
    [ -e "$node" ] && echo "node $(stat -c '%g' "$node") ${node##*/}"
done
cd /host/sys || exit 1
find class/kfd/kfd/topology/nodes/ -mindepth 1 -maxdepth 1 -printf 'folder %p\n' 2>/dev/null
echo files
grep -sHZ '' class/kfd/kfd/topology/nodes/*/properties class/kfd/kfd/topology/nodes/*/gpu_id \
    class/kfd/kfd/topology/nodes/*/name class/kfd/kfd/topology/nodes/*/mem_banks/*/properties \
    class/drm/renderD*/device/mem_info_* class/drm/renderD*/device/unique_id class/drm/renderD*/device/vendor \
    class/drm/renderD*/device/device module/amdgpu/version module/amdgpu/srcversion \
    module/amdgpu/drivers/pci:amdgpu/*/current_compute_partition \
    module/amdgpu/drivers/pci:amdgpu/*/current_memory_partition
[ -d module/amdgpu ] && printf 'module/amdgpu/initstate\0live\n'
exit 0
"""
_READ = ("class/kfd/kfd/topology/nodes/", "class/drm/renderD", "module/amdgpu/")
# The oldest that every part of the harness was tried with: https://docs.docker.com/engine/release-notes/20.10/
_OLDEST_API = (1, 41)


class Facts(BaseModel):
    """What was seen of a host beside /sys: its kernel, and the numeric groups that own its device nodes."""

    kernel: str = ""
    groups: dict[str, int] = {}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A host as it was when it was last looked at; ``groups`` maps ``kfd`` and ``renderD128`` to numeric groups."""

    topology: Topology
    groups: Mapping[str, int]
    kernel: str


def seen(state: Path, host: str) -> Seen | None:
    """Return what is known of ``host``, or None when it was never looked at; nothing is asked."""
    where = folder(state, host)
    facts = read_state(where / "host.json", Facts)
    if facts is None:
        return None
    sysfs = where / "sys"
    found = discover(sysfs)
    if "kfd" not in facts.groups:  # without the driver's node for computing, nothing can be passed through
        found = replace(found, gpus=())
    kernel = where / "osrelease"
    return Seen(topology=replace(found, driver=driver(sysfs, kernel)), groups=facts.groups, kernel=facts.kernel)


def topology(state: Path, host: str) -> Topology | None:
    """Return the GPUs of ``host`` as they were when it was last looked at; None when it never was."""
    known = seen(state, host)
    return known.topology if known else None


def node_groups(state: Path, host: str) -> Mapping[str, int]:
    """Return the numeric groups that own ``kfd`` and the render nodes of ``host``; empty when it was never looked at.

    Groups have other numbers on every host: https://github.com/ROCm/ROCm-docker/issues/90
    """
    known = seen(state, host)
    return known.groups if known else {}


def look(engine: Engine, image: str, state: Path, host: str) -> Seen:
    """Look at ``host`` through its engine, from a container of ``image``, and keep what is seen.

    Raises InfraError when the engine cannot show its host.
    """
    printed = engine.output(image, _SCRIPT, timeout=_TIMEOUT, folders=_FOLDERS)
    keep(printed, folder(state, host))
    known = seen(state, host)
    if known is None:
        raise InfraError(f"{folder(state, host)}: what was seen of {host} could not be kept there")
    return known


def keep(printed: str, where: Path) -> None:
    """Write what the script printed below ``where``, in place of what was there."""
    head, _, files = printed.partition("files\n")
    facts, folders = _heads(head)
    where.mkdir(parents=True, exist_ok=True)
    with FileLock(where / "look.lock"):
        fresh = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=_scratch(where)))
        for name in folders:
            (fresh / name).mkdir(parents=True, exist_ok=True)
        for name, text in _files(files).items():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            (fresh / name).write_text(text)
        shutil.rmtree(where / "sys", ignore_errors=True)
        fresh.rename(where / "sys")
        (where / "osrelease").write_text(f"{facts.kernel}\n")
        write_state(where / "host.json", facts)


def _scratch(where: Path) -> Path:
    scratch = where / "tmp"
    scratch.mkdir(exist_ok=True)
    return scratch


def _heads(head: str) -> tuple[Facts, list[str]]:
    facts, folders = Facts(), list[str]()
    for line in head.splitlines():
        match line.split(" ", 2):
            case ["kernel", *release]:
                facts.kernel = " ".join(release)
            case ["node", group, name] if group.isdigit():
                facts.groups[name] = int(group)
            case ["folder", name] if _ours(name):
                folders.append(name)
    return facts, folders


def _files(text: str) -> dict[str, str]:
    files: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, found, content = line.partition("\0")
        if found and _ours(name):
            files.setdefault(name, []).append(content)
    return {name: "".join(f"{line}\n" for line in lines) for name, lines in files.items()}


def _ours(name: str) -> bool:
    """Tell whether a path is one that we asked for: it comes from another machine and is written to on this one."""
    return name.startswith(_READ) and ".." not in PurePosixPath(name).parts


def unfit(version: Mapping[str, Any]) -> str | None:
    """Say why an engine, by what it says of its versions, cannot serve any cell; None when it can."""
    api = str(version.get("ApiVersion", ""))
    numbers = tuple(int(part) for part in api.split(".") if part.isdigit())
    if numbers and numbers < _OLDEST_API:
        return (
            f"its engine {version.get('Version', '')} speaks version {api} of the API, and {_dotted(_OLDEST_API)} is "
            "needed (Docker Engine 20.10 or later, or Podman 4 or later)"
        )
    if str(version.get("Os", "linux")) != "linux":
        return f"its engine runs containers of {version['Os']}, and ROCm is for Linux"
    return None


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
