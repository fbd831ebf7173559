"""A machine for tests: its engines are what a test says."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from harness.run.daemon import locate
from harness.run.dockerd import Dockerd
from harness.run.endpoints import Endpoint, Reply

ROOT_SOCKET = "unix:///var/run/docker.sock"
PODMAN_SOCKET = "unix:///run/podman/podman.sock"


class Machine:
    """A machine whose engines are what a test says; remembers who was asked and what was said."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.state = home / "project/.harness"
        self.replies: dict[str, Reply] = {}
        self.asked: list[str] = []
        self.said: list[str] = []

    def ask(self, url: str) -> Reply:
        self.asked.append(url)
        return self.replies.get(url, Reply.SILENT)

    def answers(self, *urls: str) -> None:
        self.replies |= dict.fromkeys(urls, Reply.ANSWERS)

    def locate(self, override: str | None = None, *, may_install: bool = False, **more: Dockerd) -> Endpoint:
        return locate(override, ask=self.ask, may_install=may_install, state=self.state, say=self.said.append, **more)

    def context(self, name: str, meta: str) -> None:
        config = self.home / ".docker"
        folder = config / "contexts/meta" / hashlib.sha256(name.encode()).hexdigest()
        folder.mkdir(parents=True)
        (folder / "meta.json").write_text(meta)
        (config / "config.json").write_text(json.dumps({"currentContext": name}))

    def sockets(self) -> list[str]:
        run = self.home / "run"
        return [
            ROOT_SOCKET,
            f"unix://{run}/docker.sock",
            f"unix://{self.home}/.docker/run/docker.sock",
            f"unix://{self.home}/.docker/desktop/docker.sock",
            PODMAN_SOCKET,
            f"unix://{run}/podman/podman.sock",
        ]


def program(machine: Machine, name: str, script: str) -> None:
    path = machine.home / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def fake_apt(machine: Machine, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    monkeypatch.setenv("PATH", f"{machine.home}/bin", prepend=os.pathsep)
    calls = machine.home / "apt-calls"
    program(machine, "apt-get", f'echo "$DEBIAN_FRONTEND $*" >>{calls}\n{script}')
    return calls
