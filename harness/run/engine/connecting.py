"""Reach an engine by its address: a socket here, ssh, or a port of another host."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from typing import Any

import docker
import docker.errors
import docker.utils
import requests.adapters
import requests.exceptions
import urllib3.exceptions

from harness.errors import HarnessError
from harness.run.endpoints import Endpoint, Reply, search
from harness.run.ssh import TUNNELS

_CONNECT_TIMEOUT = 10
_ANY_VERSION = "1.41"  # for asking which version there is, which needs none
# A host that lost its power closes no connection: ask after 15 s of silence, and give up after three times 5 s more.
_LIVELY = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000),
)
TROUBLE = (
    docker.errors.DockerException,
    docker.errors.StreamParseError,  # a message of a build that broke off
    requests.exceptions.RequestException,
    urllib3.exceptions.HTTPError,  # the SDK reads streams past requests
    OSError,
)


class _Network(requests.adapters.HTTPAdapter):
    """Carry requests over connections that notice when the other side is gone."""

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **settings: object) -> None:
        """Have urllib3 set our options on every socket."""
        super().init_poolmanager(connections, maxsize, block, socket_options=_LIVELY, **settings)


def connect(url: str, *, timeout: int, connections: int) -> docker.DockerClient:
    """Return a client; with DOCKER_TLS_VERIFY set, tcp:// is TLS with the files of DOCKER_CERT_PATH, as for docker.

    https://docs.docker.com/engine/security/protect-access/
    """
    if url.startswith("ssh://"):
        return docker.DockerClient(base_url=TUNNELS.reach(url), timeout=timeout, max_pool_size=connections)
    if not url.startswith("tcp://"):
        return docker.DockerClient(base_url=url, timeout=timeout, max_pool_size=connections)
    settings: Any = docker.utils.kwargs_from_env(environment={**os.environ, "DOCKER_HOST": url})
    asking = _over_network(settings, timeout, 1, _ANY_VERSION)
    with contextlib.closing(asking):
        version = asking.version(api_version=False)["ApiVersion"]
    return _over_network(settings, timeout, connections, version)


def _over_network(settings: Any, timeout: int, connections: int, version: str) -> docker.DockerClient:  # noqa: ANN401
    # Of the two, the first bounds connecting: to a host without power that would take minutes.
    both: Any = (min(timeout, _CONNECT_TIMEOUT), timeout)
    client = docker.DockerClient(**settings, timeout=both, version=version)
    # requests would have REQUESTS_CA_BUNDLE, a company's for the Internet, stand above the authority of the engine.
    client.api.trust_env = "tls" not in settings
    for scheme in ("http://", "https://"):
        client.api.mount(scheme, _Network(pool_maxsize=connections))
    return client


def ask(url: str, timeout: int = 5) -> Reply:
    """Tell whether an engine answers at ``url``, refuses this user, or is silent."""
    try:
        with contextlib.closing(connect(url, timeout=timeout, connections=1)) as client:
            client.ping()
        return Reply.ANSWERS
    except HarnessError:
        return Reply.SILENT
    except TROUBLE as error:
        return Reply.DENIED if "Permission denied" in str(error) or "PermissionError" in str(error) else Reply.SILENT


def present(override: str | None, say: Callable[[str], None]) -> Endpoint | None:
    """Return the first engine that answers, without starting or installing one; None when there is none."""
    endpoints = search(override, os.environ, say).endpoints
    return next((endpoint for endpoint in endpoints if ask(endpoint.url) is Reply.ANSWERS), None)
