"""Hold GPUs: one cell on one GPU at a time, in this process and in every other of this machine.

Whoever holds a GPU holds a lock on a file; the kernel frees it with the process, however that ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from harness.errors import InfraError
from harness.run.topology import Gpu

_SHARED = Path("/run/lock")  # for everybody on this machine, as /var/lock of the FHS
_POLL = 0.2


def folder() -> Path:
    """Return the folder of the locks, which all users of this machine share."""
    return (_SHARED if _SHARED.is_dir() else Path(tempfile.gettempdir())) / "rocm-harness-gpus"


class Leases:
    """Give out GPUs of one host; ``waiting`` is told once for each cell that has to wait for another process."""

    def __init__(self, host: str = "", *, stopped: threading.Event, waiting: Callable[[str], None]) -> None:
        self._host = host
        self._stopped = stopped
        self._waiting = waiting
        self._ours: set[str] = set()
        self._guard = threading.Lock()

    @contextlib.contextmanager
    def hold(self, gpus: Sequence[Gpu], *, together: bool) -> Iterator[tuple[Gpu, ...]]:
        """Hold one of ``gpus``, or all of them ``together``; yields nothing when the run was stopped meanwhile."""
        sets = [tuple(gpus)] if together else [(gpu,) for gpu in gpus]
        with contextlib.ExitStack() as held:
            yield self._wait(sets, held) if gpus else ()

    def _wait(self, sets: Sequence[tuple[Gpu, ...]], held: contextlib.ExitStack) -> tuple[Gpu, ...]:
        told = False
        while not self._stopped.is_set():
            for wanted in sets:
                if self._take(wanted, held):
                    return wanted
            if not told and not any(self._name(gpu) in self._ours for wanted in sets for gpu in wanted):
                self._waiting(" or ".join(f"{gpu.gfx} {gpu.render}" for wanted in sets for gpu in wanted))
                told = True
            self._stopped.wait(_POLL)
        return ()

    def _take(self, wanted: Sequence[Gpu], held: contextlib.ExitStack) -> bool:
        """Take all of ``wanted`` or none; in one order everywhere, so that no two can wait for each other."""
        with contextlib.ExitStack() as taken:
            for gpu in sorted(wanted, key=lambda gpu: gpu.node):
                lock = FileLock(self._file(gpu), mode=0o666)
                try:
                    taken.enter_context(lock.acquire(timeout=0))
                except Timeout:
                    return False
                self._mark(gpu, taken)
            held.push(taken.pop_all())
            return True

    def _mark(self, gpu: Gpu, taken: contextlib.ExitStack) -> None:
        with self._guard:
            self._ours.add(self._name(gpu))
        taken.callback(self._ours.discard, self._name(gpu))

    def _name(self, gpu: Gpu) -> str:
        readable = f"{gpu.pci}-{gpu.render}".replace(":", "-")
        return readable if not self._host else f"{hashlib.sha256(self._host.encode()).hexdigest()[:8]}-{readable}"

    def _file(self, gpu: Gpu) -> Path:
        where = folder()
        try:
            if not where.is_dir():
                where.mkdir(parents=True, exist_ok=True)
                where.chmod(0o1777)
            path = where / f"{self._name(gpu)}.lock"
            if not path.exists():
                path.touch()
                path.chmod(0o666)
        except OSError as error:
            raise InfraError(f"The lock of a GPU cannot be made: {error}") from error
        return path
