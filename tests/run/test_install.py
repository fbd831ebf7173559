"""What is installed, and with which command."""

from __future__ import annotations

import pytest

from harness.errors import InfraError
from harness.run import install
from harness.run.daemon import need_tool
from harness.run.install import family
from tests.run.machine import Machine, fake_apt, program

DISTRIBUTIONS = [
    ({"ID": "debian"}, "debian", "apt-get install -y --no-install-recommends docker.io iptables"),
    ({"ID": "ubuntu", "ID_LIKE": "debian"}, "debian", "apt-get install"),
    ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, "debian", "apt-get install"),
    ({"ID": "fedora"}, "fedora", "dnf install -y moby-engine"),
    ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "rhel", "dnf install -y podman"),
    ({"ID": "rhel", "ID_LIKE": "fedora"}, "rhel", "dnf install -y podman"),
    ({"ID": "opensuse-leap", "ID_LIKE": "suse opensuse"}, "suse", "zypper --non-interactive install docker"),
    ({"ID": "sles"}, "suse", "zypper --non-interactive install docker"),
    ({"ID": "arch"}, "arch", "pacman -S --noconfirm docker"),
    ({"ID": "plan9"}, "", "your package manager's Docker Engine or Podman"),
]


@pytest.mark.parametrize(("release", "kind", "command"), DISTRIBUTIONS)
def test_command_for_each_distribution(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, release: dict[str, str], kind: str, command: str
) -> None:
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: release)
    assert family() == kind
    with pytest.raises(InfraError) as stopped:
        machine.locate(may_install=False)
    assert str(stopped.value).startswith("no container engine here. Install it: ")
    assert command in str(stopped.value)


def test_podman_without_its_service_is_an_engine(machine: Machine) -> None:
    program(machine, "podman", "true")
    program(machine, "apt-get", "exit 1")
    with pytest.raises(InfraError, match="Podman is installed, but its service does not run"):
        machine.locate(may_install=True)
    assert not machine.said


def test_lists_are_fetched_only_when_needed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    installs = f'case "$1" in install) cp /bin/true {machine.home}/bin/mmdebstrap;; esac'
    calls = fake_apt(machine, monkeypatch, installs)
    assert need_tool("mmdebstrap", "mmdebstrap", say=machine.said.append) == f"{machine.home}/bin/mmdebstrap"
    assert (
        calls.read_text() == "noninteractive install -o DPkg::Lock::Timeout=300 -y --no-install-recommends mmdebstrap\n"
    )
    assert machine.said == ["no mmdebstrap here: installing mmdebstrap with apt-get"]
    need_tool("mmdebstrap", "mmdebstrap", say=machine.said.append)
    assert len(machine.said) == 1


def test_stale_lists_are_fetched(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = machine.home / "lists"
    script = f'[ "$1" = update ] && touch {lists}; [ -e {lists} ] && cp /bin/true {machine.home}/bin/tool'
    calls = fake_apt(machine, monkeypatch, script)
    need_tool("tool", "tool", say=machine.said.append)
    assert [line.split()[1] for line in calls.read_text().splitlines()] == ["install", "update", "install"]


def test_failed_install_shows_why_and_what_to_do(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_apt(machine, monkeypatch, 'echo "E: Could not resolve host"; exit 100')
    monkeypatch.setattr(install, "family", lambda: "debian")
    with pytest.raises(InfraError, match=r"(?s)could not install docker\.io.*apt-get install.*E: Could not resolve"):
        machine.locate(may_install=True)
