"""Say what a container is given of a device, what that offers to repros, and what of it decides results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.run.topology import Gpu

Through = Literal["auto", "nodes", "cdi", "runtime"]


@dataclass(frozen=True, kw_only=True)
class DeviceGrant:
    """The GPUs, variables and read-only volumes of a device; ``volumes`` maps a path to the name of a volume.

    ``label`` names the device in tables and ``unit`` tells columns of one device apart; ``offers`` are the needs it
    meets, and ``identity`` is its part of a cell's key. ``gpus`` are those that a cell may hold, one of them at a time
    unless ``together``; ``owners`` are the groups of their nodes where those are on another host. ``absent`` says why
    nothing can run on it. ``software`` tells that it is the software GPU.
    """

    label: str
    offers: frozenset[str]
    unit: str = ""
    gpus: tuple[Gpu, ...] = ()
    together: bool = False
    through: Through = "auto"
    environment: Mapping[str, str] = field(default_factory=dict)
    volumes: Mapping[str, str] = field(default_factory=dict)
    identity: Mapping[str, Any] = field(default_factory=dict)
    owners: Mapping[str, int] | None = None
    absent: str | None = None
    software: bool = False


NOTHING = DeviceGrant(label="none", offers=frozenset({"no-device"}), identity={"gpus": []})
