"""Share the machine of tests about engines."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.run import daemon, dockerd, install
from tests.run.machine import Machine


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a machine with a home of its own, no engine, and no program found outside ``bin/`` there."""
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "bin").mkdir()
    for module in (daemon, dockerd, install):
        monkeypatch.setattr(module, "which", lambda name: shutil.which(name, path=str(tmp_path / "bin")))
    monkeypatch.setattr(dockerd, "as_root", lambda *command: list(command))
    monkeypatch.setattr(install, "as_root", lambda *command: list(command))
    monkeypatch.setattr(dockerd, "_SYSTEMD", tmp_path / "no-systemd")
    monkeypatch.setattr(dockerd, "_BRIDGE", tmp_path / "docker0")
    return Machine(tmp_path)
