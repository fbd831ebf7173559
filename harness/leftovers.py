"""Find and remove what ended runs of a project left behind, and nothing that is somebody else's."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from harness.build.builder import LABEL_BUILT_FOR
from harness.errors import InfraError
from harness.plan.project import Project
from harness.run.engine import LABEL_PROJECT, LABEL_RUN, Engine

# Seconds after which a container that the engine cannot remove is left to a later run.
_HANGING = 60.0


def project_id(project: Project) -> str:
    """Name a project on its host: what carries another name belongs to another checkout and is never touched."""
    return hashlib.sha256(f"{socket.gethostname()}\0{project.root}".encode()).hexdigest()[:12]


def runs_folder(project: Project) -> Path:
    """Return the folder of record files and of the locks that live runs hold."""
    return project.state / "runs"


@contextlib.contextmanager
def owned(project: Project, run: str) -> Iterator[None]:
    """Hold the lock of a run: whoever can take it later knows that the run is over, however it ended."""
    path = _lock_file(project, run)
    try:
        with FileLock(path):
            yield
    finally:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def alone(project: Project, *, wait: Callable[[], None] | None) -> Iterator[bool]:
    """Be the only run of this project on this host: two would run the same trials twice.

    Yields whether another run had to end first. ``wait`` is called before waiting for it; without ``wait``, InfraError
    is raised at once.
    """
    project.state.mkdir(parents=True, exist_ok=True)
    lock = FileLock(project.state / f"run-{socket.gethostname()}.lock")
    waited = False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waited = True
        if wait is None:
            raise InfraError("A run of this project is under way; end it first, or wait until it has ended.") from None
        wait()
        lock.acquire()
    try:
        yield waited
    finally:
        lock.release()


def _lock_file(project: Project, run: str) -> Path:
    return runs_folder(project) / f"{run}.lock"


def is_over(project: Project, run: str) -> bool:
    """Tell whether a run of this project has ended: its lock is free, or gone."""
    path = _lock_file(project, run)
    if not path.exists():
        return True
    try:
        # Runs on several hosts ask at once, and none may take the other's asking for the run itself.
        with FileLock(path, timeout=0.5):
            pass
    except Timeout:
        return False
    path.unlink(missing_ok=True)
    return True


def remove_containers(project: Project, engine: Engine) -> int:
    """Remove the containers of this project's ended runs, and their volumes; return how many containers there were.

    One that the engine cannot let go of, because it hangs in the mount of a silent server, stays for a later run.
    """
    removed = 0
    for container in engine.containers(f"{LABEL_PROJECT}={project_id(project)}"):
        run = container.get("Labels", {}).get(LABEL_RUN)
        if run and is_over(project, run):
            try:
                engine.remove(container["Id"], patience=_HANGING)
                removed += 1
            except InfraError:
                if not engine.answers():
                    raise
    for volume in engine.volumes(f"{LABEL_PROJECT}={project_id(project)}"):
        # Runs that are under way need none that nothing uses: their containers make it again, with its options.
        with contextlib.suppress(InfraError):
            engine.remove_volume(volume, patience=_HANGING)
    return removed


def remove_scratch(project: Project) -> None:
    """Remove scratch folders whose process, which their names begin with, is gone."""
    for folder in (*project.state.glob("tmp/*-*"), *project.state.glob("hosts/*/tmp/*-*")):
        if not Path("/proc", folder.name.partition("-")[0]).exists():
            shutil.rmtree(folder, ignore_errors=True)


def remove_images(project: Project, engine: Engine) -> int:
    """Remove the images that this project built, and its volumes; return how many images there were.

    What is known of them stays: the records of what ran in them are as true as before.
    """
    found = engine.images(f"{LABEL_BUILT_FOR}={project_id(project)}")
    # Images of cells stand on the layers of their ROCm image: the youngest go first.
    for image in sorted(found, key=lambda image: -int(image["Created"])):
        for tag in image.get("RepoTags") or [image["Id"]]:
            engine.remove_image(tag)
    for volume in engine.volumes(f"{LABEL_BUILT_FOR}={project_id(project)}"):
        engine.remove_volume(volume)
    return len(found)
