"""Describe a reproducer and find them: the model of ``repro.yaml`` and the folders that hold one."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import BeforeValidator, Field, StringConstraints, field_validator, model_validator

from harness.errors import ConfigError
from harness.plan.commands import placeholders, words
from harness.plan.loading import load
from harness.plan.models import NAME_PATTERN, Model, Package, Scalar, Variable

BUILTIN = Path(__file__).resolve().parents[2] / "repros"
SHARED = "common"  # helpers that repros include; the one folder under repros/ that is no repro

# What a cell must offer. Devices offer the first group, images (by their probe) the second.
Need = Literal[
    "device", "no-device", "hardware", "kernels", "xnack",
    "compiler", "python", "hip-python", "torch", "rocblas", "hipblas", "hipblaslt", "miopen",
]  # fmt: skip
NEEDS: frozenset[str] = frozenset(get_args(Need))
# Names that commands use for something else than a parameter.
RESERVED = frozenset({SHARED})


def _no_nul(value: object) -> object:
    if isinstance(value, str) and "\0" in value:
        raise ValueError("a NUL byte cannot be handed to a program")
    return value


Value = Annotated[Scalar, BeforeValidator(_no_nul)]
Params = dict[Variable, Annotated[tuple[Value, ...], Field(min_length=1)]]
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
    packages: tuple[Package, ...] = Field((), description="Packages that the repro's own layer adds.")
    environment: dict[Variable, str] = Field(default_factory=dict)
    regressed_when: Literal["run", "build"] = "run"
    build: tuple[Annotated[Command, BeforeValidator(_as_words)], ...] = ()
    run: Annotated[Command, BeforeValidator(_as_words)] | None = None
    params: Params = Field(default_factory=dict)
    controls: tuple[dict[Variable, Scalar], ...] = ()
    trials: int = Field(1, ge=1, le=1_000_000)
    timeout: float = Field(60, gt=0, le=86_400, description="Seconds for each trial and each build.")

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
            raise ValueError(f"a parameter may not be called {sorted(taken)[0]!r}: commands use that name already")
        known = RESERVED | self.params.keys()
        for command in (*self.build, *([self.run] if self.run else [])):
            for name in placeholders(command):
                if name not in known:
                    raise ValueError(f"{{{name}}} in a command is no parameter; known: {', '.join(sorted(known))}")
        for control in self.controls:
            for name, value in control.items():
                if value not in self.params.get(name, ()):
                    raise ValueError(f"control {name}: {value!r} names no case; params.{name} does not list it")
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
        case = dict(zip(self.spec.params, values, strict=True))
        return any(control.items() <= case.items() for control in self.spec.controls)

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
    if not re.fullmatch(NAME_PATTERN, folder.name):
        raise ConfigError(
            f"{folder!s}: {folder.name!r} cannot name a repro: use lower-case letters, digits, '.', '_' and '-', at "
            "most 63, because image names are made from it."
        )
    if not (folder / "repro.yaml").is_file():
        raise ConfigError(
            f"{folder}: there is no repro.yaml in it. Write one (`harness new {folder.name}` shows how), or move the "
            "folder out of repros/."
        )
    for path in (folder, *folder.rglob("*")):
        if not path.resolve().is_relative_to(root.resolve()):
            raise ConfigError(
                f"{path}: leads out of the project (to {path.resolve()}). A repro is copied into images and reports, "
                "so it may only hold files of its own; put a copy in the folder instead."
            )


def load_repro(name: str, path: Path) -> ReproFolder:
    """Read one repro folder.

    Raises ConfigError with file, line and column when ``repro.yaml`` is not as it should be.
    """
    return ReproFolder(name=name, path=path, spec=load(path / "repro.yaml", Repro))
