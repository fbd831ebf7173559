"""Expand a matrix into its cells, in the order of the file, and give each the key that names its results."""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.errors import ConfigError
from harness.plan.commands import fill
from harness.plan.devices import Device
from harness.plan.environments import Environment
from harness.plan.homes import Home
from harness.plan.models import Image, Limits, Matrix, Rule, Selection, Wider
from harness.plan.repros import Case, ReproFolder
from harness.plan.values import typed

_MOST_SHOWN = 12  # names in a message
AXES = ("image", "device", "home", "environment")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One image, device, home, environment and case of a repro."""

    image: Image
    device: Device
    home: Home
    environment: Environment
    repro: ReproFolder
    case: Case
    trials: int
    timeout: float

    @property
    def name(self) -> str:
        """Return the cell's coordinates as one line that a person can read and a ``--cell`` pattern can match."""
        parts = [self.repro.name, self.case.label, self.image.name, self.device.name, self.home.name]
        if self.environment.name != "default":
            parts.append(self.environment.name)
        return " / ".join(part for part in parts if part)

    def coordinates(self) -> dict[str, Any]:
        """Return the axis values and the case, as records and ``--json`` output carry them."""
        return {
            "repro": self.repro.name,
            "case": dict(self.case.params),
            "control": self.case.control,
            "image": self.image.name,
            "device": self.device.name,
            "home": self.home.name,
            "environment": self.environment.name,
        }

    def command(self, shared: str) -> tuple[str, ...]:
        """Return the words of one trial's command; empty when the build is the experiment."""
        return fill(self.repro.spec.run or (), {**dict(self.case.params), "common": shared})

    def variables(self) -> dict[str, str]:
        """Return the repro's own variables with the environment's over them."""
        return self.environment.over(self.repro.spec.environment)


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What decides a cell's result beside the cell: the built image, device and home as they were found, the bounds."""

    image_id: str
    device: Mapping[str, Any] = field(default_factory=dict)
    home: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    container: Wider = field(default_factory=Wider)


def key(cell: Cell, identity: Identity) -> str:
    """Hash everything that decides the result of a cell; results are looked up by it.

    The image id stands for the ROCm user space, the repro's files and its builds. The number of trials is left out:
    more trials of the same cell are more of the same evidence.
    """
    decides = {
        "image": identity.image_id,
        "device": dict(identity.device),
        # How long a silent server is waited for decides whether there is a result, not which.
        "home": {**cell.home.model_dump(mode="json", exclude_none=True, exclude={"patience"}), **identity.home},
        "variables": cell.variables(),
        "removed": cell.environment.removed,
        "repro": cell.repro.name,
        "case": dict(cell.case.params),
        "command": cell.command("common"),
        "regressed_when": cell.repro.spec.regressed_when,
        "timeout": cell.timeout,
        # How much output is kept decides nothing but what can be read afterwards.
        "limits": identity.limits.model_dump(mode="json", exclude={"output"}),
        "container": identity.container.model_dump(mode="json", exclude_defaults=True),
    }
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]


def expand(matrix: Matrix, repros: Sequence[ReproFolder]) -> list[Cell]:
    """List the cells of ``matrix``: repros and their cases slowest, images fastest, axes in the order of the file.

    Raises ConfigError when a rule names a value that no axis has, or when the rules leave no cell at all.
    """
    _check_rules(matrix, repros)
    cells = [
        Cell(image=image, device=device, home=home, environment=environment, repro=repro, case=case,
             trials=repro.spec.trials, timeout=repro.spec.timeout)
        for repro in repros
        for case in repro.cases()
        for device, home, environment, image in itertools.product(
            matrix.devices, matrix.homes, matrix.environments, matrix.images)
    ]  # fmt: skip
    kept = [cell for cell in cells if _kept(cell, matrix)]
    if not kept:
        raise ConfigError("the matrix has no cell: its include and exclude rules leave none of its combinations")
    return kept


def _kept(cell: Cell, matrix: Matrix) -> bool:
    included = not matrix.include or any(matches(rule, cell) for rule in matrix.include)
    return included and not any(matches(rule, cell) for rule in matrix.exclude)


def matches(rule: Rule, cell: Cell) -> bool:
    """Tell whether every key of ``rule`` allows the cell's value."""
    case = dict(cell.case.params)
    here = cell.coordinates()
    for axis in (*AXES, "repro"):
        allowed = getattr(rule, axis)
        if allowed is not None and here[axis] not in allowed:
            return False
    return all(name in case and _listed(case[name], allowed) for name, allowed in rule.params.items())


def _listed(value: object, among: Iterable[object]) -> bool:
    return typed(value) in [typed(other) for other in among]


class MisnamedError(ConfigError):
    """Report a name in the matrix that nothing has; ``at`` is its place in the file."""

    def __init__(self, at: tuple[int | str, ...], message: str) -> None:
        super().__init__(message)
        self.at = at


def _check_rules(matrix: Matrix, repros: Sequence[ReproFolder]) -> None:
    known: dict[str, list[object]] = {
        "image": [image.name for image in matrix.images],
        "device": [device.name for device in matrix.devices],
        "home": [home.name for home in matrix.homes],
        "environment": [environment.name for environment in matrix.environments],
        "repro": [repro.name for repro in repros],
    }
    params: dict[str, list[object]] = {}
    for repro in repros:
        for name, values in repro.spec.params.items():
            params.setdefault(name, []).extend(values)
    for kind, rules in (("include", matrix.include), ("exclude", matrix.exclude)):
        for number, rule in enumerate(rules):
            for axis, names in known.items():
                for value in getattr(rule, axis) or ():
                    require(value, names, (kind, number, axis))
            for name, values in rule.params.items():
                require(name, list(params), (kind, number, "params"))
                for value in values:
                    require(value, params[name], (kind, number, "params", name))


def require(value: object, known: Sequence[object], at: tuple[int | str, ...]) -> None:
    """Raise MisnamedError, with the nearest known name, unless ``value`` is one of ``known``."""
    if _listed(value, known):
        return
    near = difflib.get_close_matches(str(value), [str(name) for name in known], n=1)
    names = list(dict.fromkeys(map(repr, known)))
    more = f", … ({len(names)} in all)" if len(names) > _MOST_SHOWN else ""
    shown = (", ".join(names[:_MOST_SHOWN]) or "none") + more
    raise MisnamedError(at, f"{value!r} is not there; {f'did you mean {near[0]!r}?' if near else f'known: {shown}'}")


def apply(selection: Selection, repro: ReproFolder, at: tuple[int | str, ...] = ()) -> ReproFolder:
    """Return ``repro`` with the matrix's own parameters, trials and timeout for it; ``at`` is where it is selected.

    Raises MisnamedError for a parameter that the repro does not have.
    """
    for name in selection.params:
        require(name, list(repro.spec.params), (*at, "params"))
    changes = {
        "params": {**repro.spec.params, **selection.params},
        "trials": selection.trials or repro.spec.trials,
        "timeout": selection.timeout or repro.spec.timeout,
    }
    # Controls that name a value which this matrix left out have no case any more; the others stay.
    changes["controls"] = tuple(
        control
        for control in repro.spec.controls
        if all(_listed(value, changes["params"][name]) for name, value in control.items())  # type: ignore[index]
    )
    return ReproFolder(name=repro.name, path=repro.path, spec=repro.spec.model_copy(update=changes))
