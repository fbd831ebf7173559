"""Say what one trial gave. Pure: a trial in, an outcome with its signature and reason out.

``pass``, ``fail``, ``crash``, ``timeout`` and ``oom`` are information about ROCm. ``skip``, ``build-error`` and
``infra`` are none: nothing may ever count them as good or bad.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from harness.judge import signatures, trust
from harness.judge.trust import Mark
from harness.run.trials import Trial

SKIP, BROKEN, NO_COMMAND = 77, 99, {126, 127}
MAX_NESTING = 64
# Of HIP, of C++, of Python. A repro that names its failure itself knows better.
_MEMORY = re.compile(r"OutOfMemory|bad_alloc|MemoryError")
LARGEST = 1e300


class Outcome(str, Enum):
    """What one trial gave; the words of tables and records."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    CRASH = "crash"
    TIMEOUT = "timeout"
    OOM = "oom"
    SKIP = "skip"
    BUILD_ERROR = "build-error"
    INFRA = "infra"

    @property
    def informative(self) -> bool:
        """Tell whether it says anything about ROCm."""
        return self not in {Outcome.SKIP, Outcome.BUILD_ERROR, Outcome.INFRA}

    @property
    def bad(self) -> bool:
        """Tell whether it is evidence of a failure."""
        return self.informative and self is not Outcome.PASS


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A number that a repro measured, with its unit."""

    name: str
    value: float
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """An outcome, the name of the failure, why it is no information, and what the repro reported by itself.

    ``marks`` are answers of the software GPU that the result may rest on.
    """

    outcome: Outcome
    signature: str | None = None
    reason: str | None = None
    observations: Mapping[str, Any] = field(default_factory=dict)
    metrics: tuple[Metric, ...] = ()
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Events:
    """What a repro wrote to ``$REPRO_EVENTS``; lines that are none of ours are passed over."""

    signature: str | None = None
    observations: Mapping[str, Any] = field(default_factory=dict)
    metrics: tuple[Metric, ...] = ()


def read_events(text: str) -> Events:
    """Read JSON Lines: ``observe``, ``metric`` and ``signature`` objects; later observations replace earlier ones.

    A repro may write anything: what a record could not carry is passed over.
    """
    observations: dict[str, Any] = {}
    metrics: list[Metric] = []
    signature: str | None = None
    for line in text.splitlines():
        event = _event(line)
        if isinstance(seen := event.get("observe"), dict):
            observations.update(seen)
        if isinstance(named := event.get("signature"), str):
            signature = signatures.normalise(named)
        if (metric := _metric(event.get("metric"))) is not None:
            metrics.append(metric)
    return Events(signature=signature or None, observations=observations, metrics=tuple(metrics))


def _event(line: str) -> dict[str, Any]:
    """Read one line; an empty object for what is none, is nested beyond reason, or cannot be written again."""
    if line.count("[") + line.count("{") > MAX_NESTING:
        return {}
    try:
        event = json.loads(line)
        json.dumps(event, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def _metric(value: object) -> Metric | None:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    number = value.get("value")
    if isinstance(number, bool) or not isinstance(number, int | float) or abs(number) > LARGEST:
        return None
    return Metric(name=value["name"], value=float(number), unit=str(value.get("unit", "")))


def judge(
    trial: Trial, *, build_is_experiment: bool, hardware: bool = False, about: Sequence[str] = (),
    full_home: bool = False,
) -> Judgement:  # fmt: skip
    """Judge one trial.

    ``hardware`` says that it was given a GPU: what stood between the two is then no finding, unless the repro is
    ``about`` just that. With ``full_home`` a full disk is what is tried, and no trouble of the host.
    """
    if trial.vanished:
        return Judgement(outcome=Outcome.INFRA, reason=trial.trouble or "the trial was not recorded")
    events = read_events(trial.events)
    marks, of_gpu = trust.read(trial.software)
    trouble = signatures.find(signatures.INFRA, trial.stderr.text + "\n" + trial.stdout.text)
    if full_home and trouble == signatures.FULL:
        trouble = None
    outcome, signature, reason = _verdict(trial, events, of_gpu, trouble, build_is_experiment=build_is_experiment)
    if hardware and outcome in {Outcome.FAIL, Outcome.CRASH} and not events.signature:
        outcome, signature, reason = _between(trial, about) or (outcome, signature, reason)
    return Judgement(
        outcome=outcome,
        signature=signature,
        reason=reason,
        observations=events.observations,
        metrics=events.metrics,
        marks=tuple(marks),
    )


def _verdict(
    trial: Trial, events: Events, of_gpu: Sequence[str], trouble: str | None, *, build_is_experiment: bool
) -> tuple[Outcome, str | None, str | None]:
    text = trial.stderr.text + "\n" + trial.stdout.text
    status = trial.status
    if status == 0:
        return Outcome.PASS, None, None
    if trouble:
        return Outcome.INFRA, None, trouble
    if trial.build and (trouble := signatures.find(signatures.INFRA_OF_BUILDS, text)):
        return Outcome.INFRA, None, trouble
    if trial.build and not build_is_experiment:
        named = signatures.find(signatures.BUILD, text) or f"exit status {trial.build}"
        return Outcome.BUILD_ERROR, named, f"the repro does not build here: {named}"
    if status == SKIP:
        return Outcome.SKIP, None, _last_line(text) or "the repro skipped itself"
    if status == BROKEN:
        return Outcome.INFRA, None, _last_line(text) or "the repro found its environment broken"
    if trial.timed_out:
        return Outcome.TIMEOUT, events.signature or f"no end within {trial.limit:g} s", None
    if trial.oom:
        return Outcome.OOM, events.signature or "out of memory", None
    if build_is_experiment:
        return Outcome.FAIL, signatures.find(signatures.BUILD, text) or f"exit status {status}", None
    if death := signatures.signal_name(status):
        return Outcome.CRASH, _named(events, text, of_gpu) or death, None
    name = _named(events, text, of_gpu)
    if events.signature is None and _MEMORY.search(name or ""):
        return Outcome.OOM, name, None
    if name is None and status in NO_COMMAND:
        return Outcome.INFRA, None, _last_line(text) or f"the command cannot be run (exit status {status})"
    return Outcome.FAIL, name or f"exit status {status}", None


def _between(trial: Trial, about: Sequence[str]) -> tuple[Outcome, None, str] | None:
    """Name what stood between a program and the GPU it was given, or None."""
    found = signatures.find(signatures.HARDWARE, trial.stderr.text + "\n" + trial.stdout.text)
    kind = (found or "").partition(":")[0]
    if not found or kind in about:
        return None
    # That a program or a library has no code for a chip will not change by trying again.
    return (Outcome.SKIP if kind == "gfx-unsupported" else Outcome.INFRA), None, found


def _named(events: Events, text: str, of_gpu: Sequence[str]) -> str | None:
    """Name a failure by what is nearest to the user: the repro, then what was printed, then the software GPU."""
    return (
        events.signature or signatures.find(signatures.RUN, text) or signatures.find(signatures.RUN, "\n".join(of_gpu))
    )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return signatures.normalise(lines[-1]) if lines else ""
