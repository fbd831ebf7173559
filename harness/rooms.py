"""Make sure, before the cells of a run begin, that their homes can be had; one that cannot costs only its own cells.

A mount that hangs or is refused would otherwise be met by every trial of every cell that has it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness.errors import HarnessError, InfraError
from harness.plan.homes import BindHome, Home, NfsHome, RestrictedHome
from harness.run import beside, homes
from harness.run.container import ContainerSpec
from harness.run.engine import Engine
from harness.run.homes import HomeGrant

# Seconds in which a folder of the engine's own host has to be mounted.
BIND_PATIENCE = 20.0


def served(home: Home) -> bool:
    """Tell whether a home may need the FUSE file system."""
    return isinstance(home, RestrictedHome) and home.means != "engine"


@dataclass(kw_only=True)
class Rooms:
    """The homes of one run on one engine.

    ``image`` is any image, to try a mount with; ``program`` that of the FUSE file system, None when it is not built.
    """

    engine: Engine
    image: str
    program: str | None
    failed: Callable[[str, HarnessError | None], None]
    grants: dict[str, HomeGrant] = field(default_factory=dict)
    _fuse: bool | None = None

    def prepare(self, wanted: Mapping[str, Home]) -> None:
        """Fill ``grants`` with the homes that can be had; ``failed`` is told of each, with None for those."""
        for name, home in wanted.items():
            try:
                self.grants[name] = self._prepared(home)
            except InfraError as error:
                self.failed(homes.trouble_name(home), error)
                if not self.engine.answers():
                    raise
            else:
                self.failed(homes.trouble_name(home), None)

    def release(self) -> None:
        """Remove the volumes that were made for exports; those that another run uses stay."""
        for granted in self.grants.values():
            self._forget(granted)

    def _forget(self, granted: HomeGrant) -> None:
        for volume in granted.written.values():
            with contextlib.suppress(InfraError):
                self.engine.remove_volume(volume.name, patience=BIND_PATIENCE)

    @property
    def means(self) -> dict[str, str]:
        """Return how each restricted home is made, by name."""
        return {name: granted.means for name, granted in self.grants.items() if granted.means}

    def _prepared(self, home: Home) -> HomeGrant:
        if served(home) and self.program is None:
            raise InfraError("The file system of restricted homes could not be built; the error above says why.")
        fuse = served(home) and self._has_fuse()
        if isinstance(home, RestrictedHome) and home.means == "fuse" and not fuse:
            raise InfraError(
                f"homes: {home.name}: no FUSE file system can be mounted by this engine; see docs/homes.md."
            )
        granted = homes.grant(home, image=self.program or "", fuse=fuse)
        if isinstance(home, NfsHome | BindHome):
            self._try(home, granted)
        return granted

    def _has_fuse(self) -> bool:
        if self._fuse is None:
            self._fuse = self.program is not None and beside.has_fuse(self.engine, self.program)
        return self._fuse

    def _try(self, home: NfsHome | BindHome, granted: HomeGrant) -> None:
        """Mount the home once, in a container that ends at once."""
        spec = ContainerSpec(
            image=self.image, entrypoint=("true",), command=(), labels=self.engine.labels, written=granted.written,
            binds=granted.binds, user=granted.user,
        )  # fmt: skip
        patience = home.patience if isinstance(home, NfsHome) else BIND_PATIENCE
        host = str(self.engine.facts().get("Name", "the engine's host"))
        try:
            self.engine.try_out(spec, patience=patience)
        except TimeoutError:
            raise InfraError(homes.silent(home, host, patience)) from None
        except InfraError as error:
            self._forget(granted)
            raise InfraError(homes.explain(home, host, str(error))) from error
