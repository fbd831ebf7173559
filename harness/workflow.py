"""Run a project from its matrix to its records: build what is missing, run what is missing, record every trial."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

from harness import leftovers
from harness.build.bases import Bases
from harness.build.builder import Tools
from harness.build.dockerfiles import render_cell, render_image
from harness.build.images import Built, Workshop
from harness.build.known import cell_image_name
from harness.errors import HarnessError, InfraError
from harness.judge.outcomes import Judgement, judge
from harness.plan.models import Image
from harness.plan.repros import ReproFolder
from harness.results.record import Record, Writer
from harness.run import launch, limits
from harness.run.container import ContainerSpec
from harness.run.engine import LABEL_PROJECT, LABEL_RUN, Engine
from harness.run.schedule import Job, Schedule
from harness.run.trials import Trial
from harness.show.progress import Progress
from harness.survey import Standing, Survey

# Builds spend their time in package downloads and compilers; more at once than processors only makes them wait.
BUILDS_AT_ONCE = max(2, os.cpu_count() or 1)


class Run:
    """One invocation: it owns one record file, and its containers carry its name."""

    def __init__(self, survey: Survey, engine: Engine, progress: Progress, tools: Tools) -> None:
        self._survey = survey
        self._project = survey.project
        self._engine = engine
        self._progress = progress
        self._bases = Bases(engine, self._project.state, tools)
        self._workshop = Workshop(
            engine=engine,
            state=self._project.state,
            host=survey.shelf.host,
            project=leftovers.project_id(self._project),
        )
        self.failures: dict[str, HarnessError] = {}
        self._memory = limits.memory(
            self._project.matrix.limits.memory, total=int(engine.facts().get("MemTotal", 8 << 30)),
            jobs=self._project.jobs,
        )  # fmt: skip
        self.name = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"

    def complete(self, pending: Sequence[Standing]) -> int:
        """Build and run what ``pending`` cells still miss; return how many trials said something.

        Raises InfraError when the engine or the disk ends the run; what was recorded by then stays.
        """
        runs = leftovers.runs_folder(self._project)
        runs.mkdir(parents=True, exist_ok=True)
        with leftovers.owned(self._project, self.name), contextlib.closing(Writer(runs, self.name)) as writer:
            leftovers.remove_containers(self._project, self._engine)
            leftovers.remove_scratch(self._project)
            images = self.build_images({standing.cell.image.name: standing.cell.image for standing in pending})
            ready = self._build_cells(pending, images)
            jobs = [self._job(standing) for standing in ready if standing.missing]
            trials = self._run(jobs, writer, {standing.key or "": standing for standing in ready})
        return sum(trials.values())

    # Images

    def build_images(self, images: Mapping[str, Image]) -> dict[str, Built]:
        """Build ROCm images and look inside; what could not be built is in ``failures``."""
        return self._together("images", {name: self._image_maker(image) for name, image in images.items()})

    def _image_maker(self, image: Image) -> Callable[[Callable[[str], None]], Built]:
        def make(note: Callable[[str], None]) -> Built:
            base = self._bases.provide(image.source, note)
            context = render_image(image, base, ca_bundle=self._survey.shelf.host.ca_bundle)
            return self._workshop.ensure(image.name, context, note, look_inside=True)

        return make

    def _build_cells(self, pending: Sequence[Standing], images: Mapping[str, Built]) -> list[Standing]:
        """Build the repros of all cells whose image is there and meets their needs."""
        possible = [
            replace(self._survey.standing(standing.cell, images[standing.cell.image.name], None), fresh=standing.fresh)
            for standing in pending
            if standing.cell.image.name in images
        ]
        wanted = {
            cell_image_name(s.cell.image, s.cell.repro): (s.cell.image, s.cell.repro)
            for s in possible
            if not s.unmet
        }  # fmt: skip
        built = self._together("repros", {name: self._cell_maker(*pair) for name, pair in wanted.items()})
        ready = []
        for standing in possible:
            name = cell_image_name(standing.cell.image, standing.cell.repro)
            if name in built:
                found = self._survey.standing(standing.cell, standing.image, built[name])
                ready.append(replace(found, fresh=standing.fresh))
        return ready

    def _cell_maker(self, image: Image, repro: ReproFolder) -> Callable[[Callable[[str], None]], Built]:
        def make(note: Callable[[str], None]) -> Built:
            base = self._bases.provide(image.source, note)
            context = render_cell(image, base, repro, ca_bundle=self._survey.shelf.host.ca_bundle)
            return self._workshop.ensure(cell_image_name(image, repro), context, note, look_inside=False)

        return make

    def _together(self, phase: str, makers: Mapping[str, Callable[[Callable[[str], None]], Built]]) -> dict[str, Built]:
        """Build side by side; what fails is noted, shown, and leaves the others alone."""
        built: dict[str, Built] = {}
        self._progress.phase(phase, len(makers))
        pool = ThreadPoolExecutor(BUILDS_AT_ONCE, thread_name_prefix="build")
        try:
            futures = {pool.submit(self._make, name, maker): name for name, maker in makers.items()}
            for future in as_completed(futures):
                if (result := future.result()) is not None:
                    built[futures[future]] = result
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return built

    def _make(self, name: str, maker: Callable[[Callable[[str], None]], Built]) -> Built | None:
        self._progress.begin(name)
        started = time.monotonic()
        try:
            built = maker(lambda text: self._progress.note(name, text))
        except HarnessError as error:
            self.failures[name] = error
            self._survey.shelf.note_trouble(name, str(error))
            self._progress.end(name, str(error))
            if not self._engine.answers():
                raise InfraError(str(error)) from error
            return None
        self._survey.shelf.note_trouble(name, None)
        version = f", ROCm {built.probe.rocm}" if built.probe and built.probe.rocm else ""
        self._progress.end(name, f"built{version} ({time.monotonic() - started:.1f} s)")
        return built

    # Cells

    def _job(self, standing: Standing) -> Job:
        cell = standing.cell
        matrix_limits = self._project.matrix.limits
        assert standing.built is not None  # noqa: S101 (ready cells are built)
        spec = launch.plain(cell, image=standing.built.tag, device=standing.device, limits=matrix_limits)
        labels = {LABEL_PROJECT: leftovers.project_id(self._project), LABEL_RUN: self.name}

        def describe(first: int, last: int) -> ContainerSpec:
            return launch.recorded(
                spec, first=first, last=last, timeout=cell.timeout, limits=matrix_limits, memory=self._memory,
                labels=labels,
            )  # fmt: skip

        first = max((record.trial for record in standing.records), default=0) + 1
        return Job(cell=cell, key=standing.key or "", first=first, last=first + standing.missing - 1, spec=describe)

    def _run(self, jobs: Sequence[Job], writer: Writer, standings: Mapping[str, Standing]) -> dict[str, int]:
        """Run the jobs and record their trials; return how many trials each key got that said something."""
        told: dict[str, int] = {}
        results: dict[str, list[str]] = {}
        self._progress.phase("cells", len(jobs))

        def report(job: Job, trial: Trial) -> bool:
            judgement = judge(trial, build_is_experiment=job.cell.repro.spec.regressed_when == "build")
            writer.append(self._record(standings[job.key], trial, judgement))
            says_something = judgement.outcome.value != "infra"
            words = results.setdefault(job.key, [])
            words.append(judgement.signature or judgement.outcome.value)
            if says_something:
                told[job.key] = told.get(job.key, 0) + 1
            if trial.number == job.last or not says_something:
                self._progress.end(job.cell.name, _summary(judgement, len(words)))
            return says_something

        schedule = Schedule(
            self._engine, jobs=self._project.jobs, report=report,
            started=lambda job: self._progress.begin(job.cell.name),
        )  # fmt: skip
        with limits.DiskWatch(self._engine.facts(), schedule.stop):
            schedule.run(jobs)
        return told

    def _record(self, standing: Standing, trial: Trial, judgement: Judgement) -> Record:
        cell = standing.cell
        assert standing.built is not None  # noqa: S101
        return Record(
            run=self.name,
            time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            key=standing.key or "",
            repro=cell.repro.name,
            case=dict(cell.case.params),
            control=cell.case.control,
            image=cell.image.name,
            image_id=standing.built.image_id,
            rocm=standing.rocm,
            device=standing.device.label,
            home=cell.home.name,
            environment=cell.environment.name,
            trial=trial.number,
            outcome=judgement.outcome,
            signature=judgement.signature,
            reason=judgement.reason,
            status=trial.status,
            duration=trial.duration,
            stdout=trial.stdout.text,
            stderr=trial.stderr.text,
            observations=dict(judgement.observations),
            metrics=tuple(metric.__dict__ for metric in judgement.metrics),
        )


def _summary(judgement: Judgement, trials: int) -> str:
    word = judgement.outcome.value
    if detail := judgement.signature or judgement.reason:
        word += f": {detail}"
    return word if trials == 1 else f"{word} (last of {trials} trials)"
