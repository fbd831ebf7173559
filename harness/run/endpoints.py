"""Say where a container engine may answer, in the order in which we ask.

Pure but for reading the Docker CLI's own context files; nothing here talks to an engine.
"""

import enum
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ConfigError

_URL = re.compile(r"(unix|tcp|ssh|http|https)://.+")


class Reply(enum.Enum):
    """Tell what asking an endpoint gave: an engine, an engine that refuses this user, or nothing."""

    ANSWERS = "answers"
    DENIED = "denied"
    SILENT = "silent"


Ask = Callable[[str], Reply]
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Name one engine: its URL, which rule led to it, and whether we started it."""

    url: str
    source: str
    started: bool = False


@dataclass(frozen=True, kw_only=True)
class Search:
    """List where to ask, in order; ``may_start`` is false where the user named the engine that it must be."""

    endpoints: tuple[Endpoint, ...]
    may_start: bool


def search(override: str | None, env: Mapping[str, str], say: Say) -> Search:
    """Return where to look: the override alone, else ``DOCKER_HOST`` alone, else context and usual sockets.

    Raises ConfigError for an override that is neither a URL nor ``docker`` nor ``podman``.
    """
    if override:
        return _overridden(override, env)
    if host := env.get("DOCKER_HOST"):
        return Search(endpoints=(Endpoint(url=host, source="DOCKER_HOST"),), may_start=False)
    context = context_endpoint(env, say)
    sockets = docker_sockets(env) + podman_sockets(env)
    return Search(endpoints=((context,) if context else ()) + sockets, may_start=True)


def _overridden(override: str, env: Mapping[str, str]) -> Search:
    if override == "docker":
        return Search(endpoints=docker_sockets(env), may_start=True)
    if override == "podman":
        return Search(endpoints=podman_sockets(env), may_start=False)
    if _URL.fullmatch(override):
        return Search(endpoints=(Endpoint(url=override, source="--engine"),), may_start=False)
    raise ConfigError(
        f"--engine {override}: an engine is named by docker, podman, or a URL such as unix:///run/podman/podman.sock, "
        "tcp://host:2376 or ssh://user@host"
    )


def docker_sockets(env: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Return the sockets of Docker Engine, rootless Docker and Docker Desktop."""
    home = _home(env)
    return _sockets(
        Path("/var/run/docker.sock"),
        _runtime_dir(env) / "docker.sock",
        home / ".docker/run/docker.sock",
        home / ".docker/desktop/docker.sock",
    )


def podman_sockets(env: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Return the sockets of Podman's service, root's first."""
    return _sockets(Path("/run/podman/podman.sock"), _runtime_dir(env) / "podman/podman.sock")


def context_endpoint(env: Mapping[str, str], say: Say) -> Endpoint | None:
    """Return the endpoint of the Docker CLI's current context; None for the default one.

    A context that cannot be read is said and passed over: the usual sockets come after it.
    The files are those of https://github.com/docker/cli/tree/master/cli/context/store.
    """
    config = Path(env.get("DOCKER_CONFIG") or _home(env) / ".docker")
    name = env.get("DOCKER_CONTEXT") or _dig(config / "config.json", "currentContext")
    if not name or name == "default":
        return None
    meta = config / "contexts/meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
    if url := _dig(meta, "Endpoints", "docker", "Host"):
        return Endpoint(url=url, source=f"docker context {name}")
    say(f"the docker context {name!r} names no engine ({meta}); asking the usual sockets")
    return None


def _dig(path: Path, *keys: str) -> str | None:
    """Return the text under nested keys of a JSON file; None when anything on the way is not as it should be."""
    try:
        value: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or "/nonexistent")


def _runtime_dir(env: Mapping[str, str]) -> Path:
    # su, cron and sudo leave XDG_RUNTIME_DIR unset, yet a login session's folder is where logind always makes it.
    return Path(env.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")


def _sockets(*paths: Path) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(url=f"unix://{path}", source="socket") for path in paths)
