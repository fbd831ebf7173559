"""Keep the trouble of one cell on a GPU from being blamed on the next: a fence before and after every trial.

A hang ends with a reset of the card, often only after its cell was given up; whoever runs there then fails, whatever
its ROCm version. So a GPU that hung or was reset is *tainted* until it is as it was, and a failure is blamed on a cell
only when the trouble began with it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from harness.run import health
from harness.run.health import Health
from harness.run.topology import Gpu
from harness.run.trials import Trial

# Memory that a driver keeps for itself after a first use is no sign of a process that still hangs. Bytes.
_SLACK = 256 << 20
_POLL = 0.2


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Seconds: how long a tainted GPU must look well, how long that is waited for, how long a reset may be late."""

    settle: float = 2.0
    recovery: float = 60.0
    late_reset: float = 120.0


class Fence:
    """Watch the GPUs of one host, until the run is ``stopped``; safe to use from several threads."""

    def __init__(
        self, read: Callable[[Gpu], Health] = health.read, patience: Patience | None = None,
        stopped: threading.Event | None = None,
    ) -> None:  # fmt: skip
        self._read = read
        self._patience = patience or Patience()
        self._stopped = stopped or threading.Event()
        self._guard = threading.Lock()
        self._seen: dict[str, Health] = {}  # by render node: as it was when last looked at
        self._idle: dict[str, int] = {}  # memory in use before our first cell
        self._tainted: dict[str, str] = {}
        self._hung: dict[str, float] = {}  # by card: when a cell hung there, as long as no reset has followed
        self._live: Counter[str] = Counter()  # cells on each card now

    @contextmanager
    def around(self, gpus: Sequence[Gpu]) -> Iterator[None]:
        """Say that a cell is on ``gpus``: a reset takes down every partition of a card."""
        cards = {gpu.pci for gpu in gpus}
        with self._guard:
            self._live.update(cards)
        try:
            yield
        finally:
            with self._guard:
                self._live.subtract(cards)

    def unfit(self, gpus: Sequence[Gpu]) -> str | None:
        """Wait until tainted GPUs are well again; return why a cell must not run on them yet, or None."""
        reasons = [reason for gpu in gpus if (reason := self._unfit(gpu))]
        return "; ".join(reasons) or None

    def _unfit(self, gpu: Gpu) -> str | None:
        now = self._look(gpu)
        self._idle.setdefault(gpu.render, now.used or 0)
        reason = self._tainted.get(gpu.render)
        if reason is None or self._well_again(gpu):
            self._tainted.pop(gpu.render, None)
            return None
        return f"tainted: {gpu.render} {reason}, and is not as before after {self._patience.recovery:g} s"

    def _well_again(self, gpu: Gpu) -> bool:
        """Tell whether the counters stand still, and the memory is given back, for as long as it takes to settle."""
        deadline = time.monotonic() + self._patience.recovery
        well_since = time.monotonic()
        while time.monotonic() - well_since < self._patience.settle:
            if time.monotonic() > deadline or self._stopped.wait(_POLL):
                return False
            moved, now = self._moved(gpu), self._look(gpu)
            if moved:
                self._hung.pop(gpu.pci, None)
            if moved or (now.used or 0) > self._idle[gpu.render] + _SLACK:
                well_since = time.monotonic()
        return True

    def blame(self, gpus: Sequence[Gpu], trial: Trial) -> str | None:
        """Look at the GPUs after a trial; return why its failure is not its own, or None when it stands."""
        moved = {gpu.render: what for gpu in gpus if (what := self._moved(gpu))}
        for gpu in gpus:
            if gpu.render in moved:
                self._tainted[gpu.render] = f"had {moved[gpu.render]}"
            elif trial.timed_out:
                self._tainted[gpu.render] = "hung"
        foreign = self._foreign(gpus, moved) if moved else None
        for gpu in gpus:
            if gpu.render in moved:
                self._hung.pop(gpu.pci, None)
            elif trial.timed_out:
                self._hung[gpu.pci] = time.monotonic()
        return foreign if trial.status else None

    def _foreign(self, gpus: Sequence[Gpu], moved: Mapping[str, str]) -> str | None:
        """Say whose the trouble is when it need not be that of the cell that just ran."""
        for gpu in gpus:
            if gpu.render not in moved:
                continue
            since = time.monotonic() - self._hung.get(gpu.pci, float("-inf"))
            if since < self._patience.late_reset:
                return f"tainted: {gpu.render} had {moved[gpu.render]}, {since:.0f} s after a hang of an earlier cell"
            if self._live[gpu.pci] > 1:
                return f"tainted: {gpu.render} had {moved[gpu.render]} while another cell ran on the same card"
        return None

    def _look(self, gpu: Gpu) -> Health:
        now = self._read(gpu)
        self._seen[gpu.render] = now
        return now

    def _moved(self, gpu: Gpu) -> str | None:
        """Look at a GPU and say which of its counters grew since the last look."""
        before = self._seen.get(gpu.render)
        now = self._look(gpu)
        if before is None:
            return None
        grown = {name: value - before.counters.get(name, value) for name, value in now.counters.items()}
        return ", ".join(f"{count} new {name}" for name, count in grown.items() if count > 0) or None
