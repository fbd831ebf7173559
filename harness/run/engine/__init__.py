"""Talk to the container engine. This package is the only one that imports the Docker SDK.

Works with Docker Engine 20.10 or later and with Podman's compatible socket; uses the API version the server speaks.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import docker
import docker.errors
import docker.utils
import requests.adapters
import requests.exceptions

from harness.build.builder import BuildError
from harness.errors import InfraError
from harness.run.container import ContainerSpec
from harness.run.endpoints import Endpoint, Reply
from harness.run.engine.connecting import TROUBLE, ask, connect, present
from harness.run.engine.payload import creation
from harness.run.ssh import TUNNELS

__all__ = ["LABEL_PROJECT", "LABEL_RUN", "Ended", "Engine", "ask", "creation", "present"]

# Labels by which containers of ours are found again; nothing without them is ever removed.
LABEL_PROJECT = "rocm-harness.project"
LABEL_RUN = "rocm-harness.run"

# The classic builder paints what a step writes to its standard error.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FILL_TIMEOUT = 60.0


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a container ended; ``oom`` when the kernel killed something in it for memory."""

    status: int
    oom: bool


class Engine:
    """One connection to an engine; safe to use from several threads."""

    def __init__(self, endpoint: Endpoint, *, connections: int = 32) -> None:
        self.endpoint = endpoint
        self.labels: dict[str, str] = {}  # of the containers that look into images; whoever runs says whose they are
        with self._trouble("connect to the container engine"):
            # No timeout of its own: builds are silent for minutes. Every wait of ours is bounded by its caller.
            self._client = connect(endpoint.url, timeout=600, connections=connections)
            self._api: Any = self._client.api  # the stubs leave half of it untyped

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()
        TUNNELS.leave(self.endpoint.url)

    @contextlib.contextmanager
    def _trouble(self, doing: str) -> Iterator[None]:
        try:
            yield
        except docker.errors.APIError as error:
            raise InfraError(f"The container engine could not {doing}: {error.explanation or error}") from error
        except TROUBLE as error:
            reason = TUNNELS.reason(self.endpoint.url).rstrip(".") or _shortly(error)
            raise InfraError(
                f"The container engine at {self.endpoint.url} stopped answering while it was asked to {doing}: "
                f"{reason}. `harness run` continues where this run stopped once it is back."
            ) from error

    @contextlib.contextmanager
    def _api_of(self, patience: float | None) -> Iterator[Any]:
        """Yield a client that gives up after ``patience`` seconds; the usual one where None is given."""
        if patience is None:
            yield self._api
            return
        with contextlib.closing(connect(self.endpoint.url, timeout=math.ceil(patience), connections=1)) as hasty:
            yield hasty.api

    def answers(self) -> bool:
        """Tell whether the engine is still there."""
        return ask(self.endpoint.url) is Reply.ANSWERS

    def version(self) -> Mapping[str, Any]:
        """Return the versions of the engine and of its API (``docker version``)."""
        with self._trouble("say its version"):
            version: Mapping[str, Any] = self._api.version()
            return version

    def facts(self) -> Mapping[str, Any]:
        """Return what the engine says of itself and its host (``docker info``)."""
        with self._trouble("describe itself"):
            info: Mapping[str, Any] = self._api.info()
            return info

    # Images

    def image_id(self, reference: str) -> str | None:
        """Return the id of a local image, or None when there is none."""
        with self._trouble(f"look up the image {reference}"):
            try:
                image_id: str = self._api.inspect_image(reference)["Id"]
                return image_id
            except docker.errors.ImageNotFound:
                return None

    def pull(self, repository: str, tag: str) -> str:
        """Pull an image by tag or digest and return its reference by digest.

        Raises InfraError when the registry does not give it.
        """
        with self._trouble(f"pull {repository}:{tag}"):
            image = self._client.images.pull(repository, tag=tag)
            digests: list[str] = image.attrs.get("RepoDigests") or []
            return next((digest for digest in digests if digest.startswith(f"{repository}@")), str(image.id))

    def asks_registry(self, reference: str, *, patience: float) -> None:
        """Let the engine ask the registry about an image, without pulling it; raises InfraError when none answers."""
        with self._trouble(f"ask the registry about {reference}"), self._api_of(patience) as hasty:
            hasty.inspect_distribution(reference)

    def tag(self, image_id: str, reference: str) -> None:
        """Give an image one more name."""
        repository, tag = reference.rsplit(":", 1)
        with self._trouble(f"tag {reference}"):
            self._api.tag(image_id, repository, tag)

    def import_root(self, archive: Path, reference: str) -> None:
        """Make an image of one layer from a tar archive of a root file system."""
        repository, tag = reference.rsplit(":", 1)
        with self._trouble(f"import {reference}"):
            answer = self._api.import_image_from_file(str(archive), repository=repository, tag=tag)
            for line in answer.splitlines():
                if "error" in (message := json.loads(line)):
                    raise InfraError(f"The container engine could not import {reference}: {message['error']}")

    def build(
        self, folder: Path, tag: str, *, labels: Mapping[str, str], arguments: Mapping[str, str],
        progress: Callable[[str], None],
    ) -> str:  # fmt: skip
        """Build ``folder`` and return the image's id.

        Raises BuildError with the whole log when a step fails, InfraError when the engine does.
        """
        log: list[str] = []
        with self._trouble(f"build {tag}"):
            stream = self._api.build(
                path=str(folder), tag=tag, rm=True, forcerm=True, decode=True, network_mode="host",
                labels=dict(labels), buildargs=dict(arguments),
            )  # fmt: skip
            for message in stream:
                if text := _COLOUR.sub("", message.get("stream", "")):
                    log.append(text)
                    progress(text)
                if error := message.get("error"):
                    raise BuildError(str(error), "".join(log))
        image_id = self.image_id(tag)
        if image_id is None:
            raise BuildError(f"the engine ended the build of {tag} without an image", "".join(log))
        return image_id

    def remove_image(self, reference: str) -> None:
        """Remove an image; one that is gone already is fine."""
        with self._trouble(f"remove the image {reference}"), contextlib.suppress(docker.errors.ImageNotFound):
            self._api.remove_image(reference, force=False, noprune=False)

    def images(self, label: str) -> list[Mapping[str, Any]]:
        """List the images that carry ``label``."""
        with self._trouble("list images"):
            found: list[Mapping[str, Any]] = self._api.images(filters={"label": label})
            return found

    # Volumes

    def fill_volume(self, name: str, image: str, folder: str, *, check: str, labels: Mapping[str, str]) -> None:
        """Make sure that a named volume holds what an image has in ``folder``; ``check`` is a script that sees it.

        An empty volume is filled by the engine when a container of the image mounts it there:
        https://docs.docker.com/engine/storage/volumes/#mounting-a-volume-over-existing-data
        """
        with self._trouble(f"make the volume {name}"):
            self._api.create_volume(name, labels=dict(labels))  # one that is there stays as it is
        self.output(image, check, timeout=_FILL_TIMEOUT, filled={folder: name})

    def volumes(self, label: str) -> list[str]:
        """List the names of the volumes that carry ``label``."""
        with self._trouble("list volumes"):
            return [volume["Name"] for volume in self._api.volumes(filters={"label": label})["Volumes"] or []]

    def remove_volume(self, name: str, *, patience: float | None = None) -> None:
        """Remove a volume; one that is gone already is fine. ``patience`` is as in ``remove``."""
        gone = contextlib.suppress(docker.errors.NotFound)
        with self._trouble(f"remove the volume {name}"), gone, self._api_of(patience) as api:
            api.remove_volume(name)

    # Containers

    def output(
        self, image: str, script: str, *, timeout: float, filled: Mapping[str, str] = MappingProxyType({}),
        folders: Mapping[str, str] = MappingProxyType({}),
    ) -> str:  # fmt: skip
        """Run a shell script in a throw-away container and return what it printed.

        Empty volumes named in ``filled``, by the path they are mounted at, get what the image has there; ``folders``
        are those of the engine's host that the script may read. Raises InfraError when the script has not ended after
        ``timeout`` seconds.
        """
        spec = ContainerSpec(
            image=image, entrypoint=("sh",), command=("-c", script), labels=self.labels, filled=filled, folders=folders
        )
        container = self.create(spec)
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self.kill(container)

        timer = threading.Timer(timeout, give_up)
        timer.start()
        try:
            printed = b"".join(self.start(container)).decode(errors="replace")
            status = self.ended(container).status
        finally:
            timer.cancel()
            self.remove(container)
        if late.is_set():
            raise InfraError(f"A look into the image {image} did not end within {timeout:g} s.")
        if status:
            raise InfraError(f"A look into the image {image} broke off with status {status}.")
        return printed

    def create(self, spec: ContainerSpec) -> str:
        """Create a container and return its id."""
        with self._trouble(f"create a container of {spec.image}"):
            created = self._api.create_container_from_config(creation(self._api, spec))
            container: str = created["Id"]
            return container

    def start(self, container: str) -> Iterator[bytes]:
        """Start a container and return its standard output, piece by piece, until it ends."""
        with self._trouble("start a container"):
            output: Iterator[bytes] = self._api.attach(container, stdout=True, stderr=False, stream=True)
            self._api.start(container)
        return self._pieces(output)

    def _pieces(self, output: Iterator[bytes]) -> Iterator[bytes]:
        with self._trouble("pass on the output of a container"):
            yield from output

    def _wait(self, container: str, timeout: int) -> int:
        with self._trouble("wait for a container"):
            return int(self._api.wait(container, timeout=timeout)["StatusCode"])

    def status(self, spec: ContainerSpec, *, timeout: int = 60) -> int:
        """Run a container to its end, and return its exit status; what the engine refuses is an InfraError."""
        container = self.create(spec)
        try:
            self.launch(container)
            return self._wait(container, timeout)
        finally:
            self.remove(container)

    def launch(self, container: str) -> None:
        """Start a container whose output nobody wants."""
        with self._trouble("start a container"):
            self._api.start(container)

    def process(self, container: str) -> int:
        """Return the number of a running container's first process, as the engine's host counts."""
        with self._trouble("look at a container"):
            return int(self._api.inspect_container(container)["State"]["Pid"])

    def try_out(self, spec: ContainerSpec, *, patience: float) -> None:
        """Create and start a container, to see whether its mounts come about, and remove it.

        Raises TimeoutError when it has not started after ``patience`` seconds. The engine may go on waiting for the
        mount then: the container stays until it has done so, and the next run removes it.
        """
        container = None
        with self._api_of(patience) as hasty:
            try:
                container = hasty.create_container_from_config(creation(hasty, spec))["Id"]
                hasty.start(container)
            except docker.errors.APIError as error:
                raise InfraError(f"The container engine could not mount it: {error.explanation or error}") from error
            except requests.exceptions.Timeout as error:
                raise TimeoutError from error
            finally:
                with contextlib.suppress(*TROUBLE):
                    if container:
                        hasty.remove_container(container, force=True, v=True)

    def ended(self, container: str) -> Ended:
        """Wait for a container whose output has ended, and say how it did."""
        with self._trouble("wait for a container"):
            status = self._wait(container, 60)
            state = self._api.inspect_container(container)["State"]
            return Ended(status=status, oom=bool(state.get("OOMKilled")))

    def kill(self, container: str) -> None:
        """Stop a container at once; one that has ended or is gone is fine."""
        with contextlib.suppress(*TROUBLE):
            self._api.kill(container)

    def remove(self, container: str, *, patience: float | None = None) -> None:
        """Remove a container with its anonymous volumes; one that is gone is fine.

        Raises InfraError when that takes longer than ``patience`` seconds, as when it hangs in a mount.
        """
        gone = contextlib.suppress(docker.errors.NotFound)
        with self._trouble("remove a container"), gone, self._api_of(patience) as api:
            try:
                api.remove_container(container, force=True, v=True)
            except docker.errors.APIError as error:
                # 409 with these words: the engine is removing it already.
                if "already in progress" not in str(error):
                    raise

    def containers(self, label: str) -> list[Mapping[str, Any]]:
        """List the containers, running or not, that carry ``label``."""
        with self._trouble("list containers"):
            found: list[Mapping[str, Any]] = self._api.containers(all=True, filters={"label": label})
            return found


def _shortly(error: BaseException) -> str:
    """Return the innermost reason of a chain of client exceptions."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return str(error) or type(error).__name__
