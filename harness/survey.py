"""See what a project's records and built images say of its cells, without an engine."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from packaging.specifiers import SpecifierSet

from harness.build import softgpu
from harness.build.host import from_environment
from harness.build.images import Built
from harness.build.known import Shelf, cell_image_name
from harness.build.probe import lie, mixed, parse_version
from harness.judge.verdicts import Verdict
from harness.plan.cells import Cell, Identity, key
from harness.plan.devices import AutoDevice, Device
from harness.plan.hosts import folder, short_names
from harness.plan.project import Project
from harness.results import query
from harness.results.record import Record, files, read
from harness.run import devices, homes, hosts
from harness.run.grants import NOTHING, DeviceGrant

THE_HOST = "its host"  # of what keeps a host from giving any answer; a blank is in no name that a matrix gives
_OF_DEVICES = frozenset({"device", "no-device", "hardware", "kernels", "xnack"})


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What is known of one cell: its key once its image is built, its records, and why it is skipped if it is.

    ``device`` is the device of its column, ``given`` what of it the repro really gets.
    """

    cell: Cell
    device: DeviceGrant
    given: DeviceGrant
    image: Built | None = None
    built: Built | None = None
    key: str | None = None
    records: Sequence[Record] = ()
    unmet: str | None = None
    trouble: str | None = None
    fresh: bool = False

    @property
    def name(self) -> str:
        """Return the cell's name, with the column where its device makes several."""
        return f"{self.cell.name} / {self.device.unit}" if self.device.unit else self.cell.name

    @property
    def missing(self) -> int:
        """Return how many trials are still to run; all of them when the cell is to be run afresh."""
        told = 0 if self.fresh else query.told(self.records)
        return 0 if self.unmet else max(self.cell.trials - told, 0)

    @property
    def without_device(self) -> bool:
        """Tell whether the repro needs to have no device, and so got none although its column has one."""
        return "no-device" in self.cell.repro.spec.needs and self.given is NOTHING and self.device is not NOTHING

    @property
    def rocm(self) -> str:
        """Return the ROCm version that was found inside the image, or an empty string."""
        return self.image.probe.rocm if self.image and self.image.probe else ""

    def result(self) -> query.Result:
        """Sum up the cell."""
        cell = self.cell
        place = query.Place(
            image=cell.image.name, device=self.device.label, home=homes.label(cell.home, cell.device.host),
            environment=cell.environment.name,
        )  # fmt: skip
        summary = query.result(
            self.records, repro=cell.repro.name, case=dict(cell.case.params), control=cell.case.control,
            place=place, rocm=self.rocm, wanted=cell.trials, robust_to=cell.repro.spec.robust_to,
            without_device=self.without_device,
        )  # fmt: skip
        if self.unmet:
            return replace(summary, verdict=Verdict(word="skip", reason=self.unmet))
        if not self.records and (trouble := self.given.absent or self.trouble):
            return replace(summary, verdict=Verdict(word="inconclusive", reason=trouble))
        return summary


@dataclass(frozen=True, kw_only=True)
class Survey:
    """The standing of every cell of a project, in the order of the matrix."""

    project: Project
    shelf: Shelf
    grants: Mapping[str, Sequence[DeviceGrant]]
    records: Mapping[str, list[Record]] = field(default_factory=dict)

    def standings(self) -> list[Standing]:
        """Return the standing of every cell."""
        images: dict[tuple[str | None, str], Built | None] = {}
        built: dict[tuple[str | None, str], Built | None] = {}
        found = []
        for cell in self.project.cells:
            shelf = self.shelf_of(cell.device.host)
            image = (cell.device.host, cell.image.name)
            repro = (cell.device.host, cell_image_name(cell.image, cell.repro))
            if image not in images:
                images[image] = shelf.image(cell.image)
            if repro not in built:
                built[repro] = shelf.cell_image(cell.image, cell.repro)
            for device in self.grants[cell.device.name]:
                found.append(self.standing(cell, device, images[image], built[repro]))
        return found

    def shelf_of(self, host: str | None) -> Shelf:
        """Return what is recorded of the images on a host's engine."""
        return replace(self.shelf, state=folder(self.shelf.state, host))

    def standing(self, cell: Cell, device: DeviceGrant, image: Built | None, built: Built | None) -> Standing:
        """Return the standing of one cell in one column of its device, given what is known of its images."""
        given, matrix, host = granted(cell, device), self.project.matrix, cell.device.host
        # Two engines can hold the very same image, and yet are two places.
        place = {**given.identity, "host": host} if host else given.identity
        identity = (
            Identity(
                image_id=built.image_id, device=place, home=homes.identity(cell.home, host), limits=matrix.limits,
                container=matrix.container,
            )
            if built
            else None
        )  # fmt: skip
        name = key(cell, identity) if identity else None
        needed = [cell.image.name, cell_image_name(cell.image, cell.repro), *([softgpu.NAME] if given.software else [])]
        needed.append(homes.trouble_name(cell.home))
        shelf = self.shelf_of(host)
        return Standing(
            cell=cell,
            device=device,
            given=given,
            image=image,
            built=built,
            key=name,
            records=self.records.get(name, ()) if name else (),
            unmet=unmet(cell, given, image),
            trouble=next(filter(None, map(shelf.trouble, [THE_HOST, *needed])), given.absent),
        )

    def results(self, containing: str = "") -> list[query.Result]:
        """Sum up the cells whose name contains a text, controls taken into account."""
        standings = self.standings()
        results = query.with_controls([standing.result() for standing in standings])
        return [item for standing, item in zip(standings, results, strict=True) if containing in standing.name]

    def notes(self) -> list[str]:
        """Return what a reader of any table must know: wider containers, images that lie or are of mixed releases."""
        wider = self.project.matrix.container.text
        notes = [f"the matrix gives containers more than the least: {wider}"] if wider else []
        names = host_names(self.project)
        for image, host in itertools.product(self.project.matrix.images, names):
            built = self.shelf_of(host).image(image)
            if built is None or built.probe is None:
                continue
            for finding in (lie(image.rocm, built.probe), mixed(built.probe)):
                if finding:
                    notes.append(f"{_at(image.name, names[host])}: {finding}")
        return notes


def granted(cell: Cell, device: DeviceGrant) -> DeviceGrant:
    """Return what a cell really gets of its device.

    A build has no use for one, so that all devices share its result; and ``auto`` gives none to a repro that needs to
    have none.
    """
    spec = cell.repro.spec
    wants_none = isinstance(cell.device, AutoDevice) and "no-device" in spec.needs
    builds = spec.regressed_when == "build" and not _OF_DEVICES.intersection(spec.needs)
    return NOTHING if wants_none or builds else device


def unmet(cell: Cell, grant: DeviceGrant, image: Built | None) -> str | None:
    """Say which need of a repro its cell does not meet; what depends on an image not yet built is left open."""
    for need in cell.repro.spec.needs:
        if need in _OF_DEVICES and need not in grant.offers:
            return f"needs {need}; device {grant.label} does not offer it"
        # What a repro adds by packages of its own is in no probe of the image.
        brings_own = bool(cell.repro.spec.packages)
        if need not in _OF_DEVICES and not brings_own and image and image.probe and need not in image.probe.offers:
            return f"needs {need}, which the image does not hold"
    return None


def claims(results: Sequence[query.Result], project: Project) -> list[str]:
    """Compare what was measured with what a repro's references claim; a difference is worth a footnote, no more."""
    affected = {repro.name: repro.spec.affected for repro in project.repros}
    notes = []
    for item in results:
        claimed, version = affected.get(item.repro), parse_version(item.rocm)
        if item.control or not claimed or version is None or item.verdict.word not in {"pass", "fail", "flaky"}:
            continue
        expected = "fail" if SpecifierSet(claimed).contains(version, prereleases=True) else "pass"
        if (item.verdict.word == "pass") != (expected == "pass"):
            notes.append(
                f"{item.name} on {item.place.image}: the references say that ROCm {claimed} is affected, "
                f"so {expected} was expected on {item.rocm}; measured: {item.verdict.text}"
            )
    return notes


def host_names(project: Project) -> dict[str | None, str]:
    """Return the hosts of a matrix in its order, each with the name that tables show.

    There is none for the engine of this run, which has no name, nor where all is on one host.
    """
    named = list(dict.fromkeys(device.host for device in project.matrix.devices))
    short = short_names(host for host in named if host)
    return {host: short[host] if host and len(named) > 1 else "" for host in named}


def _at(text: str, host: str) -> str:
    return f"{text} @ {host}" if host else text


def columns(device: Device, project: Project) -> tuple[DeviceGrant, ...]:
    """Return a grant for each column of ``device``, labelled with its host where there are several."""
    if device.host is None:
        return devices.grants(device)
    name = host_names(project)[device.host]
    found = devices.far(device, hosts.seen(project.state, device.host))
    return tuple(replace(given, label=_at(given.label, name)) for given in found)


def survey(project: Project) -> Survey:
    """Read records and built images of a project."""
    grants = {device.name: columns(device, project) for device in project.matrix.devices}
    shelf = Shelf(state=project.state, host=from_environment())
    records = query.by_key(read(files(project.state / "runs")))
    return Survey(project=project, shelf=shelf, grants=grants, records=records)
