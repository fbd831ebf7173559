"""Offer the programs of this host to the building of bases."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from harness.run.endpoints import Say
from harness.run.install import as_root, need_tool

_INSTALLING = threading.Lock()


@dataclass(frozen=True)
class HostTools:
    """The programs of this host; ``say`` is told when one has to be installed."""

    say: Say

    def need(self, name: str, package: str) -> None:
        """Make sure that a program is there; raises InfraError with the command that installs it when it cannot be."""
        # Images are made side by side, and the package manager lets only one in at a time.
        with _INSTALLING:
            need_tool(name, package, say=self.say)

    def as_root(self, command: Sequence[str]) -> list[str]:
        """Return the words that run ``command`` as root, or the command itself where that is not possible."""
        return as_root(*command) or list(command)
