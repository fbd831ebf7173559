"""What is started, and that nothing but what we started is ever stopped."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from harness.errors import InfraError
from harness.run import dockerd
from harness.run.daemon import locate, stop
from harness.run.dockerd import Dockerd, running
from harness.run.endpoints import Ask, Endpoint, Reply
from harness.run.engine import ask as ask_engine
from harness.run.install import as_root, which
from harness.run.started import Started, file_of, recall, remember, start_time
from tests.run.machine import ROOT_SOCKET, Machine, fake_apt, program


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
