"""Which engine is used, and who is asked in which order."""

from __future__ import annotations

import grp
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ConfigError, InfraError
from harness.run import daemon, install
from harness.run.endpoints import Endpoint, Reply, context_endpoint
from tests.run.machine import PODMAN_SOCKET, ROOT_SOCKET, Machine, program

CONTEXT = "tcp://build-host:2375"


def test_every_rung_is_asked_in_order(machine: Machine) -> None:
    machine.context("far", json.dumps({"Endpoints": {"docker": {"Host": CONTEXT}}}))
    with pytest.raises(InfraError):
        machine.locate()
    once = [CONTEXT, *machine.sockets()]
    assert machine.asked == once + once  # and again under the lock, when somebody else may have started one


@pytest.mark.parametrize("rung", range(7))
def test_first_that_answers_wins(machine: Machine, rung: int) -> None:
    machine.context("far", json.dumps({"Endpoints": {"docker": {"Host": CONTEXT}}}))
    urls = [CONTEXT, *machine.sockets()]
    machine.answers(*urls[rung:])
    assert machine.locate() == Endpoint(url=urls[rung], source="socket" if rung else "docker context far")
    assert machine.asked == urls[: rung + 1]
    assert not machine.said
    assert not machine.state.exists()


@pytest.mark.parametrize("url", ["unix:///x.sock", "tcp://h:2375", "ssh://u@h"])
def test_override_is_all_that_is_asked(machine: Machine, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://other")
    machine.answers(url, "tcp://other", ROOT_SOCKET)
    assert machine.locate(url) == Endpoint(url=url, source="--engine")
    assert machine.asked == [url]


def test_override_that_is_silent_stops(machine: Machine) -> None:
    machine.answers(ROOT_SOCKET)
    with pytest.raises(InfraError, match=r"No container engine answers at tcp://h:1, which --engine names"):
        machine.locate("tcp://h:1", may_install=True)


def test_override_by_word(machine: Machine) -> None:
    machine.answers(ROOT_SOCKET, PODMAN_SOCKET)
    assert machine.locate("docker").url == ROOT_SOCKET
    assert machine.locate("podman").url == PODMAN_SOCKET


def test_podman_that_is_not_there(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.answers(ROOT_SOCKET)
    monkeypatch.setattr(install, "family", lambda: "arch")
    with pytest.raises(InfraError, match=r"Install it: `.*pacman -S --noconfirm podman"):
        machine.locate("podman", may_install=True)
    program(machine, "podman", "true")
    with pytest.raises(InfraError, match=r"Run `systemctl .*start podman\.socket`"):
        machine.locate("podman", may_install=True)


@pytest.mark.parametrize("word", ["/run/docker.sock", "containerd", "unix://"])
def test_override_that_names_no_engine(machine: Machine, word: str) -> None:
    with pytest.raises(ConfigError, match="an engine is named by docker, podman, or a URL"):
        machine.locate(word)
    assert not machine.asked


def test_docker_host_is_all_that_is_asked(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://far:2375")
    machine.answers(ROOT_SOCKET)
    with pytest.raises(InfraError, match=r"tcp://far:2375, which DOCKER_HOST names.*unset DOCKER_HOST"):
        machine.locate(may_install=True)
    assert machine.asked == ["tcp://far:2375"]
    machine.answers("tcp://far:2375")
    assert machine.locate() == Endpoint(url="tcp://far:2375", source="DOCKER_HOST")


def test_engine_behind_ssh_is_told_how(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "ssh://me@gpu1.invalid")  # a name that nothing may have: RFC 2606
    with pytest.raises(InfraError, match=r"ssh://me@gpu1.invalid, which DOCKER_HOST names.*name is not known"):
        machine.locate()


def test_context_of_the_environment_goes_first(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.context("mine", json.dumps({"Endpoints": {"docker": {"Host": CONTEXT}}}))
    (machine.home / ".docker/config.json").write_text('{"currentContext": "other"}')
    monkeypatch.setenv("DOCKER_CONTEXT", "mine")
    machine.answers(CONTEXT, ROOT_SOCKET)
    assert machine.locate().url == CONTEXT
    monkeypatch.setenv("DOCKER_CONTEXT", "default")
    assert machine.locate().url == ROOT_SOCKET


def test_config_folder_of_the_environment(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.context("mine", json.dumps({"Endpoints": {"docker": {"Host": CONTEXT}}}))
    (machine.home / ".docker").rename(machine.home / "elsewhere")
    machine.answers(CONTEXT, ROOT_SOCKET)
    assert machine.locate().url == ROOT_SOCKET
    monkeypatch.setenv("DOCKER_CONFIG", str(machine.home / "elsewhere"))
    assert machine.locate().url == CONTEXT


@pytest.mark.parametrize("meta", ["", "{", "[]", "null", '{"Endpoints": []}', '{"Endpoints": {"docker": {"Host": 5}}}'])
def test_broken_context_is_said_and_passed_over(machine: Machine, meta: str) -> None:
    machine.context("torn", meta)
    machine.answers(ROOT_SOCKET)
    assert machine.locate().url == ROOT_SOCKET
    assert [line.partition(" (")[0] for line in machine.said] == ["the docker context 'torn' names no engine"]


@given(text=st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_no_config_file_stops_the_search(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / "config.json").write_text(text, encoding="utf-8", errors="replace")
    assert context_endpoint({"DOCKER_CONFIG": str(home)}, print) is None


def test_refused_is_an_engine_that_is_there(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.replies[ROOT_SOCKET] = Reply.DENIED
    monkeypatch.setattr(daemon, "_user", lambda: "nobody-here")
    with pytest.raises(InfraError, match=r"refuses user nobody-here\. Run `.*usermod -aG docker nobody-here.* log in"):
        machine.locate(may_install=True)
    assert not machine.said


def test_refused_member_logs_in_again(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.replies[ROOT_SOCKET] = Reply.DENIED
    monkeypatch.setattr(daemon, "_user", lambda: "me")
    monkeypatch.setattr(grp, "getgrnam", lambda name: grp.struct_group((name, "x", 7, ["me"])))
    with pytest.raises(InfraError, match="You are in group docker, but not since this login"):
        machine.locate()


def test_one_that_answers_is_better_than_one_that_refuses(machine: Machine) -> None:
    machine.replies[ROOT_SOCKET] = Reply.DENIED
    machine.answers(machine.sockets()[-1])
    assert machine.locate().url == machine.sockets()[-1]
