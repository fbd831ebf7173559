"""Provide the base that an image starts from: from a registry when one answers, else from the distribution itself.

A base is made once for each suite and shared by every image of it. What was chosen is recorded, so that later runs need
no network to know what their Dockerfiles say.
"""

from __future__ import annotations

import os
import queue
import shlex
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel

from harness.build.bootstrap import bootstrap_command, bootstrapped_name, ubuntu_keyring, write_root
from harness.build.builder import Builder, Tools
from harness.build.dockerfiles import Base
from harness.build.state import read_state, write_state
from harness.errors import InfraError
from harness.plan.models import DistroSource

# A registry that is not there is usually refused at once; behind a silent firewall it would hold a run up for minutes.
REGISTRY_PATIENCE = 60.0


class Chosen(BaseModel):
    """The recorded choice for one base."""

    reference: str
    how: str


def _record(state: Path, source: DistroSource) -> Path:
    return state / "bases" / f"{bootstrapped_name(source).split(':')[1]}-{source.base}.json"


def recorded(state: Path, source: DistroSource) -> Base | None:
    """Return the base that was chosen for ``source`` before, or None; no engine is asked."""
    chosen = read_state(_record(state, source), Chosen)
    return Base(reference=chosen.reference, how=chosen.how) if chosen else None


class Bases:
    """Provide bases on one engine; safe to use from several threads, each base is made once."""

    def __init__(self, engine: Builder, state: Path, tools: Tools) -> None:
        self._engine = engine
        self._state = state
        self._scratch = state / "tmp"
        self._tools = tools
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def provide(self, source: DistroSource, progress: Callable[[str], None]) -> Base:
        """Return the base of ``source``, making it when it is not there.

        Raises InfraError when neither a registry nor the distribution gives it.
        """
        name = bootstrapped_name(source)
        with self._guard:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            return self._provide(source, name, progress)

    def _provide(self, source: DistroSource, name: str, progress: Callable[[str], None]) -> Base:
        record = _record(self._state, source)
        chosen = read_state(record, Chosen)
        if chosen is None or not self._is_there(chosen.reference, progress):
            chosen = self._choose(source, name, progress)
            write_state(record, chosen)
        return Base(reference=chosen.reference, how=chosen.how)

    def _is_there(self, reference: str, progress: Callable[[str], None]) -> bool:
        """Tell whether a recorded base is there, or can be had again by its digest."""
        if self._engine.image_id(reference) is not None:
            return True
        repository, found, digest = reference.partition("@")
        if not found:
            return False
        try:
            self._patiently_pull(repository, digest, progress)
        except InfraError:
            return False
        return True

    def _choose(self, source: DistroSource, name: str, progress: Callable[[str], None]) -> Chosen:
        if source.base != "registry" and self._engine.image_id(name) is not None:
            return self._by_content(source, name)
        if source.base != "bootstrap" and not source.own_lists:
            tag = f"{source.suite}-slim" if source.distribution == "debian" else source.suite
            try:
                reference = self._patiently_pull(source.distribution, tag, progress)
                return Chosen(reference=reference, how=f"{source.distribution}:{tag} from the registry")
            except InfraError as error:
                if source.base == "registry":
                    raise
                progress(f"no registry gives the base ({error}); making it with mmdebstrap")
        self._bootstrap(source, name, progress)
        return self._by_content(source, name)

    def _by_content(self, source: DistroSource, name: str) -> Chosen:
        """Name a bootstrapped base by its content, so that a Dockerfile that starts from it can never mean another."""
        image_id = self._engine.image_id(name) or ""
        reference = f"{name.rsplit('-', 1)[0]}-{image_id.removeprefix('sha256:')[:16]}"
        self._engine.tag(image_id, reference)
        how = f"made here by: {shlex.join(bootstrap_command(source))} | docker import - {reference}"
        return Chosen(reference=reference, how=how)

    def _patiently_pull(self, repository: str, tag: str, progress: Callable[[str], None]) -> str:
        """Pull, but give up on a registry that does not answer; the thread that still waits ends with the process."""
        progress(f"pulling {repository}:{tag}")
        answer: queue.Queue[str | InfraError] = queue.Queue()

        def pull() -> None:
            try:
                answer.put(self._engine.pull(repository, tag))
            except InfraError as error:
                answer.put(error)

        threading.Thread(target=pull, name="pull", daemon=True).start()
        try:
            got = answer.get(timeout=REGISTRY_PATIENCE)
        except queue.Empty:
            raise InfraError(f"no answer from the registry within {REGISTRY_PATIENCE:g} s") from None
        if isinstance(got, InfraError):
            raise got
        return got

    def _bootstrap(self, source: DistroSource, name: str, progress: Callable[[str], None]) -> None:
        self._tools.need("mmdebstrap", "mmdebstrap")
        self._scratch.mkdir(parents=True, exist_ok=True)
        keyring = ubuntu_keyring(source, self._state, self._tools, progress)
        progress(f"making {name} with mmdebstrap")
        with tempfile.TemporaryDirectory(dir=self._scratch, prefix=f"{os.getpid()}-") as folder:
            archive = Path(folder) / "root.tar"
            write_root(source, archive, self._tools, keyring)
            self._engine.import_root(archive, name)
