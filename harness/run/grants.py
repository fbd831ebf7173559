"""Say what a container is given of a device, what that offers to repros, and what of it decides results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class DeviceGrant:
    """The nodes, variables and read-only volumes of a device; ``volumes`` maps a path to the name of a volume.

    ``label`` names the device in tables, ``offers`` are the needs it meets, and ``identity`` is its part of a cell's
    key. ``owners`` are the groups of the nodes where those are on another host. ``absent`` says why nothing can run on
    it. ``software`` tells that it is the software GPU.
    """

    label: str
    offers: frozenset[str]
    nodes: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    volumes: Mapping[str, str] = field(default_factory=dict)
    identity: Mapping[str, Any] = field(default_factory=dict)
    owners: Mapping[str, int] | None = None
    absent: str | None = None
    software: bool = False

    @property
    def groups(self) -> tuple[int, ...]:
        """Return the numeric groups that own the device nodes."""
        if self.owners is not None:
            return tuple(sorted({self.owners[node.name] for node in self.nodes}))
        return tuple(sorted({node.stat().st_gid for node in self.nodes}))


NOTHING = DeviceGrant(label="none", offers=frozenset({"no-device"}), identity={"gpus": []})
