"""Open one host of a matrix: its engine, where images are built for it, and what its containers may use of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness import leftovers
from harness.build.bases import Bases
from harness.build.builder import Tools
from harness.build.images import Workshop
from harness.build.known import Shelf
from harness.errors import InfraError
from harness.plan.hosts import folder
from harness.run import daemon, hosts, limits
from harness.run.endpoints import Endpoint
from harness.run.engine import Engine, ask
from harness.run.tools import HostTools
from harness.survey import THE_HOST, Survey

# Of a cell at once: its container's output, its start, its end; and what the rest of a run asks beside that.
_CONNECTIONS_OF_A_CELL = 4
_CONNECTIONS_BESIDE = 8
_MOST_JOBS = 8


@dataclass(frozen=True, kw_only=True)
class Site:
    """One host's engine, with what it has of the project; ``host`` is None for the engine of this run.

    ``jobs`` is how many cells run there at once, ``memory`` the share of each.
    """

    host: str | None
    engine: Engine
    shelf: Shelf
    bases: Bases
    workshop: Workshop
    jobs: int
    memory: str


@contextlib.contextmanager
def opened(
    here: Survey, host: str | None, override: str | None, say: Callable[[str], None], tools: Tools | None = None
) -> Iterator[Site]:
    """Connect to the engine of ``host``; the one of this run is started or installed where there is none.

    Raises InfraError when it cannot be reached, or is too old.
    """
    with contextlib.closing(connect(here, host, override, say)) as engine:
        if why := hosts.unfit(engine.version()):
            raise InfraError(f"{engine.endpoint.url} cannot be used: {why}.")
        shelf = here.shelf_of(host)
        shelf.note_trouble(THE_HOST, None)
        yield _site(here, host, engine, shelf, tools or HostTools(say))


def connect(here: Survey, host: str | None, override: str | None, say: Callable[[str], None]) -> Engine:
    """Return a connection to the engine of ``host``, or to that of this run; raises InfraError when none answers."""
    project = here.project
    if host:
        endpoint = Endpoint(url=host, source="the matrix")
    else:
        endpoint = daemon.locate(override, ask=ask, state=project.state, say=say)
    jobs = max(project.jobs, _MOST_JOBS) if host else project.jobs
    return Engine(endpoint, connections=_CONNECTIONS_OF_A_CELL * jobs + _CONNECTIONS_BESIDE)


def _site(here: Survey, host: str | None, engine: Engine, shelf: Shelf, tools: Tools) -> Site:
    project, facts = here.project, engine.facts()
    state = folder(project.state, host)
    jobs = project.jobs
    if host and project.matrix.jobs is None:
        jobs = min(_MOST_JOBS, 2 * int(facts.get("NCPU", 1)))
    return Site(
        host=host,
        engine=engine,
        shelf=shelf,
        bases=Bases(engine, state, tools),
        workshop=Workshop(engine=engine, state=state, host=shelf.host, project=leftovers.project_id(project)),
        jobs=jobs,
        memory=limits.memory(project.matrix.limits.memory, total=int(facts.get("MemTotal", 8 << 30)), jobs=jobs),
    )
