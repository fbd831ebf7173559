"""Look at the engines that the matrix needs: the one of this run, and those of its other hosts."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from harness.doctor.finding import Finding
from harness.errors import HarnessError
from harness.run import endpoints, hosts, install
from harness.run.engine import Engine, ask
from harness.run.limits import DISK_RESERVE

# One ROCm user space, its base and the layers of its repros, as measured with the default matrix.
_SPACE_FOR_ONE_IMAGE = 2 << 30
_WHAT = "container engine"
# Package lists are valid for days, certificates from a second on; records of hosts are put together by time. Seconds.
_MOST_OFF = 60.0
_REGISTRY_PATIENCE = 10.0
_SOME_IMAGE = "debian:bookworm-slim"  # the base that `auto` would try


def own(override: str | None) -> Iterator[Finding]:
    """Look at the engine of this run, and at what is behind it."""
    said: list[str] = []
    try:
        search = endpoints.search(override, os.environ, said.append)
    except HarnessError as error:
        yield Finding(
            what=_WHAT, state="error", detail=str(error), mend="ENGINE=unix:///var/run/docker.sock, or unset it"
        )
        return
    replies = {endpoint: ask(endpoint.url) for endpoint in search.endpoints}
    for endpoint, reply in replies.items():
        if reply is endpoints.Reply.ANSWERS:
            with contextlib.closing(Engine(endpoint)) as engine:
                yield from _answering(engine)
            return
    yield _silent(search, replies)


def _silent(search: endpoints.Search, replies: Mapping[endpoints.Endpoint, endpoints.Reply]) -> Finding:
    denied = [endpoint.url for endpoint, reply in replies.items() if reply is endpoints.Reply.DENIED]
    if denied:
        mend = "sudo usermod -aG docker $USER, then log in again"
        return Finding(what=_WHAT, state="error", detail=f"{denied[0]} refuses this user", mend=mend)
    if search.may_start:
        mend = "nothing: a run starts one" if install.which("dockerd") else f"a run does it: {install.engine_command()}"
        return Finding(what=_WHAT, state="warning", detail="none answers", mend=mend)
    asked = ", ".join(endpoint.url for endpoint in search.endpoints)
    mend = "start it (sudo systemctl start docker), or name another: ENGINE=URL"
    return Finding(what=_WHAT, state="error", detail=f"{asked} does not answer", mend=mend)


def _answering(engine: Engine) -> Iterator[Finding]:
    try:
        facts, version = engine.facts(), engine.version()
    except HarnessError as error:
        yield Finding(what=_WHAT, state="error", detail=str(error), mend="sudo systemctl restart docker")
        return
    where = f"{facts.get('ServerVersion', 'of unknown version')} at {engine.endpoint.url}"
    if why := hosts.unfit(version):
        yield Finding(what=_WHAT, state="error", detail=f"{where}: {why}", mend="a newer engine")
    else:
        yield Finding(what=_WHAT, state="ok", detail=where)
    root = Path(str(facts.get("DockerRootDir", "")))
    if root.is_dir():
        yield disk("disk for images", root, DISK_RESERVE + _SPACE_FOR_ONE_IMAGE)
    yield clock(facts)
    yield _registry(engine)


def disk(what: str, folder: Path, needed: int) -> Finding:
    """Say how much is free where ``folder`` lies; ``needed`` is in bytes."""
    free = shutil.disk_usage(folder).free
    if free >= needed:
        return Finding(what=what, state="ok", detail=f"{free / (1 << 30):.1f} GB free in {folder}")
    detail = f"{free / (1 << 30):.1f} GB free in {folder}, {needed / (1 << 30):.1f} GB are needed"
    return Finding(what=what, state="error", detail=detail,
                   mend="docker system df shows what images use; harness clean --images removes ours")  # fmt: skip


def clock(facts: Mapping[str, Any], now: datetime | None = None) -> Finding:
    """Compare the engine's clock with this machine's: records of several hosts are put together by time."""
    now = now or datetime.now(timezone.utc)
    try:
        theirs = _moment(str(facts["SystemTime"]))
    except (KeyError, ValueError):
        return Finding(what="clock", state="ok", detail=f"{now:%Y-%m-%d %H:%M} UTC; the engine does not tell its own")
    off = (theirs - now).total_seconds()
    if abs(off) <= _MOST_OFF:
        return Finding(what="clock", state="ok", detail=f"{now:%Y-%m-%d %H:%M} UTC, here and at the engine")
    detail = f"the engine's host is {abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} this machine"
    return Finding(what="clock", state="error", detail=detail, mend="sudo timedatectl set-ntp true, on both")


def _moment(text: str) -> datetime:
    """Read RFC 3339; Python before 3.11 reads neither its Z nor its nanoseconds."""
    seconds, zone = text[:19], text[19:].lstrip(".0123456789")
    return datetime.fromisoformat(seconds + (zone if zone and zone != "Z" else "+00:00"))


def _registry(engine: Engine) -> Finding:
    try:
        engine.asks_registry(_SOME_IMAGE, patience=_REGISTRY_PATIENCE)
    except HarnessError:
        detail = "none answers: bases are made by mmdebstrap (about 40 s each), images of registries cannot be had"
        if install.which("mmdebstrap"):
            return Finding(what="registry", state="ok", detail=detail)
        mend = f"a run does it when it has to: {install.tool_command('mmdebstrap')}"
        return Finding(what="registry", state="warning", detail=f"{detail}; mmdebstrap is not installed", mend=mend)
    return Finding(what="registry", state="ok", detail=f"answers for {_SOME_IMAGE}")


def far(names: Sequence[str], state: Path) -> list[Finding]:
    """Ask all other hosts at once: one that is down takes its time to be found out."""
    if not names:
        return []
    with ThreadPoolExecutor(len(names)) as pool:
        return list(pool.map(lambda host: _far(host, state), names))


def _far(host: str, state: Path) -> Finding:
    try:
        with contextlib.closing(Engine(endpoints.Endpoint(url=host, source="the matrix"))) as engine:
            version, facts = engine.version(), engine.facts()
    except HarnessError as error:
        mend = f"docker -H {host} version must work by hand (docs/hosts.md)"
        return Finding(what=host, state="error", detail=str(error), mend=mend)
    if why := hosts.unfit(version):
        return Finding(what=host, state="error", detail=why, mend="a newer engine there")
    if (told := clock(facts)).state == "error":
        return Finding(what=host, state="error", detail=told.detail, mend=told.mend)
    known = hosts.seen(state, host)
    gpus = ", ".join(gpu.gfx for gpu in known.topology.gpus) or "no AMD GPU" if known else "GPUs not looked at yet"
    memory = f"{int(facts.get('MemTotal', 0)) >> 30} GB of memory"
    detail = f"{version.get('Version', '')}, {facts.get('NCPU', '?')} processors, {memory}; {gpus}"
    return Finding(what=host, state="ok", detail=f"{detail}; its disk is not seen from here")
