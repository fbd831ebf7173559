"""Run a project from its matrix to its records: build what is missing, run what is missing, record every trial."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

from harness import leftovers, rooms
from harness.build import nfslike, softgpu
from harness.build.bases import Bases
from harness.build.builder import Tools
from harness.build.dockerfiles import render_cell, render_image
from harness.build.images import Built, Workshop
from harness.build.known import cell_image_name
from harness.errors import HarnessError, InfraError
from harness.plan.models import Image
from harness.plan.repros import ReproFolder
from harness.recording import Recording
from harness.results.record import Writer
from harness.rooms import Rooms
from harness.run import launch, limits
from harness.run.container import ContainerSpec
from harness.run.engine import LABEL_PROJECT, LABEL_RUN, Engine
from harness.run.schedule import Job, Schedule
from harness.show.progress import Progress
from harness.survey import Standing, Survey

# Builds spend their time in package downloads and compilers; more at once than processors only makes them wait.
BUILDS_AT_ONCE = max(2, os.cpu_count() or 1)


Maker = Callable[[Callable[[str], None]], tuple[Built, bool]]  # makes an image; says whether it was not there


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
        engine.labels = {LABEL_PROJECT: leftovers.project_id(self._project), LABEL_RUN: self.name}

    def complete(self, pending: Sequence[Standing]) -> None:
        """Build and run what ``pending`` cells still miss; what could not be built is in ``failures``.

        Raises InfraError when the engine or the disk ends the run; what was recorded by then stays.
        """
        runs = leftovers.runs_folder(self._project)
        runs.mkdir(parents=True, exist_ok=True)
        with leftovers.owned(self._project, self.name), contextlib.closing(Writer(runs, self.name)) as writer:
            leftovers.remove_containers(self._project, self._engine)
            leftovers.remove_scratch(self._project)
            images = self._provide(pending)
            made = self._rooms(pending, images)
            possible = [s for s in pending if s.cell.home.name in made.grants]
            ready = self._build_cells([s for s in possible if not s.given.software or softgpu.NAME in images], images)
            # Cells that no difference tells apart share a key, and one set of trials serves them all.
            try:
                self._run(
                    {standing.key: standing for standing in ready if standing.key and standing.missing}, writer, made
                )
            finally:
                made.release()

    # Images

    def build_images(self, images: Mapping[str, Image]) -> dict[str, Built]:
        """Build ROCm images and look inside; what could not be built is in ``failures``."""
        return self._together("images", {name: self._image_maker(image) for name, image in images.items()})

    def _provide(self, pending: Sequence[Standing]) -> dict[str, Built]:
        """Build the ROCm images of some cells, and the software GPU where one of them runs on it."""
        makers = {s.cell.image.name: self._image_maker(s.cell.image) for s in pending}
        if any(standing.given.software and not standing.unmet for standing in pending):
            makers[softgpu.NAME] = self._softgpu_maker()
        if any(rooms.served(standing.cell.home) and not standing.unmet for standing in pending):
            makers[nfslike.NAME] = self._nfslike_maker()
        return self._together("images", makers)

    def _softgpu_maker(self) -> Maker:
        def make(note: Callable[[str], None]) -> tuple[Built, bool]:
            where = softgpu.source(self._project.matrix.images)
            base = self._bases.provide(where, note)
            ca_bundle = self._survey.shelf.host.ca_bundle
            return softgpu.provide(self._workshop, self._engine, where, base, note, ca_bundle)

        return make

    def _nfslike_maker(self) -> Maker:
        def make(note: Callable[[str], None]) -> tuple[Built, bool]:
            where = softgpu.source(self._project.matrix.images, nfslike.PACKAGES)
            base = self._bases.provide(where, note)
            return nfslike.provide(self._workshop, where, base, note, self._survey.shelf.host.ca_bundle)

        return make

    def _rooms(self, pending: Sequence[Standing], images: Mapping[str, Built]) -> Rooms:
        """See to the homes of those cells whose image is there."""
        program = images.get(nfslike.NAME)
        found = [s for s in pending if s.cell.image.name in images and not s.unmet]
        made = Rooms(
            engine=self._engine,
            image=images[found[0].cell.image.name].image_id if found else "",
            program=program.image_id if program else None,
            failed=self._home_failed,
        )
        made.prepare({s.cell.home.name: s.cell.home for s in found})
        return made

    def _home_failed(self, name: str, error: HarnessError | None) -> None:
        self._survey.shelf.note_trouble(name, str(error) if error else None)
        if error:
            self.failures[name] = error

    def _image_maker(self, image: Image) -> Maker:
        def make(note: Callable[[str], None]) -> tuple[Built, bool]:
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

    def _cell_maker(self, image: Image, repro: ReproFolder) -> Maker:
        def make(note: Callable[[str], None]) -> tuple[Built, bool]:
            base = self._bases.provide(image.source, note)
            context = render_cell(image, base, repro, ca_bundle=self._survey.shelf.host.ca_bundle)
            return self._workshop.ensure(cell_image_name(image, repro), context, note, look_inside=False)

        return make

    def _together(self, phase: str, makers: Mapping[str, Maker]) -> dict[str, Built]:
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

    def _make(self, name: str, maker: Maker) -> Built | None:
        self._progress.begin(name)
        started = time.monotonic()
        try:
            built, made_now = maker(lambda text: self._progress.note(name, text))
        except HarnessError as error:
            self.failures[name] = error
            self._survey.shelf.note_trouble(name, str(error))
            self._progress.end(name, str(error))
            if not self._engine.answers():
                raise InfraError(str(error)) from error
            return None
        self._survey.shelf.note_trouble(name, None)
        version = f", ROCm {built.probe.rocm}" if built.probe and built.probe.rocm else ""
        did = f"built in {time.monotonic() - started:.0f} s" if made_now else "there already"
        self._progress.end(name, f"{did}{version}")
        return built

    # Cells

    def _job(self, key: str, standing: Standing, made: Rooms) -> Job:
        cell = standing.cell
        matrix_limits = self._project.matrix.limits
        assert standing.built is not None  # noqa: S101 (ready cells are built)
        spec = launch.plain(
            cell, image=standing.built.tag, device=standing.given, limits=matrix_limits,
            home=made.grants[cell.home.name],
        )  # fmt: skip

        def describe(first: int, last: int, nonce: str) -> ContainerSpec:
            return launch.recorded(
                spec, first=first, last=last, timeout=cell.timeout, limits=matrix_limits, memory=self._memory,
                nonce=nonce, labels=self._engine.labels,
            )  # fmt: skip

        first = max((record.trial for record in standing.records), default=0) + 1
        return Job(cell=cell, key=key, first=first, last=first + standing.missing - 1, spec=describe)

    def _run(self, standings: Mapping[str, Standing], writer: Writer, made: Rooms) -> None:
        jobs = [self._job(key, standing, made) for key, standing in standings.items()]
        recording = Recording(self.name, writer, standings, made.means)
        self._progress.phase("cells", len(jobs))
        schedule = Schedule(
            self._engine,
            jobs=self._project.jobs,
            report=recording.report,
            started=lambda job: self._progress.begin(job.cell.name),
            finished=lambda job: self._progress.end(job.cell.name, recording.summary(job)),
        )
        with limits.DiskWatch(self._engine.facts(), schedule.stop):
            schedule.run(jobs)
