"""Describe the container of a cell: once as a user would start it, once with the runner that repeats and records."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.build.dockerfiles import SHARED_IN_IMAGE, variant
from harness.plan.cells import Cell
from harness.plan.models import Limits, Matrix
from harness.run import homes, restricted, trials
from harness.run.container import HOME, TMP_OPTIONS, Attendant, ContainerSpec
from harness.run.grants import DeviceGrant
from harness.run.homes import HomeGrant
from harness.run.limits import blocks, in_bytes
from harness.run.passthrough import passage
from harness.run.topology import Gpu


def plain(
    cell: Cell, *, image: str, device: DeviceGrant, matrix: Matrix, home: HomeGrant | None = None,
    held: Sequence[Gpu] | None = None, facts: Mapping[str, Any] | None = None,
) -> ContainerSpec:  # fmt: skip
    """Return the container in which one trial runs through the image's own entry point, on the GPUs ``held``.

    ``home`` is what the cell's home was found to need on this engine; default: what it needs on most. Without ``held``
    it is one that may come to run: the first of a device's GPUs stands for any of them. ``facts`` is what the engine
    says of itself. Raises InfraError or ConfigError when a GPU cannot be handed over.
    """
    home, limits = home or homes.grant(cell.home), matrix.limits
    if held is None:
        held = device.gpus if device.together else device.gpus[:1]
    passed = passage(device, held, facts)
    return ContainerSpec(
        image=image,
        entrypoint=("sh", "/repro/harness/trial.sh"),
        command=(variant(cell.repro, cell.case), *_command(cell)),
        environment={**passed.environment, **_environment(cell, device)},
        tmpfs={"/tmp": f"{TMP_OPTIONS},size={limits.tmp}", **home.tmpfs},  # noqa: S108 (inside the container)
        volumes=home.volumes,
        written=home.written,
        binds=home.binds,
        owner=home.owner,
        user=home.user,
        seccomp=home.seccomp,
        attendant=home.attendant,
        shared=device.volumes,
        devices=passed.nodes,
        groups=passed.groups,
        cdi=passed.cdi,
        runtime=passed.runtime,
        wider=matrix.container,
        pids=limits.pids,
        cpus=limits.cpus,
    )


def _command(cell: Cell) -> tuple[str, ...]:
    """Return the command of one trial; env(1) takes away what the image itself may set."""
    words = cell.command(SHARED_IN_IMAGE)
    removed = [word for name in cell.environment.removed for word in ("-u", name)]
    return ("env", *removed, *words) if words and removed else words


def _environment(cell: Cell, device: DeviceGrant) -> dict[str, str]:
    """Put the repro's variables over those of the device; its library path stays in front of theirs."""
    ours = {"HOME": HOME, "PYTHONPATH": SHARED_IN_IMAGE, **device.environment}
    theirs = cell.variables()
    both = {name: f"{ours[name]}:{theirs[name]}" for name in ("LD_LIBRARY_PATH",) if name in ours and name in theirs}
    return {name: value for name, value in {**ours, **theirs, **both}.items() if name not in cell.environment.removed}


def recorded(
    spec: ContainerSpec, *, first: int, last: int, timeout: float, limits: Limits, memory: str, nonce: str,
    labels: Mapping[str, str],
) -> ContainerSpec:  # fmt: skip
    """Return ``spec`` with the runner as its program, for the trials ``first`` to ``last``.

    The runner's settings are assignments in front of its script, and the repro's variables are given by env(1) to its
    command alone: neither can change the other.
    """
    settings = f"NONCE={nonce} KEEP={in_bytes(limits.output)} LIMIT={timeout:g} FILE_BLOCKS={blocks(limits.file)}\n"
    settings += f"MOUNTED={shlex.quote(' '.join(spec.shared))}\n"
    settings += _home_settings(spec, nonce)
    variant, *command = spec.command
    if command:
        command = ["env", *(f"{name}={value}" for name, value in spec.environment.items()), *command]
    program = ("-c", settings + trials.script(), "runner", str(first), str(last), variant, *command)
    return replace(
        spec, entrypoint=("sh",), command=program, environment={}, memory=memory, labels=labels,
        attendant=_watching(spec.attendant, nonce),
    )  # fmt: skip


def _home_settings(spec: ContainerSpec, nonce: str) -> str:
    """Tell the runner where the home is, how it learns what was written there, and whether it was empty before."""
    watch = restricted.watch_name(nonce) if spec.attendant else ""
    there_before = "yes" if spec.binds or spec.written else ""
    return f"HOME_AT={HOME} WATCH={watch} THERE_BEFORE={there_before}\n"


def _watching(attendant: Attendant | None, nonce: str) -> Attendant | None:
    if attendant is None:
        return None
    return replace(attendant, command=(*attendant.command, "--watch", restricted.watch_name(nonce)))
