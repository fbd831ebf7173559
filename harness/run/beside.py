"""Run programs of ours beside a cell's container, with the rights that it must not have itself."""

from __future__ import annotations

from collections.abc import Mapping

from harness.build.nfslike import PROGRAM
from harness.errors import InfraError
from harness.run import restricted
from harness.run.container import Attendant, ContainerSpec, Powers
from harness.run.engine import Engine


def hand_over(engine: Engine, container: str, spec: ContainerSpec) -> None:
    """Give the fresh volumes of a container that was not started yet to their owner, closed to all others.

    The engine makes them for root, and the container itself is not allowed to give files away.
    """
    if spec.owner is None:
        return
    uid, gid = spec.owner
    giving = ContainerSpec(
        image=spec.image,
        entrypoint=("sh",),
        command=("-c", f'chmod 700 "$@" && chown {uid}:{gid} "$@"', "sh", *spec.volumes),
        labels=spec.labels,
        user="0:0",
        powers=Powers(capabilities=("CHOWN", "FOWNER"), volumes_of=(container,)),
    )
    if status := engine.status(giving):
        raise InfraError(f"The home could not be given to {uid}:{gid} (status {status}).")


def attend(engine: Engine, container: str, attendant: Attendant, labels: Mapping[str, str]) -> str:
    """Start the program that serves the home of a running container, and return its own container's id.

    It sees the host's processes, for the number of the one whose mounts it changes, and ends when that one ends.
    """
    pid = engine.process(container)
    serving = ContainerSpec(
        image=attendant.image,
        entrypoint=attendant.command,
        command=("--pid", str(pid)),
        labels=labels,
        user="0:0",
        devices={restricted.FUSE: restricted.FUSE},
        powers=Powers(capabilities=restricted.CAPABILITIES, host_processes=True, vanishes=True),
    )
    helper = engine.create(serving)
    try:
        engine.launch(helper)
    except InfraError:
        engine.remove(helper)  # it vanishes by itself only once it has run
        raise
    return helper


def has_fuse(engine: Engine, image: str) -> bool:
    """Tell whether file systems can be served here: the device is there, and may be opened and mounted."""
    asking = ContainerSpec(
        image=image, entrypoint=(PROGRAM,), command=("--check",), labels=engine.labels, user="0:0",
        devices={restricted.FUSE: restricted.FUSE},
        powers=Powers(capabilities=restricted.CAPABILITIES, host_processes=True),
    )  # fmt: skip
    try:
        return engine.status(asking) == 0
    except InfraError:  # such as "no such file or directory"
        if not engine.answers():
            raise
        return False
