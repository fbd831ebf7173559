"""Turn a home of the matrix into what a container is given for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.plan.homes import LocalHome, TmpfsHome
from harness.run.container import HOME, TMP_OPTIONS


@dataclass(frozen=True, kw_only=True)
class HomeGrant:
    """The mounts of a home; it is at ``HOME`` in every container."""

    tmpfs: Mapping[str, str] = field(default_factory=dict)
    volumes: tuple[str, ...] = ()


def grant(home: LocalHome | TmpfsHome) -> HomeGrant:
    """Return the mounts: a fresh anonymous volume lies on the disk of the engine's host, wherever that is."""
    if isinstance(home, TmpfsHome):
        return HomeGrant(tmpfs={HOME: f"{TMP_OPTIONS},size={home.size}"})
    return HomeGrant(volumes=(HOME,))
