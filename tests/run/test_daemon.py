"""Which engine is used, what is started and installed, and that nothing but what we started is ever stopped."""

import grp
import hashlib
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ConfigError, InfraError
from harness.run import daemon, dockerd, install
from harness.run.daemon import locate, need_tool, stop
from harness.run.dockerd import Dockerd, running
from harness.run.endpoints import Ask, Endpoint, Reply, context_endpoint
from harness.run.engine import ask as ask_engine
from harness.run.install import as_root, family, which
from harness.run.started import Started, file_of, recall, remember, start_time

ROOT_SOCKET = "unix:///var/run/docker.sock"
PODMAN_SOCKET = "unix:///run/podman/podman.sock"
CONTEXT = "tcp://build-host:2375"


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


def program(machine: Machine, name: str, script: str) -> None:
    path = machine.home / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


# --- the order


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


# --- the CLI's context


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


# --- an engine that refuses us


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


# --- installing

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


def fake_apt(machine: Machine, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    monkeypatch.setenv("PATH", f"{machine.home}/bin", prepend=os.pathsep)
    calls = machine.home / "apt-calls"
    program(machine, "apt-get", f'echo "$DEBIAN_FRONTEND $*" >>{calls}\n{script}')
    return calls


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


# --- starting and stopping; ``dockerd`` is a copy of sleep(1), which has the right name in /proc and ends on TERM


@pytest.fixture
def sleeper(machine: Machine) -> Iterator[Callable[..., Dockerd]]:
    """Return a maker of daemons: a launcher script that becomes a ``dockerd`` sleeping for 60 seconds."""
    (machine.home / "real").mkdir()
    shutil.copy(which("sleep") or "/bin/sleep", machine.home / "real/dockerd")

    def make(script: str = "") -> Dockerd:
        pidfile = machine.home / "docker.pid"
        program(machine, "dockerd", f"{script}\necho $$ >{pidfile}\nexec {machine.home}/real/dockerd 60")
        return Dockerd(url=f"unix://{machine.home}/d.sock", pidfiles=(pidfile,), units=())

    yield make
    stop(machine.state, print)


def answer_when_running(machine: Machine, wanted: Dockerd) -> Ask:
    def ask(url: str) -> Reply:
        return Reply.ANSWERS if url == wanted.url and running(wanted) else machine.ask(url)

    return ask


def start(machine: Machine, wanted: Dockerd) -> Endpoint:
    ask = answer_when_running(machine, wanted)
    return locate("docker", ask=ask, may_install=False, state=machine.state, say=machine.said.append, daemon=wanted)


def test_starts_records_and_stops(machine: Machine, sleeper: Callable[..., Dockerd]) -> None:
    wanted = sleeper()
    assert start(machine, wanted) == Endpoint(url=wanted.url, source="started", started=True)
    assert machine.said == ["starting dockerd"]
    recorded = recall(machine.state)
    assert recorded == running(wanted)
    assert stop(machine.state, machine.said.append)
    assert running(wanted) is None
    assert not file_of(machine.state, "json").exists()
    assert not stop(machine.state, machine.said.append)


def test_daemon_outlives_us_in_a_session_of_its_own(machine: Machine, sleeper: Callable[..., Dockerd]) -> None:
    wanted = sleeper()
    start(machine, wanted)
    process = running(wanted)
    assert process is not None
    assert os.getsid(process.pid) == process.pid


def test_pid_file_left_by_a_crash(machine: Machine, sleeper: Callable[..., Dockerd]) -> None:
    wanted = sleeper(f"[ ! -e {machine.home}/docker.pid ] || exit 1")
    wanted.pidfiles[0].write_text(str(os.getpid()))  # alive, but no dockerd
    assert start(machine, wanted).started


def test_daemon_that_was_there_is_waited_for_and_never_ours(machine: Machine, sleeper: Callable[..., Dockerd]) -> None:
    wanted = sleeper()
    with subprocess.Popen([machine.home / "bin/dockerd"]) as theirs:
        while running(wanted) is None:
            time.sleep(0.01)
        replies = iter([Reply.SILENT] * 20)  # still starting
        ask: Ask = lambda url: next(replies, Reply.ANSWERS if url == wanted.url else Reply.SILENT)  # noqa: E731
        found = locate("docker", ask=ask, state=machine.state, say=machine.said.append, daemon=wanted)
        assert found == Endpoint(url=wanted.url, source="socket", started=False)
        assert not stop(machine.state, machine.said.append)
        assert theirs.poll() is None
        assert not machine.said
        theirs.terminate()


def test_daemon_that_its_package_starts_is_ours(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, sleeper: Callable[..., Dockerd]
) -> None:
    wanted = sleeper()
    (machine.home / "bin/dockerd").rename(machine.home / "packaged")
    started = f"{machine.home}/packaged </dev/null >/dev/null 2>&1 & sleep 0.2"
    fake_apt(machine, monkeypatch, f"cp {machine.home}/packaged {machine.home}/bin/dockerd; {started}")
    ask = answer_when_running(machine, wanted)
    found = locate(None, ask=ask, state=machine.state, say=machine.said.append, daemon=wanted)
    assert found.started
    assert machine.said == ["no container engine here: installing docker.io with apt-get"]
    assert stop(machine.state, machine.said.append)
    assert running(wanted) is None


def test_daemon_that_dies_shows_its_log(machine: Machine, sleeper: Callable[..., Dockerd]) -> None:
    wanted = sleeper("echo 'failed to start daemon: Devices cgroup is not mounted' >&2; exit 1")
    with pytest.raises(InfraError, match=r"(?s)dockerd ended while starting.*Devices cgroup is not mounted"):
        start(machine, wanted)
    assert machine.said == ["starting dockerd"]
    assert not file_of(machine.state, "json").exists()


def test_daemon_without_a_network_is_better_than_none(machine: Machine, sleeper: Callable[..., Dockerd]) -> None:
    wanted = sleeper('case "$*" in *--bridge=none*) ;; *) echo "iptables not found" >&2; exit 1;; esac')
    assert start(machine, wanted).started
    assert machine.said == ["starting dockerd", "starting dockerd --bridge=none --iptables=false"]


def test_bridge_of_another_engine_is_never_deleted(machine: Machine, sleeper: Callable[..., Dockerd]) -> None:
    (machine.home / "docker0").touch()
    wanted = sleeper('echo "iptables not found" >&2; exit 1')
    with pytest.raises(InfraError, match="iptables not found"):
        start(machine, wanted)
    assert machine.said == ["starting dockerd"]


def test_two_at_once_start_one(machine: Machine, sleeper: Callable[..., Dockerd]) -> None:
    wanted = sleeper(f"echo start >>{machine.home}/starts; sleep 0.3")
    found: list[Endpoint] = []
    # The URL is among those that are asked, so that whoever waited for the lock finds it there.
    ask = answer_when_running(machine, wanted)
    both: Ask = lambda url: ask(wanted.url) if url == ROOT_SOCKET else ask(url)  # noqa: E731

    def run() -> None:
        found.append(locate(None, ask=both, state=machine.state, say=machine.said.append, daemon=wanted))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (machine.home / "starts").read_text() == "start\n"
    assert sorted(endpoint.started for endpoint in found) == [False, False, False, True]


def test_number_that_came_round_again_is_not_stopped(machine: Machine) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        start_of_other = start_time(other.pid)
        assert start_of_other
        file_of(machine.state, "json").parent.mkdir(parents=True)
        remember(machine.state, Started(pid=other.pid, start=start_of_other - 1, url="unix:///x"))
        assert not stop(machine.state, machine.said.append)
        assert other.poll() is None
        other.terminate()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid": 1}', '{"pid": "x", "start": 1, "url": "", "units": 5}'])
def test_torn_record_is_no_record(machine: Machine, text: str) -> None:
    file_of(machine.state, "json").parent.mkdir(parents=True)
    file_of(machine.state, "json").write_text(text)
    assert recall(machine.state) is None
    assert not stop(machine.state, machine.said.append)


def test_dead_process_has_no_start_time() -> None:
    child = subprocess.Popen(["true"])
    deadline = time.monotonic() + 10
    while start_time(child.pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)  # it ends, and is a zombie until we wait for it
    assert start_time(child.pid) is None
    child.wait()
    assert start_time(child.pid) is None


def fake_systemd(machine: Machine, monkeypatch: pytest.MonkeyPatch, active: Sequence[str], pid: int) -> Path:
    monkeypatch.setenv("PATH", f"{machine.home}/bin", prepend=os.pathsep)
    monkeypatch.setattr(dockerd, "_SYSTEMD", machine.home)
    calls = machine.home / "systemctl-calls"
    program(
        machine,
        "systemctl",
        f'echo "$*" >>{calls}\ncase "$*" in\n'
        f'is-active*) case " {" ".join(active)} " in *" $3 "*) ;; *) exit 3;; esac;;\n'
        f"show*) echo {pid};;\nstop*) kill {pid};;\nesac",
    )
    return calls


def test_systemd_starts_and_stops_only_what_was_idle(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    program(machine, "dockerd", "true")
    child = subprocess.Popen(["sleep", "60"])
    calls = fake_systemd(machine, monkeypatch, ["containerd.service"], child.pid)
    ask: Ask = lambda _: Reply.ANSWERS if calls.exists() else Reply.SILENT  # noqa: E731
    found = locate(None, ask=ask, state=machine.state, say=machine.said.append)
    assert found == Endpoint(url=ROOT_SOCKET, source="started", started=True)
    threading.Thread(target=child.wait).start()  # as process 1 would
    assert stop(machine.state, machine.said.append)
    lines = calls.read_text().splitlines()
    assert "start docker.service" in lines
    assert lines[-1] == "stop docker.socket docker.service"


def test_service_that_was_active_is_not_ours(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    program(machine, "dockerd", "true")
    with subprocess.Popen(["sleep", "60"]) as child:
        calls = fake_systemd(machine, monkeypatch, ["docker.service", "docker.socket"], child.pid)
        ask: Ask = lambda _: Reply.ANSWERS if calls.exists() else Reply.SILENT  # noqa: E731
        assert not locate(None, ask=ask, state=machine.state, say=machine.said.append).started
        assert not stop(machine.state, machine.said.append)
        assert child.poll() is None
        child.terminate()


# --- for real


@pytest.mark.engine
def test_real_daemon_beside_the_machines_own(tmp_path: Path) -> None:
    if which("dockerd") is None or as_root("true") is None:
        pytest.skip("needs an installed dockerd and the right to run it as root")
    socket, pidfile = tmp_path / "d.sock", tmp_path / "d.pid"
    wanted = Dockerd(
        url=f"unix://{socket}",
        pidfiles=(pidfile,),
        units=(),
        # A network namespace of its own: a second daemon in ours would take docker0 and the firewall's rules from the
        # machine's own engine (--bridge=none even deletes the interface). Nor does it share a namespace of containerd.
        command=(
            *("unshare", "--net", which("dockerd") or "", f"--config-file={tmp_path}/empty.json"),
            *(f"--host=unix://{socket}", f"--pidfile={pidfile}"),
            *(f"--data-root={tmp_path}/data", f"--exec-root={tmp_path}/exec"),
            *("--bridge=none", "--iptables=false", "--ip-forward=false"),
            *("--containerd-namespace=harness-test", "--containerd-plugins-namespace=harness-test-plugins"),
        ),
    )
    (tmp_path / "empty.json").write_text("{}")
    machines = _machines_engine()
    said: list[str] = []
    ask: Ask = lambda url: ask_engine(url) if url == wanted.url else Reply.SILENT  # noqa: E731
    try:
        found = locate("docker", ask=ask, may_install=False, state=tmp_path / "state", say=said.append, daemon=wanted)
        assert found == Endpoint(url=wanted.url, source="started", started=True)
        assert ask_engine(wanted.url) is Reply.ANSWERS
        assert stop(tmp_path / "state", said.append)
    finally:
        stop(tmp_path / "state", said.append)
    assert ask_engine(wanted.url) is Reply.SILENT
    assert _machines_engine() == machines


def _machines_engine() -> tuple[Started | None, Reply, bool]:
    return running(Dockerd()), ask_engine(ROOT_SOCKET), Path("/sys/class/net/docker0").exists()
