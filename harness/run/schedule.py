"""Run the trials of many cells side by side, and leave no container behind however that ends."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from harness.errors import InfraError
from harness.plan.cells import Cell
from harness.run import beside, health, trials
from harness.run.container import Attendant, ContainerSpec
from harness.run.engine import Engine
from harness.run.fence import Fence
from harness.run.leases import Leases
from harness.run.topology import Gpu
from harness.run.trials import Trial

# How often a cell is tried again when the infrastructure, not the repro, ended a trial.
RETRIES = 2
# Beyond its trials a container may take this long: to start, to encode output, to be killed. Seconds.
GRACE = 60.0
_POLL = 0.2


@dataclass(frozen=True, kw_only=True)
class Job:
    """A cell whose trials ``first`` to ``last`` are to run on one of ``gpus``, or on all of them ``together``.

    ``spec`` describes the container for a range of them, whose runner signs its lines with the nonce, on the GPUs that
    it holds. ``retries`` is how often infrastructure may still end a trial.
    """

    name: str
    cell: Cell
    key: str
    first: int
    last: int
    spec: Callable[[int, int, str, tuple[Gpu, ...]], ContainerSpec]
    gpus: tuple[Gpu, ...] = ()
    together: bool = False
    retries: int = RETRIES


def _again(job: Job, number: int, retries: int) -> Job | None:
    return replace(job, first=number, retries=retries - 1) if retries > 0 else None


class Deadline:
    """Call ``kill`` when ``seconds`` have passed, and remember that it was this that ended the container."""

    def __init__(self, seconds: float, kill: Callable[[], None]) -> None:
        self.passed = False
        self._kill = kill
        self._timer = threading.Timer(seconds, self._pass)
        self._timer.daemon = True
        self._timer.start()

    def _pass(self) -> None:
        self.passed = True
        self._kill()

    def cancel(self) -> None:
        """Let the container live."""
        self._timer.cancel()


Report = Callable[[Job, Trial], bool]  # takes a trial; answers whether it says anything (False: infrastructure)


class Schedule:
    """Run jobs on one engine.

    ``report`` is called from worker threads, once for each trial, in order within a cell. ``stop`` ends everything:
    running containers are killed, and no trial that this broke off is reported.
    """

    def __init__(
        self, engine: Engine, *, jobs: int, report: Report, started: Callable[[Job], None],
        finished: Callable[[Job], None], waiting: Callable[[str], None], gpus: int = 1,
        host: str | None = None, fence: Fence | None = None,
    ) -> None:  # fmt: skip
        self._engine = engine
        self._report = report
        self._started = started
        self._finished = finished
        self._live: set[str] = set()
        self._attendants: dict[str, str] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._reason: str | None = None
        self._lost = False  # the engine is: what is asked of it now takes until it is given up
        self._workers = ThreadPoolExecutor(jobs, thread_name_prefix="cell")
        # Cells that wait for a GPU must not keep those that need none from running.
        self._gpu_workers = ThreadPoolExecutor(max(gpus, 1), thread_name_prefix="gpu-cell")
        self._leases = Leases(host or "", stopped=self._stopped, waiting=waiting)
        self._fence = fence or Fence(health.unknown if host else health.read, stopped=self._stopped)
        # Removing a container takes as long as starting one; it need not hold up the next cell.
        self._cleaners = ThreadPoolExecutor(2, thread_name_prefix="clean")

    def run(self, jobs: Sequence[Job]) -> None:
        """Run all jobs.

        Raises InfraError when the engine is gone or the disk is full; whatever was reported by then stays.
        KeyboardInterrupt passes through once the containers are gone.
        """
        try:
            self._wait({self._submit(job) for job in jobs})
        except BaseException:
            self.stop("interrupted")
            raise
        finally:
            self._workers.shutdown(wait=True, cancel_futures=True)
            self._gpu_workers.shutdown(wait=True, cancel_futures=True)
            self._cleaners.shutdown(wait=True)
        if self._reason:
            raise InfraError(f"The run was stopped: {self._reason}.")

    def stop(self, reason: str) -> None:
        """End the run early: kill what runs, start nothing more."""
        self._reason = self._reason or reason
        self._stopped.set()
        with self._lock:
            live = [] if self._lost else list(self._live)
        killers = [threading.Thread(target=self._engine.kill, args=(container,)) for container in live]
        for killer in killers:
            killer.start()
        for killer in killers:
            killer.join(timeout=10)

    def _submit(self, job: Job) -> Future[Job | None]:
        return (self._gpu_workers if job.gpus else self._workers).submit(self._run_job, job)

    def _wait(self, futures: set[Future[Job | None]]) -> None:
        # Short waits keep the main thread able to take Ctrl-C at any time.
        while futures:
            done, futures = wait(futures, timeout=_POLL, return_when=FIRST_COMPLETED)
            for future in done:
                if not future.cancelled() and (again := future.result()) is not None and not self._stopped.is_set():
                    futures.add(self._submit(again))

    def _run_job(self, job: Job) -> Job | None:
        """Run a job; return what of it is to be queued again, behind all others."""
        again = None
        with self._leases.hold(job.gpus, together=job.together) as held, self._fence.around(held):
            if self._stopped.is_set():
                return None
            self._started(job)
            try:
                again = self._run_trials(job, held)
            except OSError as error:
                # Reporting failed: a result that cannot be kept is none.
                self.stop(f"a record could not be written: {error}")
        if not self._stopped.is_set() and again is None:
            self._finished(job)
        return again

    def _run_trials(self, job: Job, held: tuple[Gpu, ...]) -> Job | None:
        number, retries = job.first, job.retries
        while number <= job.last and not self._stopped.is_set():
            unfit = self._fence.unfit(held)
            if self._stopped.is_set():
                return None
            if unfit:
                self._report(job, Trial(number=number, limit=job.cell.timeout, vanished=True, trouble=unfit))
                return _again(job, number, retries)
            ran = 0
            for trial in self._container(job, number, held):
                if self._stopped.is_set():
                    return None
                if tainted := self._fence.blame(held, trial):
                    self._report(job, replace(trial, vanished=True, trouble=tainted))
                    return _again(job, number + ran, retries)
                informative = self._report(job, trial)
                if not informative:
                    retries -= 1
                    if retries < 0:
                        return None
                    break
                ran += 1
            number += ran
        return None

    def _container(self, job: Job, first: int, held: tuple[Gpu, ...]) -> Iterator[Trial]:
        """Yield the trials that one container runs; trouble with the engine becomes a trial that says so."""
        limit = job.cell.timeout
        try:
            nonce = secrets.token_hex(8)
            spec = job.spec(first, job.last, nonce, held)
            container = self._engine.create(spec)
        except InfraError as error:
            yield self._trouble(error, first, limit)
            return
        with self._lock:
            self._live.add(container)
        deadline = Deadline(GRACE + (job.last - first + 1) * (limit + 5), lambda: self._engine.kill(container))
        try:
            beside.hand_over(self._engine, container, spec)
            if not self._stopped.is_set():
                yield from self._trials(container, spec.attendant, first, limit, nonce, deadline)
        except InfraError as error:
            yield self._trouble(error, first, limit)
        finally:
            deadline.cancel()
            try:
                self._cleaners.submit(self._remove, container)
            except RuntimeError:  # the pool was shut down by an interrupt
                self._remove(container)

    def _trials(
        self, container: str, attendant: Attendant | None, first: int, limit: float, nonce: str, deadline: Deadline
    ) -> Iterator[Trial]:
        output = self._engine.start(container)
        if attendant:
            self._attendants[container] = beside.attend(self._engine, container, attendant, self._engine.labels)
        if self._stopped.is_set():
            # stop() may have come between creating and starting, when there was nothing to kill yet.
            self._engine.kill(container)
        seen = False
        for trial in trials.read(output, limit=limit, nonce=nonce):
            seen = True
            yield self._explained(container, trial, deadline) if trial.vanished else trial
        if not seen:
            # Nothing of the repro ran, so whatever ended the container, its repro did not.
            status = self._engine.ended(container).status
            trouble = f"the container ended with status {status} before its first trial"
            trouble += ": its home was not served in time" if attendant else ""
            yield Trial(number=first, limit=limit, vanished=True, trouble=trouble)

    def _explained(self, container: str, trial: Trial, deadline: Deadline) -> Trial:
        """Say why a runner vanished: by our deadline, or by the kernel, which killed it together with its repro."""
        ended = self._engine.ended(container)
        if deadline.passed:
            return replace(trial, vanished=False, status=124, duration=trial.limit)
        if ended.oom:
            return replace(trial, vanished=False, status=137, oom=True)
        return replace(trial, trouble=f"the container ended with status {ended.status} before the trial was recorded")

    def _trouble(self, error: InfraError, number: int, limit: float) -> Trial:
        if not self._stopped.is_set() and not self._engine.answers():
            self._lost = True
            self.stop(str(error).rstrip("."))
        return Trial(number=number, limit=limit, vanished=True, trouble=str(error))

    def _remove(self, container: str) -> None:
        try:
            attendant = self._attendants.pop(container, None)
            if not self._lost:
                self._engine.remove(container)
                if attendant:
                    self._engine.remove(attendant)
        except InfraError as error:
            # The engine is gone or stuck; the next run removes what this one could not.
            if not self._stopped.is_set():
                self.stop(str(error).rstrip("."))
        finally:
            with self._lock:
                self._live.discard(container)
