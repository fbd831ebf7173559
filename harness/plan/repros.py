"""Describe a reproducer and find them: the model of ``repro.yaml`` and the folders that hold one."""

from __future__ import annotations

import itertools
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import BeforeValidator, Field, StringConstraints, field_validator, model_validator

from harness.errors import ConfigError
from harness.plan.commands import placeholders, words
from harness.plan.loading import load
from harness.plan.values import LONGEST_NAME, NAME_PATTERN, Model, Package, Params, Scalar, Variable, misplaced, typed

BUILTIN = Path(__file__).resolve().parents[2] / "repros"
SHARED = "common"  # helpers that repros include; the one folder under repros/ that is no repro

# What a cell must offer. Devices offer the first group, images (by their probe) the second.
Need = Literal[
    "device", "no-device", "hardware", "kernels", "xnack",
    "compiler", "python", "hip-python", "torch", "rocblas", "hipblas", "hipblaslt", "miopen",
]  # fmt: skip
NEEDS: frozenset[str] = frozenset(get_args(Need))
# Answers of the software GPU that are right on some hardware and wrong on other.
SoftAnswer = Literal["kernels", "timings", "free-memory", "images", "svm-attributes", "pageable-memory"]
SOFT_ANSWERS: frozenset[str] = frozenset(get_args(SoftAnswer))
# Names that commands use for something else than a parameter.
RESERVED = frozenset({SHARED})
MOST_CASES = 10_000
Command = Annotated[tuple[str, ...], Field(min_length=1)]


def _as_words(value: object) -> object:
    return words(value) if isinstance(value, str) else value


class Repro(Model):
    """One ``repro.yaml``; commands are word lists, never given to a shell."""

    title: str = Field(min_length=1, max_length=120)
    story: str | None = None
    references: tuple[Annotated[str, StringConstraints(pattern=r"^https?://\S+$")], ...] = Field(min_length=1)
    what_to_do: str = Field(min_length=1)
    affected: str | None = Field(None, description="ROCm versions that the references say fail, such as '>=6.0'.")
    needs: tuple[Need, ...] = ()
    robust_to: tuple[SoftAnswer, ...] = Field(
        (), description="Soft answers of the software GPU that cannot change this repro's verdict."
    )
    about: tuple[Literal["no-device", "driver-refused", "gfx-unsupported"], ...] = Field(
        (), description="What else would be no finding on a GPU, but is the very subject of this repro."
    )
    packages: tuple[Package, ...] = Field((), description="Packages that the repro's own layer adds.")
    environment: dict[Variable, str] = Field(default_factory=dict)
    regressed_when: Literal["run", "build"] = "run"
    build: tuple[Annotated[Command, BeforeValidator(_as_words)], ...] = ()
    run: Annotated[Command, BeforeValidator(_as_words)] | None = None
    params: Params = Field(default_factory=dict)
    controls: tuple[dict[Variable, Scalar], ...] = ()
    trials: int = Field(1, ge=1, le=1_000_000)
    timeout: float = Field(
        60, gt=0, le=86_400, description="Seconds for each trial, and for a build that is the experiment."
    )

    @field_validator("affected")
    @classmethod
    def _specifier(cls, value: str | None) -> str | None:
        try:
            SpecifierSet(value or "")
        except InvalidSpecifier as error:
            raise ValueError(f"{value!r} is not a version specifier such as '>=6.0,<7.2'") from error
        return value

    @model_validator(mode="after")
    def _experiment_is_there(self) -> Repro:
        if self.regressed_when == "build" and (self.run is not None or not self.build):
            raise ValueError("with `regressed_when: build` the build is the experiment: give `build` and no `run`")
        if self.regressed_when == "run" and self.run is None:
            raise ValueError("`run` is missing: the command of one trial (or say `regressed_when: build`)")
        return self

    @model_validator(mode="after")
    def _names_are_known(self) -> Repro:
        if taken := RESERVED & self.params.keys():
            name = sorted(taken)[0]
            raise misplaced(("params", name), f"commands use the name {name!r} already; call the parameter otherwise")
        for place, command in self._commands():
            for name in sorted(placeholders(command) - RESERVED - self.params.keys()):
                known = ", ".join(sorted(RESERVED | self.params.keys()))
                raise misplaced(place, f"{{{name}}} in a command is no parameter; known: {known}")
        return self

    def _commands(self) -> list[tuple[tuple[int | str, ...], tuple[str, ...]]]:
        """Return every command with its place in the file."""
        build = [(("build", number), command) for number, command in enumerate(self.build)]
        return [*build, (("run",), self.run)] if self.run else [*build]

    @model_validator(mode="after")
    def _controls_are_cases(self) -> Repro:
        for number, control in enumerate(self.controls):
            for name, value in control.items():
                if typed(value) not in [typed(other) for other in self.params.get(name, ())]:
                    raise misplaced(
                        ("controls", number, name), f"{value!r} names no case; params.{name} does not list it"
                    )
        return self

    @model_validator(mode="after")
    def _cases_can_be_counted(self) -> Repro:
        cases = math.prod(len(values) for values in self.params.values())
        if cases > MOST_CASES:
            raise misplaced(("params",), f"these make {cases:,} cases; at most {MOST_CASES:,} can be run")
        return self


@dataclass(frozen=True, kw_only=True)
class Case:
    """One combination of a repro's parameters; a control must pass everywhere."""

    params: tuple[tuple[str, Scalar], ...]
    control: bool

    @property
    def label(self) -> str:
        """Return ``name=value`` pairs, or an empty string for a repro without parameters."""
        return " ".join(f"{name}={value}" for name, value in self.params)


@dataclass(frozen=True, kw_only=True)
class ReproFolder:
    """A reproducer and the folder it lives in."""

    name: str
    path: Path
    spec: Repro

    def cases(self) -> list[Case]:
        """Expand the parameters in their written order; the first parameter varies slowest."""
        return [
            Case(params=tuple(zip(self.spec.params, values, strict=True)), control=self._is_control(values))
            for values in itertools.product(*self.spec.params.values())
        ]

    def _is_control(self, values: tuple[Scalar, ...]) -> bool:
        case = {name: typed(value) for name, value in zip(self.spec.params, values, strict=True)}
        return any(all(case[name] == typed(value) for name, value in c.items()) for c in self.spec.controls)

    def build_params(self) -> list[str]:
        """Return the parameters that a build command uses: cases that agree on them share one build."""
        used = {name for command in self.spec.build for name in placeholders(command)}
        return [name for name in self.spec.params if name in used]


def find(project: Path) -> dict[str, Path]:
    """Map the name of every repro folder to its path: the project's first, the built-in ones after.

    Raises ConfigError for a folder without ``repro.yaml`` and for a folder that leads out of its ``repros/``.
    """
    found: dict[str, Path] = {}
    for root in dict.fromkeys((project / "repros", BUILTIN)):
        if not root.is_dir():
            continue
        for folder in sorted(p for p in root.iterdir() if p.is_dir() and p.name != SHARED and p.name[0] not in "._"):
            _check_folder(root, folder)
            found.setdefault(folder.name, folder)
    return found


def _check_folder(root: Path, folder: Path) -> None:
    if not re.fullmatch(NAME_PATTERN, folder.name) or len(folder.name) > LONGEST_NAME:
        raise ConfigError(
            f"{folder!s}: {folder.name!r} cannot name a repro: use lower-case letters and digits, with single '.', '_' "
            f"or '-' between them, at most {LONGEST_NAME}, because image names are made from it."
        )
    if not (folder / "repro.yaml").is_file():
        raise ConfigError(
            f"{folder}: there is no repro.yaml in it. Write one (`harness new {folder.name}` starts it), or move the "
            "folder out of repros/."
        )
    for path in (folder, *folder.rglob("*")):
        if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
            raise ConfigError(
                f"{path}: leads out of the project (to {path.resolve()}). A repro is copied into images and reports, "
                "so it may only hold files of its own; put a copy in the folder instead."
            )
        if path != folder and path.is_symlink() and path.is_dir():
            raise ConfigError(f"{path}: is a link to a folder, which would not be copied; put a copy there instead.")
        if not os.access(path, os.R_OK | os.X_OK if path.is_dir() else os.R_OK):
            raise ConfigError(f"{path}: cannot be read, and a repro is copied whole; change its mode or its owner.")


def load_repro(name: str, path: Path) -> ReproFolder:
    """Read one repro folder.

    Raises ConfigError with file, line and column when ``repro.yaml`` is not as it should be.
    """
    return ReproFolder(name=name, path=path, spec=load(path / "repro.yaml", Repro))
