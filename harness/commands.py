"""What each command does, as one function: read the project, act, return the text to print."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from rich.console import Console

from harness.errors import ConfigError, HarnessError, InfraError
from harness.plan.hosts import folder
from harness.plan.loading import load
from harness.plan.models import Matrix
from harness.plan.project import Project, read
from harness.results import query
from harness.results.record import read as read_records
from harness.show import formats
from harness.show.progress import Progress, view
from harness.show.tables import differing, lay_out
from harness.survey import Standing, Survey, claims, host_names, survey

if TYPE_CHECKING:
    from harness.build.images import Built
    from harness.run.endpoints import Endpoint

CONSOLE = Console(stderr=True, highlight=False)


def plan(matrix: Path, *, containing: str, with_commands: bool, as_json: bool) -> str:
    """List cells with what is cached; with their commands when asked."""
    project = read(matrix)
    standings = [s for s in survey(project).standings() if containing in s.name]
    if as_json:
        return json.dumps([_planned(project, standing, with_commands) for standing in standings], indent=1)
    lines = [_plan_line(standing) for standing in standings]
    if with_commands:
        lines = [
            f"{line}\n  {_build_line(project, standing)}\n  {_run_line(project, standing)}"
            for line, standing in zip(lines, standings, strict=True)
        ]
    trials = sum(standing.missing for standing in standings)
    cells = sum(standing.missing > 0 for standing in standings)
    return "\n".join([*lines, f"{len(standings)} cells; {trials} trials of {cells} cells are still to run"])


def _plan_line(standing: Standing) -> str:
    if standing.unmet:
        state = f"skip: {standing.unmet}"
    elif standing.given.absent and standing.cell.device.host is None:
        state = f"cannot run here: {standing.given.absent}"
    elif standing.key is None:
        state = f"to build, then {standing.cell.trials} to run"
        if standing.trouble:
            before = "" if standing.trouble == standing.given.absent else "the last time: "
            state += f" ({before}{standing.trouble})"
    elif standing.missing:
        state = f"built, {standing.missing} to run"
    else:
        state = f"cached: {standing.result().verdict.text}"
    return f"{standing.name}: {state}"


def _planned(project: Project, standing: Standing, with_commands: bool) -> dict[str, Any]:
    planned = {
        **standing.cell.coordinates(),
        "device": standing.device.label,
        "key": standing.key,
        "trials": standing.cell.trials,
        "missing": standing.missing,
        "skip": standing.unmet,
        "rocm": standing.rocm or None,
    }
    if with_commands:
        planned |= {"build": _build_line(project, standing), "run": _run_line(project, standing)}
    return planned


def _build_line(project: Project, standing: Standing) -> str:
    import shlex

    from harness.build.known import cell_image_name

    if standing.built is None:
        return "# not built yet: `harness run` writes its Dockerfile"
    host = standing.cell.device.host
    name = cell_image_name(standing.cell.image, standing.cell.repro)
    written = folder(project.state, host) / "images" / name
    shown = written.relative_to(Path.cwd()) if written.is_relative_to(Path.cwd()) else written
    engine = ["-H", host] if host else []
    return shlex.join(["docker", *engine, "build", "--network", "host", "-t", standing.built.tag, str(shown)])


def _run_line(project: Project, standing: Standing) -> str:
    from harness.run import launch
    from harness.run.container import docker_run

    image = standing.built.tag if standing.built else "IMAGE"
    try:
        spec = launch.plain(standing.cell, image=image, device=standing.given, matrix=project.matrix)
    except HarnessError as error:
        return f"# {error}"
    line, host = docker_run(spec), standing.cell.device.host
    line = line.replace("docker ", f"docker -H {host} ", 1) if host else line
    remark = "  # its home without what restricts it: only `harness run` can serve that"
    return line + (remark if spec.attendant or spec.seccomp or spec.owner else "")


def images(matrix: Path, override: str | None, *, as_json: bool) -> str:
    """Build every ROCm image on every host of the matrix, and show what was found inside."""
    from harness.show.images import listed

    project = read(matrix)
    names = host_names(project)
    texts, failures = dict[str, str](), list[HarnessError]()
    for host, name in names.items():
        try:
            built, failed = _images_of(survey(project), host, override)
        except InfraError as error:
            if len(names) == 1:
                raise
            built, failed = {}, [error]
        failures += failed
        texts[name or "here"] = listed(project.matrix.images, built, as_json=as_json)
    text = _of_hosts(texts, as_json=as_json)
    if failures:
        print(text)
        _print_errors(error for error in failures if error is not worst(failures))
        raise worst(failures)
    return text


def _images_of(here: Survey, host: str | None, override: str | None) -> tuple[dict[str, Built], list[HarnessError]]:
    from harness.site import opened
    from harness.workflow import Run, new_name

    with _progress() as progress, opened(here, host, override, progress.say) as site:
        workflow = Run(here, site, progress, new_name())
        built = workflow.build_images({image.name: image for image in here.project.matrix.images})
    return built, list(workflow.failures.values())


def _of_hosts(texts: Mapping[str, str], *, as_json: bool) -> str:
    """Join what is said of each host; of one host alone it is said without its name."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    if as_json:
        return json.dumps({name: json.loads(text) for name, text in texts.items()}, indent=1)
    return "\n\n".join(f"{name}:\n{text}" for name, text in texts.items())


def run(matrix: Path, override: str | None, *, containing: str, fresh: bool, fail: bool) -> tuple[int, str]:
    """Complete the matrix and return the exit status with the table of the cells that were chosen.

    Raises ConfigError or InfraError when nothing could be run at all.
    """
    from harness import leftovers

    project = read(matrix)
    here = survey(project)
    chosen = _chosen(here, containing, fresh=fresh)
    _require_devices(chosen)

    def wait() -> None:
        _say("waiting for another run of this project to end")

    with _terminable(), leftovers.alone(project, wait=wait) as waited:
        if waited:
            here = survey(project)
            chosen = _chosen(here, containing, fresh=fresh)
        errors = _complete(here, override, chosen)
    here = survey(project)
    left = sum(standing.missing > 0 for standing in _chosen(here, containing, fresh=False))
    if left and not errors:
        errors = [InfraError(f"{left} cells got no answer; the footnotes say why. `harness run` tries them again.")]
    _print_errors(errors)
    results = here.results(containing)
    failed = any(item.verdict.word in {"fail", "flaky"} and not item.control for item in results)
    status = worst(errors).exit_status if errors else 1 if fail and failed else 0
    return status, _written(here, results, "terminal", only_differing=False)


def _require_devices(chosen: Sequence[Standing]) -> None:
    """Refuse a run for which this host lacks a device; what another host has is only known once that was looked at."""
    for standing in chosen:
        if standing.missing and standing.given.absent and standing.cell.device.host is None:
            raise ConfigError(standing.given.absent)


def _chosen(here: Survey, containing: str, *, fresh: bool = False) -> list[Standing]:
    chosen = [replace(standing, fresh=fresh) for standing in here.standings() if containing in standing.name]
    if not chosen:
        raise ConfigError(f"--cell {containing}: no cell has this in its name; `harness plan` lists the names")
    return chosen


def _complete(here: Survey, override: str | None, chosen: Sequence[Standing]) -> list[HarnessError]:
    """Run what the chosen cells miss; return what kept images from being built."""
    from harness.fleet import complete

    pending = [standing for standing in chosen if standing.missing]
    if not pending:
        return []
    with _progress() as progress:
        return complete(here, override, pending, progress)


def worst(errors: Sequence[HarnessError]) -> HarnessError:
    """Return the error whose exit status a command should end with: what the user can mend comes first."""
    return min(errors, key=lambda error: error.exit_status)


def _print_errors(errors: Iterable[HarnessError]) -> None:
    for error in errors:
        CONSOLE.print(f"error: {error}", markup=False, soft_wrap=True)


def table(matrix: Path, form: str, *, only_differing: bool, records: Sequence[Path]) -> str:
    """Return the table in the format asked for: of the matrix, or of record files alone."""
    if not records:
        here = survey(read(matrix))
        return _written(here, here.results(), form, only_differing=only_differing)
    for path in records:
        if not path.is_file():
            raise ConfigError(f"{path}: there is no such record file")
    return _formatted(query.from_records(read_records(records)), form, only_differing=only_differing, notes=[])


def _written(here: Survey, results: Sequence[query.Result], form: str, *, only_differing: bool) -> str:
    notes = [*here.notes(), *claims(results, here.project)]
    return _formatted(results, form, only_differing=only_differing, notes=notes)


def _formatted(results: Sequence[query.Result], form: str, *, only_differing: bool, notes: Sequence[str]) -> str:
    shown = differing(results) if only_differing else list(results)
    if form == "json":
        return formats.as_json(shown)
    laid_out = lay_out(shown, notes=notes)
    match form:
        case "github":
            return formats.github(laid_out)
        case "csv":
            return formats.comma_separated(laid_out)
        case _:
            return formats.terminal(laid_out, width=shutil.get_terminal_size((200, 50)).columns)


def clean(matrix: Path, override: str | None, *, engine: bool, images: bool, records: bool) -> None:
    """Remove leftovers of ended runs; images, records, and the engine that we started only where asked."""
    from harness import leftovers
    from harness.run import daemon
    from harness.run.endpoints import Endpoint
    from harness.run.engine import present

    project = read(matrix)
    leftovers.remove_scratch(project)
    if (there := present(override, _say)) is None:
        _say("no container engine answers; containers and images of ours, if any, stay until one does")
    else:
        _clean_engine(project, there, images=images)
    for host in filter(None, host_names(project)):
        try:
            _clean_engine(project, Endpoint(url=host, source="the matrix"), images=images)
        except InfraError as error:
            _say(f"{error} What is ours there stays.")
    with leftovers.alone(project, wait=None) if records or engine else nullcontext():
        if records:
            shutil.rmtree(leftovers.runs_folder(project), ignore_errors=True)
            _say("removed the records of all runs")
        if engine and not daemon.stop(project.state, _say):
            _say("no container engine was started here; nothing to stop")


def _clean_engine(project: Project, endpoint: Endpoint, *, images: bool) -> None:
    from harness import leftovers
    from harness.run.engine import Engine

    where = "" if endpoint.source != "the matrix" else f" of {endpoint.url}"
    with closing(Engine(endpoint)) as client:
        _say(f"removed {leftovers.remove_containers(project, client)} containers of ended runs{where}")
        if images:
            _say(f"removed {leftovers.remove_images(project, client)} images{where}")


def devices(sysfs: Path, *, as_json: bool) -> str:
    """List the GPUs that a sysfs tree tells of."""
    from harness.run.topology import discover
    from harness.show.devices import listed

    if not sysfs.is_dir():
        raise ConfigError(f"--sysfs {sysfs}: there is no such folder; give the copy of a host's /sys")
    return listed(discover(sysfs), as_json=as_json)


def doctor(matrix: Path, override: str | None, *, as_json: bool) -> tuple[int, str]:
    """Return the findings, and the status of infrastructure trouble where something is missing."""
    from harness.doctor import as_objects, as_text, examine

    findings = examine(matrix, override)
    missing = any(finding.state == "error" for finding in findings)
    text = json.dumps(as_objects(findings), indent=1) if as_json else as_text(findings)
    return (InfraError.exit_status if missing else 0), text


def schema() -> str:
    """Return the JSON Schema of the matrix."""
    return json.dumps(Matrix.model_json_schema(), indent=1)


def new(matrix: Path, name: str, *, program: str) -> str:
    """Scaffold a reproducer and say what to do next."""
    from harness.plan.scaffold import scaffold

    folder = scaffold(matrix.resolve().parent, name)
    text = f"{folder}: edit repro.yaml and main.hip there, then run: {program} run --cell {name}"
    if matrix.is_file() and load(matrix, Matrix).repros:
        text += f"\n{matrix} names its repros one by one: add {name} to `repros:` there"
    return text


def _say(text: str) -> None:
    CONSOLE.print(text, markup=False, soft_wrap=True)


def _progress() -> Progress:
    return view(CONSOLE)


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM and a closed terminal end a run as Ctrl-C does: containers gone, records whole."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
