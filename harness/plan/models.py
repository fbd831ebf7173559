"""Describe a matrix: images, devices, homes, environments, limits, and the rules that choose among their cells."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from harness.plan.devices import AutoDevice, Device
from harness.plan.environments import Environment
from harness.plan.homes import Home, LocalHome
from harness.plan.values import (
    Model,
    Name,
    Named,
    Package,
    Params,
    Requirement,
    Scalar,
    Size,
    Suite,
    Url,
    misplaced,
)


class DistroSource(Model):
    """ROCm as a distribution packages it: a suite, extra suites that join it, and a list of packages."""

    kind: Literal["distro"]
    distribution: Literal["debian", "ubuntu"] = "debian"
    suite: Suite = Field(description="The suite the base is made from, such as bookworm.")
    extra_suites: tuple[Suite, ...] = Field((), description="Suites added to the package lists, such as experimental.")
    target_release: Suite | None = Field(None, description="The suite that packages are preferably taken from.")
    components: tuple[Suite, ...] = Field(("main",), min_length=1)
    packages: tuple[Package, ...] = ("hipcc", "libamdhip64-dev")
    mirror: Url | None = Field(None, description="Overrides the mirror that the package tools know by themselves.")
    keyring: str | None = Field(None, pattern=r"^/[A-Za-z0-9._/+-]+$", description="Keyring file on this host.")
    check_valid_until: bool = Field(True, description="False accepts package lists past their Valid-Until date.")
    base: Literal["auto", "registry", "bootstrap"] = Field(
        "auto", description="Where the base comes from: a registry when one answers, else mmdebstrap."
    )

    @model_validator(mode="after")
    def _target_is_a_suite(self) -> DistroSource:
        if self.target_release not in {None, self.suite, *self.extra_suites}:
            raise ValueError(f"target_release {self.target_release!r} is neither the suite nor one of extra_suites")
        return self

    @property
    def own_lists(self) -> bool:
        """Tell whether the base's package lists are to be others than a registry's image has."""
        return bool(self.mirror or self.keyring or self.components != ("main",))

    @model_validator(mode="after")
    def _registry_has_its_own_lists(self) -> DistroSource:
        if self.base == "registry" and self.own_lists:
            raise ValueError(
                "mirror, keyring and components are for bases made here: say `base: bootstrap`, or no base"
            )
        return self


# One member today; further kinds join here and are told apart by `kind`.
Source = DistroSource


class PipLayer(Model):
    """Python packages on top of an image, for its own python3."""

    kind: Literal["pip"]
    packages: tuple[Requirement, ...] = Field(min_length=1, description="Such as hip-python==7.2.2.562.43.")
    index: Url | None = Field(None, description="Overrides the package index that pip knows by itself.")


# One member today; further kinds join here and are told apart by `kind`.
Layer = PipLayer


class Image(Model):
    """One ROCm user space: a source, and what is laid on it."""

    name: Name
    source: Source
    layers: tuple[Layer, ...] = ()
    rocm: str | None = Field(
        None,
        pattern=r"^[0-9]+(\.[0-9]+){0,3}$",
        description="The ROCm version it is said to hold; a probe that finds another is a footnote of every table.",
    )


class Limits(Model):
    """Bounds on one container; sizes are a whole number and k, m, g or t."""

    memory: Size | None = Field(None, description="Default: 80 % of the engine's memory, divided by the cells at once.")
    pids: int = Field(512, ge=32, le=1_000_000, description="Processes and threads.")
    tmp: Size = Field("1g", description="Size of the tmpfs on /tmp.")
    output: Size = Field("64k", description="Kept of each stream's head, and again of its tail.")
    file: Size = Field("4g", description="Largest single file a repro may write.")
    cpus: float | None = Field(None, gt=0, description="Processors; default: no limit.")


class Wider(Model):
    """What containers get beyond the least; every table says so. Debuggers and some libraries ask for these.

    https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
    """

    capabilities: tuple[Literal["SYS_PTRACE", "SYS_NICE", "IPC_LOCK"], ...] = Field(
        (), description="SYS_PTRACE for debuggers, SYS_NICE for NUMA policies, IPC_LOCK for locked memory."
    )
    seccomp: Literal["unconfined"] | None = Field(None, description="Lifts the engine's filter of system calls.")
    ipc: Literal["host", "shareable", "private"] | None = Field(None, description="Default: the engine's.")
    shm_size: Size | None = Field(None, description="Size of /dev/shm; default: the engine's, 64m.")

    @property
    def text(self) -> str:
        """Return what was asked for, as notes of tables say it; empty when nothing was."""
        asked = self.model_dump(exclude_defaults=True)
        return ", ".join(
            f"{name} {' '.join(value) if isinstance(value, tuple) else value}" for name, value in asked.items()
        )


class Selection(Model):
    """Name a repro, and change its parameters or its trials for this matrix."""

    name: Name
    params: Params = Field(default_factory=dict)
    trials: int | None = Field(None, ge=1, le=1_000_000)
    timeout: float | None = Field(None, gt=0, le=86_400)


def _name_alone(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


NamedSelection = Annotated[Selection, BeforeValidator(_name_alone, json_schema_input_type=str | Selection)]


def _all_or_some(value: object) -> object:
    if value == []:
        raise ValueError("must not be empty; `all` takes every repro there is")
    return () if value == "all" else value


Repros = Annotated[
    tuple[NamedSelection, ...],
    BeforeValidator(_all_or_some, json_schema_input_type=Literal["all"] | tuple[NamedSelection, ...]),
]
OneOrMore = Annotated[
    tuple[Scalar, ...],
    BeforeValidator(lambda value: value if isinstance(value, list | tuple) else (value,)),
    Field(min_length=1),
]


class Rule(Model):
    """Match cells by axis values; every key given must match, and a list means any of its members."""

    image: OneOrMore | None = None
    device: OneOrMore | None = None
    home: OneOrMore | None = None
    environment: OneOrMore | None = None
    repro: OneOrMore | None = None
    params: dict[str, OneOrMore] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _not_empty(self) -> Rule:
        if not self.model_fields_set:
            raise ValueError("a rule without any key would match every cell; name at least one axis")
        return self


class Matrix(Model):
    """Everything one ``matrix.yaml`` says; axes keep their order in tables."""

    images: tuple[Image, ...] = Field(min_length=1)
    devices: tuple[Device, ...] = Field((AutoDevice(kind="auto"),), min_length=1)
    homes: tuple[Home, ...] = Field((LocalHome(kind="local"),), min_length=1)
    environments: tuple[Environment, ...] = Field((Environment(name="default"),), min_length=1)
    repros: Repros = Field((), description="The word all, or names; empty stands for all.")
    include: tuple[Rule, ...] = Field((), description="When given, only cells that match one of these rules are kept.")
    exclude: tuple[Rule, ...] = Field((), description="Cells that match one of these rules are left out.")
    limits: Limits = Limits()
    container: Wider = Wider()
    jobs: int | None = Field(None, ge=1, le=256, description="Cells at once; default: twice the processors, at most 8.")

    @field_validator("environments", mode="after")
    @classmethod
    def _one_for_each_value(cls, axis: tuple[Environment, ...]) -> tuple[Environment, ...]:
        return tuple(each for environment in axis for each in environment.each())

    @field_validator("images", "devices", "homes", "environments", "repros")
    @classmethod
    def _unique_names(cls, axis: tuple[Named, ...]) -> tuple[Named, ...]:
        names = [entry.name for entry in axis]
        for position, name in enumerate(names):
            if name in names[:position]:
                raise misplaced((position,), f"the name {name!r} is used twice; give each its own")
        return axis
