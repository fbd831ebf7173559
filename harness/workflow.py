"""Run a project from its matrix to its records: build what is missing, run what is missing, record every trial."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace

from harness import leftovers, rooms
from harness.build import nfslike, softgpu
from harness.build.dockerfiles import render_cell, render_image
from harness.build.images import Built
from harness.build.known import cell_image_name
from harness.errors import ConfigError, HarnessError, InfraError
from harness.plan.devices import AutoDevice, GpuDevice
from harness.plan.models import Image
from harness.plan.repros import ReproFolder
from harness.recording import Recording
from harness.results.record import Writer
from harness.rooms import Rooms
from harness.run import hosts, launch, limits
from harness.run.container import ContainerSpec
from harness.run.engine import LABEL_PROJECT, LABEL_RUN
from harness.run.passthrough import passage
from harness.run.schedule import Job, Schedule
from harness.run.topology import Gpu
from harness.show.progress import Progress
from harness.site import Site
from harness.survey import Standing, Survey, columns

# Builds spend their time in package downloads and compilers; more at once than processors only makes them wait.
BUILDS_AT_ONCE = max(2, os.cpu_count() or 1)


_POLL = 0.2
_PATIENCE = 5.0
_ITS_GPUS = "its GPUs"

Maker = Callable[[Callable[[str], None]], tuple[Built, bool]]  # makes an image; says whether it was not there


def new_name() -> str:
    """Name one invocation; names sort by time."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"


class Run:
    """One invocation on one host: its containers carry the invocation's name, its trials go to that record file."""

    def __init__(self, survey: Survey, site: Site, progress: Progress, name: str) -> None:
        self._survey = survey
        self._project = survey.project
        self._site = site
        self._engine = site.engine
        self._progress = progress
        self._bases = site.bases
        self._workshop = site.workshop
        self._stopped = threading.Event()
        self._schedule: Schedule | None = None
        self.failures: dict[str, HarnessError] = {}
        self._facts = site.engine.facts()
        self.name = name
        self._engine.labels = {LABEL_PROJECT: leftovers.project_id(self._project), LABEL_RUN: name}

    def complete(self, pending: Sequence[Standing]) -> None:
        """Build and run what ``pending`` cells still miss; what could not be built is in ``failures``.

        Raises InfraError when the engine or the disk ends the run; what was recorded by then stays.
        """
        runs = leftovers.runs_folder(self._project)
        runs.mkdir(parents=True, exist_ok=True)
        with leftovers.owned(self._project, self.name), contextlib.closing(Writer(runs, self.name)) as writer:
            self.carry_out(pending, writer)

    def carry_out(self, pending: Sequence[Standing], writer: Writer) -> None:
        """Do as ``complete`` does, in a run that is owned and written by the caller."""
        leftovers.remove_containers(self._project, self._engine)
        leftovers.remove_scratch(self._project)
        pending = self._looked_at(pending)
        pending = [standing for standing in pending if self._reaches(standing)]
        images = self._provide(pending)
        made = self._rooms(pending, images)
        possible = [s for s in pending if s.cell.home.name in made.grants]
        ready = self._build_cells([s for s in possible if not s.given.software or softgpu.NAME in images], images)
        # Cells that no difference tells apart share a key, and one set of trials serves them all.
        try:
            self._run({standing.key: standing for standing in ready if standing.key and standing.missing}, writer, made)
        finally:
            made.release()

    def stop(self, reason: str) -> None:
        """End the run early, from another thread: kill what runs, start nothing more."""
        self._stopped.set()
        if self._schedule:
            self._schedule.stop(reason)

    # The host

    def _reaches(self, standing: Standing) -> bool:
        """Tell, before anything is built, whether the engine can hand a cell its GPUs; ``failures`` has the reason."""
        try:
            passage(standing.given, standing.given.gpus, self._facts)
        except HarnessError as error:
            self.failures[standing.cell.device.name] = error
            return False
        return True

    def _looked_at(self, pending: Sequence[Standing]) -> Sequence[Standing]:
        """Look at a host that is elsewhere, and return the cells with the devices that it really has."""
        host = self._site.host
        if host is None or not any(isinstance(s.cell.device, AutoDevice | GpuDevice) for s in pending):
            return pending
        self._look(host, pending)
        grants = {d.name: columns(d, self._project) for d in self._project.matrix.devices if d.host == host}
        self._survey = replace(self._survey, grants={**self._survey.grants, **grants})
        for name in {s.cell.device.name for s in pending}:
            if reason := grants[name][0].absent:
                self.failures[name] = ConfigError(reason)
        # What was one column, of a device not yet seen, may be several.
        cells = {id(s.cell): s for s in pending}.values()
        found = [
            replace(self._survey.standing(s.cell, column, s.image, s.built), fresh=s.fresh)
            for s in cells
            for column in grants[s.cell.device.name]
        ]
        return [standing for standing in found if standing.missing and not standing.given.absent]

    def _look(self, host: str, pending: Sequence[Standing]) -> None:
        """Look from a container of the first base that can be had: some base has to be there anyway."""
        self._progress.phase("host", 1)
        self._progress.begin(_ITS_GPUS)
        error: HarnessError = InfraError("no image")
        for source in {s.cell.image.name: s.cell.image.source for s in pending}.values():
            try:
                base = self._bases.provide(source, lambda text: self._progress.note(_ITS_GPUS, text))
                seen = hosts.look(self._engine, base.reference, self._project.state, host)
            except HarnessError as failed:
                error = failed
                if not self._engine.answers():
                    break
            else:
                shown = ", ".join(gpu.gfx for gpu in seen.topology.gpus) or "no AMD GPU"
                self._progress.end(_ITS_GPUS, f"{shown}; Linux {seen.kernel}")
                return
        self._progress.end(_ITS_GPUS, str(error))
        raise error

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
        self._site.shelf.note_trouble(name, str(error) if error else None)
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
            replace(
                self._survey.standing(standing.cell, standing.device, images[standing.cell.image.name], None),
                fresh=standing.fresh,
            )
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
                found = self._survey.standing(standing.cell, standing.device, standing.image, built[name])
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
            left = set(futures)
            while left:
                done, left = wait(left, timeout=_POLL, return_when=FIRST_COMPLETED)
                for future in done:
                    if (result := future.result()) is not None:
                        built[futures[future]] = result
                if self._stopped.is_set():
                    pool.shutdown(wait=False, cancel_futures=True)
                    # A look into an image ends soon, and removes its container when it may.
                    wait(left, timeout=_PATIENCE)
                    raise InfraError("The run was stopped: interrupted.")
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
            self._site.shelf.note_trouble(name, str(error))
            self._progress.end(name, str(error))
            if not self._engine.answers():
                raise InfraError(str(error)) from error
            return None
        self._site.shelf.note_trouble(name, None)
        version = f", ROCm {built.probe.rocm}" if built.probe and built.probe.rocm else ""
        did = f"built in {time.monotonic() - started:.0f} s" if made_now else "there already"
        self._progress.end(name, f"{did}{version}")
        return built

    # Cells

    def _job(self, key: str, standing: Standing, made: Rooms) -> Job:
        cell = standing.cell
        matrix_limits = self._project.matrix.limits
        assert standing.built is not None  # noqa: S101 (ready cells are built)
        image, given, home = standing.built.tag, standing.given, made.grants[cell.home.name]

        def describe(first: int, last: int, nonce: str, held: tuple[Gpu, ...]) -> ContainerSpec:
            spec = launch.plain(
                cell, image=image, device=given, matrix=self._project.matrix, home=home, held=held, facts=self._facts
            )
            return launch.recorded(
                spec, first=first, last=last, timeout=cell.timeout, limits=matrix_limits, memory=self._site.memory,
                nonce=nonce, labels=self._engine.labels,
            )  # fmt: skip

        first = max((record.trial for record in standing.records), default=0) + 1
        return Job(
            name=standing.name, cell=cell, key=key, first=first, last=first + standing.missing - 1, spec=describe,
            gpus=given.gpus, together=given.together,
        )  # fmt: skip

    def _run(self, standings: Mapping[str, Standing], writer: Writer, made: Rooms) -> None:
        jobs = [self._job(key, standing, made) for key, standing in standings.items()]
        recording = Recording(self.name, writer, standings, made.means)
        self._progress.phase("cells", len(jobs))
        schedule = self._schedule = Schedule(
            self._engine,
            jobs=self._site.jobs,
            report=recording.report,
            started=lambda job: self._progress.begin(job.name),
            finished=lambda job: self._progress.end(job.name, recording.summary(job)),
            waiting=lambda gpus: self._progress.say(f"waiting for {gpus}, which another run holds"),
            gpus=len({gpu.render for job in jobs for gpu in job.gpus}),
            host=self._site.host,
        )
        if self._stopped.is_set():
            schedule.stop("interrupted")
        # The disk of another host is not ours to see: a folder of the same name here is another one.
        is_here = self._engine.endpoint.url.startswith("unix://")
        watch = limits.DiskWatch(self._facts, schedule.stop) if is_here else None
        with watch or contextlib.nullcontext():
            schedule.run(jobs)
