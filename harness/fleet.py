"""Complete the cells of every host of a matrix side by side; a host that is down costs its own cells only."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from harness import leftovers
from harness.errors import HarnessError, InfraError
from harness.results.record import Writer
from harness.run.ssh import TUNNELS
from harness.show.progress import Progress, Side
from harness.site import opened
from harness.survey import THE_HOST, Standing, Survey, host_names
from harness.workflow import Run, new_name

_POLL = 0.2
# After Ctrl-C: how long the hosts may take to remove their containers. Seconds.
_PATIENCE = 20.0


def complete(here: Survey, override: str | None, pending: Sequence[Standing], progress: Progress) -> list[HarnessError]:
    """Build and run what ``pending`` cells miss, each on its host; return what kept some from an answer.

    Raises InfraError when everything was to run on the one engine of this run and that ended it.
    """
    parts = by_host(pending)
    if set(parts) == {None}:
        with opened(here, None, override, progress.say) as site:
            run = Run(here, site, progress, new_name())
            run.complete(pending)
        return list(run.failures.values())
    return _Fleet(here, override, progress).complete(parts)


def by_host(standings: Sequence[Standing]) -> dict[str | None, list[Standing]]:
    """Group cells by the host of their device, in the order of the matrix."""
    parts: dict[str | None, list[Standing]] = {}
    for standing in standings:
        parts.setdefault(standing.cell.device.host, []).append(standing)
    return parts


class _Fleet:
    """The runs of one invocation, one for each host: they share its name and its record file."""

    def __init__(self, here: Survey, override: str | None, progress: Progress) -> None:
        self._here = here
        self._override = override
        self._progress = progress
        self._names = host_names(here.project)
        self._name = new_name()
        self._runs: list[Run] = []
        self._errors: list[HarnessError] = []
        self._stopped = threading.Event()
        self._alone = False

    def complete(self, parts: Mapping[str | None, Sequence[Standing]]) -> list[HarnessError]:
        """Complete the part of each host; return what kept cells from an answer."""
        runs = leftovers.runs_folder(self._here.project)
        runs.mkdir(parents=True, exist_ok=True)
        self._alone = len(parts) == 1
        pool = ThreadPoolExecutor(len(parts), thread_name_prefix="host")
        with (
            leftovers.owned(self._here.project, self._name),
            contextlib.closing(Writer(runs, self._name)) as writer,
        ):
            futures = {pool.submit(self._serve, host, part, writer) for host, part in parts.items()}
            try:
                _wait(futures)
            except BaseException:
                self._stop()
                wait(futures, timeout=_PATIENCE)
                raise
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                for host in parts:
                    if host:
                        TUNNELS.leave(host)
        return self._errors

    def _stop(self) -> None:
        self._stopped.set()
        for run in self._runs:
            run.stop("interrupted")

    def _serve(self, host: str | None, part: Sequence[Standing], writer: Writer) -> None:
        side = self._progress if self._alone else Side(self._progress, self._names.get(host, ""))
        try:
            with opened(self._here, host, self._override, side.say) as site:
                run = Run(self._here, site, side, self._name)
                self._runs.append(run)
                if not self._stopped.is_set():
                    run.carry_out(part, writer)
            self._errors += [self._told(host, error) for error in run.failures.values()]
        except HarnessError as error:
            if not self._stopped.is_set():
                self._lost(host, error, side)

    def _lost(self, host: str | None, error: HarnessError, side: Progress) -> None:
        """Note why the cells of a host have no answer, and go on without it."""
        told = self._told(host, error)
        if isinstance(error, InfraError) and "harness run" not in str(told):
            told = InfraError(f"{told} `harness run` completes its cells once it answers.")
        self._here.shelf_of(host).note_trouble(THE_HOST, str(told))
        self._errors.append(told)
        side.say(str(told))

    def _told(self, host: str | None, error: HarnessError) -> HarnessError:
        text = str(error)
        if host is None or host in text:
            return error
        return type(error)(f"{host}: {text}")


def _wait(futures: set[Future[None]]) -> None:
    # Short waits keep the main thread able to take Ctrl-C at any time.
    while futures:
        done, futures = wait(futures, timeout=_POLL, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
