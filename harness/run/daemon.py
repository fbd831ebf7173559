"""Find the container engine to use; where there is none, start or install Docker Engine.

The order is that of docs/engine.md. On a machine that has an engine, nothing is installed or started.
"""

import getpass
import grp
import os
from pathlib import Path

from harness.errors import InfraError
from harness.run.dockerd import Dockerd, idle_units, start_daemon, stop
from harness.run.endpoints import Ask, Endpoint, Reply, Say, Search, search
from harness.run.install import install_engine, need_tool, tool_command, typed, which
from harness.run.ssh import TUNNELS
from harness.run.started import lock

__all__ = ["MACHINES", "locate", "need_tool", "stop"]

MACHINES = Dockerd()  # the machine's own daemon, as its packages set it up


def locate(
    override: str | None,
    *,
    ask: Ask,
    may_install: bool = True,
    state: Path,
    say: Say,
    daemon: Dockerd = MACHINES,
) -> Endpoint:
    """Return the first engine that answers; start or install ``daemon`` where none does.

    Raises ConfigError for an override that names no engine. Raises InfraError, with the command that mends it, when
    the engine that was named is silent, the one that is there refuses this user, or none can be started or installed.
    """
    where = search(override, os.environ, say)
    if found := _first(where, ask):
        return found
    if not where.may_start:
        raise InfraError(_silence(override, where))
    with lock(state):  # whoever waited here finds what the other one started
        return _first(where, ask) or _start(override, ask, may_install, state, say, daemon)


def _first(where: Search, ask: Ask) -> Endpoint | None:
    """Return the first endpoint that answers; raise InfraError when none does and one of them refuses us."""
    denied = None
    for endpoint in where.endpoints:
        reply = ask(endpoint.url)
        if reply is Reply.ANSWERS:
            return endpoint
        if reply is Reply.DENIED and denied is None:
            denied = endpoint
    if denied:
        raise InfraError(_refusal(denied))
    return None


def _start(override: str | None, ask: Ask, may_install: bool, state: Path, say: Say, daemon: Dockerd) -> Endpoint:
    if which("dockerd"):
        return start_daemon(daemon, ask=ask, state=state, say=say)
    if override is None and which("podman"):
        raise InfraError(
            f"Podman is installed, but its service does not run. {_podman_command()} "
            "To have Docker Engine installed instead: --engine docker."
        )
    idle = idle_units(daemon)
    install_engine(may_install=may_install, say=say)
    return start_daemon(daemon, ask=ask, state=state, say=say, idle=idle)


def _silence(override: str | None, where: Search) -> str:
    if override == "podman":
        mend = _podman_command() if which("podman") else f"Install it: {tool_command('podman')}."
        return f"No Podman service answers. {mend}"
    endpoint = where.endpoints[0]
    paragraph = f"No container engine answers at {endpoint.url}, which {endpoint.source} names. "
    if endpoint.url.startswith("ssh://"):
        return f"{paragraph}{_ssh_reason(endpoint.url)}"
    return f"{paragraph}Start that engine, or unset {endpoint.source} to have one found."


def _ssh_reason(url: str) -> str:
    """Say why a host cannot be reached: asking its engine told only that it is silent."""
    try:
        TUNNELS.reach(url)
    except InfraError as error:
        return str(error)
    return "It is reached, but does not say what it is. Is that Docker Engine, or Podman's compatible service?"


def _podman_command() -> str:
    if os.geteuid() == 0:
        return "Run `systemctl start podman.socket`, or `podman system service --time=0 &` where there is no systemd."
    return (
        "Run `systemctl --user start podman.socket`, or `podman system service --time=0 &` where there is no systemd."
    )


def _refusal(endpoint: Endpoint) -> str:
    """Say which command lets this user in: group membership, or a new login when it is there already."""
    paragraph = f"The container engine at {endpoint.url} refuses user {_user()}. "
    if not endpoint.url.endswith("/docker.sock"):
        return f"{paragraph}Run as its owner, or name another engine with --engine."
    if _user() in _members("docker"):
        return f"{paragraph}You are in group docker, but not since this login: log in again, or run `newgrp docker`."
    command = typed(f"usermod -aG docker {_user()}")
    return (
        f"{paragraph}Run `{command}` and log in again (this group is as good as root), or use a rootless engine: "
        "`dockerd-rootless-setuptool.sh install`, or Podman."
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without an entry in passwd, as inside some containers
        return str(os.getuid())


def _members(group: str) -> list[str]:
    try:
        return grp.getgrnam(group).gr_mem
    except KeyError:
        return []
