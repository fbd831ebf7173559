"""Answer questions over records: what is known of each cell, and what that says. Pure."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from packaging.version import Version

from harness.build.probe import parse_version
from harness.judge import homes, trust
from harness.judge.homes import HomeWrites
from harness.judge.trust import Mark
from harness.judge.verdicts import Verdict, combine, under_controls
from harness.results.record import Record


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a cell ran: everything but its case."""

    image: str
    device: str
    home: str
    environment: str


@dataclass(frozen=True, kw_only=True)
class Result:
    """What is known of one cell; ``metrics`` are medians with their unit.

    ``without_device`` tells that the repro was given nothing of the place's device, because it needs to have none.
    """

    repro: str
    case: Mapping[str, Any]
    control: bool
    place: Place
    rocm: str
    verdict: Verdict
    metrics: Mapping[str, Any] = field(default_factory=dict)
    observations: Mapping[str, Any] = field(default_factory=dict)
    without_device: bool = False
    marks: Sequence[Mark] = ()
    home_writes: HomeWrites | None = None

    @property
    def home(self) -> str | None:
        """Return ``home: …`` with what was refused below the home, or None when nothing was."""
        return homes.sentence(self.home_writes)

    @property
    def software(self) -> str | None:
        """Return ``software: …`` with the answers of the software GPU that the verdict may rest on."""
        return trust.sentence(self.marks)

    @property
    def label(self) -> str:
        """Return the case as ``name=value`` pairs."""
        return " ".join(f"{name}={value}" for name, value in self.case.items())

    @property
    def name(self) -> str:
        """Return the repro with its case."""
        return " ".join(part for part in (self.repro, self.label) if part)

    def as_json(self) -> dict[str, Any]:
        """Return the object that ``harness table --json`` lists; its keys are a contract."""
        return {
            "repro": self.repro,
            "case": dict(self.case),
            "control": self.control,
            "image": self.place.image,
            "rocm": self.rocm,
            "device": self.place.device,
            "without_device": self.without_device,
            "home": self.place.home,
            "environment": self.place.environment,
            "verdict": self.verdict.word,
            "signature": self.verdict.signature,
            "trials": self.verdict.trials,
            "fails": self.verdict.fails,
            "metrics": dict(self.metrics),
            "observations": dict(self.observations),
            "reason": self.verdict.reason,
            "software": [mark.model_dump() for mark in self.marks],
            "home_writes": (
                {**self.home_writes.model_dump(), "caches": list(self.home_writes.caches)} if self.home_writes else None
            ),
        }


def by_key(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Group records by the key of their cell."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        groups[record.key].append(record)
    return groups


def told(records: Iterable[Record]) -> int:
    """Count the trials that said something: information, or a skip that the repro decided on itself."""
    return sum(record.outcome.informative or record.outcome.value in {"skip", "build-error"} for record in records)


def _telling(records: Iterable[Record]) -> int:
    return sum(record.outcome.informative for record in records)


def result(
    records: Sequence[Record], *, repro: str, case: Mapping[str, Any], control: bool, place: Place, rocm: str,
    wanted: int, robust_to: Collection[str] | None = None, without_device: bool = False,
) -> Result:  # fmt: skip
    """Sum up one cell; ``robust_to`` is what its repro says of itself today, else what each record says."""
    marks = {
        mark: None
        for record in records
        if record.outcome.informative
        for mark in trust.remaining(record.software, record.robust_to if robust_to is None else robust_to)
    }
    observations: dict[str, Any] = {}
    for record in records:
        observations.update(record.observations)
    return Result(
        repro=repro,
        case=case,
        control=control,
        place=place,
        rocm=rocm,
        # Trials that decided to say nothing were run all the same: they are not missing.
        verdict=combine([record.judgement for record in records], wanted=wanted - told(records) + _telling(records)),
        metrics=_medians(records),
        observations=observations,
        without_device=without_device,
        marks=tuple(marks),
        home_writes=homes.together(record.home_writes for record in records if record.home_writes),
    )


def _medians(records: Iterable[Record]) -> dict[str, Any]:
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record in records:
        for metric in record.judgement.metrics:
            values[metric.name, metric.unit].append(metric.value)
    return {
        name: {"median": statistics.median(numbers), "unit": unit, "count": len(numbers)}
        for (name, unit), numbers in values.items()
    }


def with_controls(results: Sequence[Result]) -> list[Result]:
    """Make a result inconclusive when a control of the same repro did not pass in the same place."""
    controls: dict[tuple[str, Place], list[tuple[str, Verdict]]] = defaultdict(list)
    for item in results:
        if item.control:
            controls[item.repro, item.place].append((item.label, item.verdict))
    return [
        item if item.control else _replace(item, under_controls(item.verdict, controls[item.repro, item.place]))
        for item in results
    ]


def _replace(item: Result, verdict: Verdict) -> Result:
    return Result(**{**item.__dict__, "verdict": verdict})


def from_records(records: Iterable[Record]) -> list[Result]:
    """Sum up records by themselves, without a matrix: of each cell the newest key counts.

    This is how files that came from another host become a table.
    """
    cells: dict[tuple[str, str, Place], list[Record]] = defaultdict(list)
    for record in records:
        place = Place(image=record.image, device=record.device, home=record.home, environment=record.environment)
        cells[record.repro, repr(sorted(record.case.items(), key=str)), place].append(record)
    results = []
    for (_, _, place), group in cells.items():
        newest = max(group, key=lambda record: record.time)
        same = [record for record in group if record.key == newest.key]
        results.append(
            result(same, repro=newest.repro, case=newest.case, control=newest.control, place=place,
                   rocm=newest.rocm, wanted=1, without_device=newest.without_device)
        )  # fmt: skip
    results.sort(key=lambda item: (item.repro, item.label, parse_version(item.rocm) or Version("0"), item.place.image))
    return with_controls(results)
