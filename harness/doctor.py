"""Say what this host offers to the harness and what it lacks, each with what mends it. Changes nothing."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from harness.build import softgpu
from harness.errors import HarnessError
from harness.plan.chips import chips, find_chip
from harness.plan.devices import GFX
from harness.plan.project import read
from harness.run import devices, endpoints, install
from harness.run import hosts as far
from harness.run.engine import Engine, ask
from harness.run.limits import DISK_RESERVE
from harness.run.topology import discover

State = Literal["ok", "note", "missing"]
# One ROCm user space, its base and the layers of its repros, as measured with the default matrix.
_SPACE_FOR_ONE_IMAGE = 2 << 30
_SETTINGS = ("http_proxy", "https_proxy", "no_proxy", "HARNESS_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE",
             "DOCKER_HOST", "DOCKER_CONTEXT", "ENGINE")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at; ``mend`` is the command or the change that helps, when there is one."""

    what: str
    state: State
    detail: str
    mend: str = ""


def examine(matrix: Path, override: str | None) -> list[Finding]:
    """Look at everything a run needs."""
    hosts = _hosts(matrix)
    return [
        Finding(what="Python", state="ok", detail=platform.python_version()),
        _matrix(matrix),
        *(_engine(override) if None in hosts else ()),
        *_far(matrix, [host for host in hosts if host]),
        _bootstrap(),
        _gpu(),
        *_software(),
        _settings(os.environ),
    ]


def _matrix(matrix: Path) -> Finding:
    try:
        project = read(matrix)
    except HarnessError as error:
        return Finding(what="matrix", state="missing", detail=str(error))
    except OSError as error:
        return Finding(what="matrix", state="missing", detail=f"{matrix}: {error.strerror}")
    return Finding(what="matrix", state="ok", detail=f"{matrix}: {len(project.cells)} cells")


def _engine(override: str | None) -> Iterator[Finding]:
    said: list[str] = []
    try:
        search = endpoints.search(override, os.environ, said.append)
    except HarnessError as error:
        yield Finding(what="container engine", state="missing", detail=str(error))
        return
    replies = {endpoint: ask(endpoint.url) for endpoint in search.endpoints}
    for endpoint, reply in replies.items():
        if reply is endpoints.Reply.ANSWERS:
            with contextlib.closing(Engine(endpoint)) as engine:
                yield from _answering(engine)
            return
    denied = [endpoint.url for endpoint, reply in replies.items() if reply is endpoints.Reply.DENIED]
    if denied:
        mend = "sudo usermod -aG docker $USER, then log in again"
        yield Finding(what="container engine", state="missing", detail=f"{denied[0]} refuses this user", mend=mend)
    elif search.may_start:
        mend = "nothing: a run starts one" if install.which("dockerd") else f"a run does it: {install.engine_command()}"
        yield Finding(what="container engine", state="note", detail="none answers", mend=mend)
    else:
        asked = ", ".join(endpoint.url for endpoint in search.endpoints)
        yield Finding(what="container engine", state="missing", detail=f"{asked} does not answer", mend="start it")


def _answering(engine: Engine) -> Iterator[Finding]:
    try:
        facts = engine.facts()
    except HarnessError as error:
        yield Finding(what="container engine", state="missing", detail=str(error))
        return
    version, root = facts.get("ServerVersion", "of unknown version"), str(facts.get("DockerRootDir", ""))
    yield Finding(what="container engine", state="ok", detail=f"{version} at {engine.endpoint.url}")
    if Path(root).is_dir():
        free = shutil.disk_usage(root).free
        enough = free > DISK_RESERVE + _SPACE_FOR_ONE_IMAGE
        mend = "" if enough else "docker system df shows what uses it; harness clean --images removes what is ours"
        detail = f"{free >> 30} GB free for images in {root}"
        yield Finding(what="disk", state="ok" if enough else "missing", detail=detail, mend=mend)


def _hosts(matrix: Path) -> list[str | None]:
    """Return the hosts that the matrix names, None for the engine of this run; that alone where it cannot be read."""
    try:
        return list(dict.fromkeys(device.host for device in read(matrix).matrix.devices))
    except (HarnessError, OSError):
        return [None]


def _far(matrix: Path, hosts: Sequence[str]) -> list[Finding]:
    """Ask all other hosts at once: one that is down takes its time to be found out."""
    if not hosts:
        return []
    state = read(matrix).state
    with ThreadPoolExecutor(len(hosts)) as pool:
        return list(pool.map(lambda host: _far_host(host, state), hosts))


def _far_host(host: str, state: Path) -> Finding:
    try:
        with contextlib.closing(Engine(endpoints.Endpoint(url=host, source="the matrix"))) as engine:
            version, facts = engine.version(), engine.facts()
    except HarnessError as error:
        return Finding(what=host, state="missing", detail=str(error))
    if why := far.unfit(version):
        return Finding(what=host, state="missing", detail=why, mend="a newer engine there")
    known = far.seen(state, host)
    gpus = ", ".join(gpu.gfx for gpu in known.topology.gpus) or "no AMD GPU" if known else "GPUs not looked at yet"
    memory = f"{int(facts.get('MemTotal', 0)) >> 30} GB of memory"
    detail = f"{version.get('Version', '')}, {facts.get('NCPU', '?')} processors, {memory}; {gpus}"
    return Finding(what=host, state="ok", detail=f"{detail}; its disk is not seen from here")


def _bootstrap() -> Finding:
    if path := install.which("mmdebstrap"):
        return Finding(what="mmdebstrap", state="ok", detail=f"{path}: makes bases where no registry answers")
    mend = f"a run does it when it has to: {install.tool_command('mmdebstrap')}"
    return Finding(what="mmdebstrap", state="note", detail="not installed: only bases from a registry", mend=mend)


def _gpu() -> Finding:
    kfd = devices.dev() / "kfd"
    if not kfd.exists():
        detail = f"none: there is no {kfd}; `auto` is the software GPU"
        return Finding(what="AMD GPU", state="note", detail=detail, mend="load the amdgpu driver where there is a card")
    found = discover(devices.sysfs()).gpus
    if not found:
        detail = f"{kfd} is there, but `harness devices` finds no GPU; `auto` is the software GPU"
        return Finding(what="AMD GPU", state="missing", detail=detail, mend="dmesg | grep -i amdgpu")
    unreachable = [gpu.render for gpu in found if not (devices.dev() / "dri" / gpu.render).exists()]
    if unreachable:
        detail = f"{', '.join(unreachable)} is not in {devices.dev() / 'dri'}"
        return Finding(what="AMD GPU", state="missing", detail=detail)
    shown = ", ".join(f"{gpu.gfx} ({gpu.render})" for gpu in found)
    return Finding(what="AMD GPU", state="ok", detail=f"{shown}: `auto` runs on it")


def _software() -> Iterator[Finding]:
    default = find_chip(GFX)
    kinds = ", ".join(dict.fromkeys(chip.gfx for chip in chips()))
    yield Finding(
        what="software GPU",
        state="ok" if default else "missing",
        detail=(
            f"plays {kinds}; `auto` takes {GFX} ({default.marketing if default else 'missing'}) where there is no AMD "
            "GPU. The image's own HIP runtime runs on it; copies and fills happen, kernels of the program do not "
            "execute: what needs them is skipped, and a verdict that may rest on one is marked (docs/no-gpu.md)"
        ),
    )
    yield Finding(
        what="its library",
        state="ok",
        detail=f"built once from {len(softgpu.sources())} files, kept in the volume {softgpu.volume()}",
    )


def _settings(environment: Mapping[str, str]) -> Finding:
    """Name the settings that builds take over; never their values, which may hold a password."""
    found = [name for name in environment if name in _SETTINGS or name.lower() in _SETTINGS]
    return Finding(
        what="settings", state="ok", detail=f"taken from the environment: {', '.join(sorted(found)) or 'none'}"
    )


def as_objects(findings: list[Finding]) -> list[dict[str, str]]:
    """Return the findings as ``harness doctor --json`` prints them."""
    return [asdict(finding) for finding in findings]


def as_text(findings: list[Finding]) -> str:
    """Return one line for each finding, and one below it for what mends it."""
    width = max(len(finding.what) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.state:<8} {finding.what:<{width}}  {finding.detail}")
        if finding.mend:
            lines.append(f"{'':<8} {'':<{width}}  -> {finding.mend}")
    return "\n".join(lines)
