"""Several hosts in one matrix, on real engines: one behind a real sshd, one behind a TCP port."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.build.bootstrap import bootstrapped_name
from harness.errors import InfraError
from harness.leftovers import project_id
from harness.plan.models import DistroSource
from harness.plan.project import read
from harness.run.endpoints import Endpoint
from harness.run.engine import LABEL_PROJECT, Engine
from harness.run.install import need_tool
from tests.conftest import HARNESS, PLAIN, Ended, Write, harness, repro_text, results, write_project
from tests.far import Relay, Sshd, certificates, free_port
from tests.test_run import recorded, wait_for
from tests.test_trouble import PrivateEngine, engine_of_its_own

pytestmark = pytest.mark.engine

OTHER = PLAIN.replace("plain", "other")


@pytest.fixture(scope="module")
def private_engine(engine: Engine) -> Iterator[PrivateEngine]:
    """Start an engine for all tests of this module, with the base that the machine's engine has."""
    with engine_of_its_own() as made:
        made.start()
        made.load([base_tag(engine)])
        yield made


@pytest.fixture
def sshd(private_engine: PrivateEngine) -> Iterator[Sshd]:
    """Return a host behind ssh, whose engine is not the machine's; it is not started yet."""
    try:
        for name, package in (("ssh", "openssh-client"), ("ssh-keygen", "openssh-client"), ("sshd", "openssh-server")):
            need_tool(name, package, say=print)
    except InfraError as error:
        pytest.skip(f"NOT TESTED, no other host behind ssh: {error}")
    made = Sshd(Path(tempfile.mkdtemp(prefix="sshd-")) / "s", private_engine.url)
    try:
        yield made
    finally:
        made.close()
        made.root.parent.rmdir()


def devices(**hosts: str) -> str:
    return ", ".join(f"{{kind: none, name: {name}, host: '{host}'}}" for name, host in hosts.items())


def two(project: Write, host: str, image: str = PLAIN, **repros: str) -> Path:
    names = ", ".join(repros)
    text = f"images: [{image}]\ndevices: [{{kind: none, name: near}}, {devices(far=host)}]\nrepros: [{names}]\n"
    return project(matrix=text, repros=repros)


def table(matrix: Path) -> dict[tuple[str, str], dict[str, Any]]:
    listed = json.loads(harness(matrix, "table", "--json").out)
    return {(item["repro"], item["device"]): item for item in listed}


def records(matrix: Path) -> list[dict[str, Any]]:
    files = (matrix.parent / ".harness/runs").glob("*.jsonl")
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def verdicts(matrix: Path) -> dict[tuple[str, str], str]:
    return {place: item["verdict"] for place, item in table(matrix).items()}


def base_tag(engine: Engine) -> str:
    """Return the tag of the base on the machine's engine; a small project makes it there when it is missing."""
    tag = bootstrapped_name(DistroSource(kind="distro", suite="bookworm", packages=()))
    if engine.image_id(tag) is None:
        with tempfile.TemporaryDirectory() as folder:
            harness(write_project(Path(folder) / "project", repros={"quick": repro_text("true")}), "run")
    return tag


def of_project(url: str, matrix: Path) -> tuple[list[Any], list[Any]]:
    """Return the containers and the images of a project on an engine."""
    client = Engine(Endpoint(url=url, source="test"))
    ours = project_id(read(matrix))
    containers = client.containers(f"{LABEL_PROJECT}={ours}")
    images = client.images(f"rocm-harness.built-for={ours}")
    client.close()
    return list(containers), list(images)


def test_a_matrix_runs_here_and_behind_ssh(
    project: Write, engine: Engine, private_engine: PrivateEngine, sshd: Sshd
) -> None:
    matrix = two(project, sshd.host, OTHER, passes=repro_text("true", trials="2"), fails=repro_text("false"))
    sshd.start()
    tunnels = set(Path(tempfile.gettempdir()).glob("rocm-harness-ssh-*"))
    done = harness(matrix, "run", PATH=sshd.path)
    assert done.status == 0, done.err
    assert set(Path(tempfile.gettempdir()).glob("rocm-harness-ssh-*")) <= tunnels
    assert verdicts(matrix) == {
        ("passes", "none"): "pass", ("passes", "none @ 127.0.0.1"): "pass",
        ("fails", "none"): "fail", ("fails", "none @ 127.0.0.1"): "fail",
    }  # fmt: skip
    lines = records(matrix)
    assert {(line["repro"], line["device"]) for line in lines} == set(verdicts(matrix))
    assert len({line["key"] for line in lines}) == 4  # the same cell on another host is another cell
    assert len({line["run"] for line in lines}) == 1
    containers, images = of_project(private_engine.url, matrix)
    assert (containers, len(images)) == ([], 3)  # the image and its two repros were built there
    examined = harness(matrix, "doctor", PATH=sshd.path).out
    assert f"ok      {sshd.host}" in examined
    listed = json.loads(harness(matrix, "images", "--json", PATH=sshd.path).out)
    assert list(listed) == ["here", "127.0.0.1"]
    cleaned = harness(matrix, "clean", "--images", PATH=sshd.path)
    assert f"removed 3 images of {sshd.host}" in cleaned.err
    assert of_project(private_engine.url, matrix) == ([], [])
    assert harness(matrix, "run", ENGINE="unix:///nonexistent", PATH="").status == 0  # nothing is asked again


def test_the_engine_of_a_run_may_be_behind_ssh(
    project: Write, engine: Engine, private_engine: PrivateEngine, sshd: Sshd
) -> None:
    matrix = project(repros={"r": repro_text("true")})
    silent = harness(matrix, "run", PATH=sshd.path, DOCKER_HOST=sshd.host)
    assert silent.status == 3
    assert (
        f"{sshd.host}, which DOCKER_HOST names. The host {sshd.host} cannot be reached: nothing listens" in silent.err
    )
    sshd.start()
    done = harness(matrix, "run", "--engine", sshd.host, PATH=sshd.path)
    assert done.status == 0, done.err
    assert results(matrix)["r"]["verdict"] == "pass"


def test_a_matrix_runs_behind_tcp_alone(project: Write, engine: Engine, private_engine: PrivateEngine) -> None:
    relay = Relay(private_engine.url)
    text = f"images: [{PLAIN}]\ndevices: [{devices(far=relay.host)}]\nrepros: [r]\n"
    matrix = project(matrix=text, repros={"r": repro_text("true", trials="3")})
    relay.start()
    try:
        done = harness(matrix, "run", ENGINE="unix:///nonexistent")  # the engine of this run has no cell
        assert done.status == 0, done.err
        assert verdicts(matrix) == {("r", "none"): "pass"}  # one host needs no name
        planned = harness(matrix, "plan", "--commands").out
        assert f"docker -H {relay.host} run" in planned
    finally:
        relay.close()


def test_tcp_with_tls_takes_docker_s_own_variables(
    project: Write, engine: Engine, private_engine: PrivateEngine, tmp_path: Path
) -> None:
    relay = Relay(private_engine.url, tls=certificates(tmp_path / "tls"))
    text = f"images: [{PLAIN}]\ndevices: [{devices(far=relay.host)}]\nrepros: [r]\n"
    matrix = project(matrix=text, repros={"r": repro_text("true")})
    relay.start()
    try:
        assert harness(matrix, "run").status == 3  # without a certificate nobody is let in
        done = harness(matrix, "run", DOCKER_TLS_VERIFY="1", DOCKER_CERT_PATH=str(tmp_path / "tls"))
        assert done.status == 0, done.err
    finally:
        relay.close()


def test_a_gpu_that_a_host_does_not_have_costs_its_own_cells(
    project: Write, engine: Engine, private_engine: PrivateEngine
) -> None:
    relay = Relay(private_engine.url)
    card = f"{{kind: gpu, name: card, host: '{relay.host}'}}"
    text = f"images: [{PLAIN}]\ndevices: [{devices(far=relay.host)}, {card}]\nrepros: [r]\n"
    matrix = project(matrix=text, repros={"r": repro_text("true")})
    relay.start()
    try:
        done = harness(matrix, "run")
        assert done.status == 2, done.err
        assert f"devices: card: {relay.host} has no AMD GPU" in done.err
        assert verdicts(matrix) == {("r", "none"): "pass", ("r", "card"): "inconclusive"}
        assert "has no AMD GPU" in table(matrix)["r", "card"]["reason"]
        assert os.uname().release in (next((matrix.parent / ".harness/hosts").glob("*/host.json"))).read_text()
    finally:
        relay.close()


def test_hosts_that_cannot_be_reached_cost_their_own_cells(project: Write, engine: Engine) -> None:
    silent = f"tcp://127.0.0.1:{free_port()}"
    nowhere = "ssh://nobody@host.invalid"
    names = f"[{{kind: none, name: near}}, {devices(silent=silent, nowhere=nowhere)}]"
    matrix = project(matrix=f"images: [{PLAIN}]\ndevices: {names}\nrepros: [r]\n", repros={"r": repro_text("true")})
    done = harness(matrix, "run")
    assert done.status == 3
    assert verdicts(matrix) == {
        ("r", "none"): "pass", ("r", "none @ 127.0.0.1"): "inconclusive", ("r", "none @ host"): "inconclusive"
    }  # fmt: skip
    reasons = {place[1]: item["reason"] for place, item in table(matrix).items()}
    assert silent in reasons["none @ 127.0.0.1"]
    assert "Connection refused" in reasons["none @ 127.0.0.1"]
    assert nowhere in reasons["none @ host"]
    assert "its name is not known" in reasons["none @ host"]
    for host in (silent, nowhere):
        assert any(host in line and "harness run" in line for line in done.err.splitlines() if "error:" in line)


def test_an_unknown_host_key_is_told_with_its_mend(
    project: Write, engine: Engine, private_engine: PrivateEngine, sshd: Sshd
) -> None:
    matrix = two(project, sshd.host, r=repro_text("true"))
    sshd.start()
    sshd.known()
    started = time.monotonic()
    done = harness(matrix, "run", PATH=sshd.path)
    assert done.status == 3
    assert time.monotonic() - started < 60
    assert "its host key is unknown here" in done.err
    assert f"ssh-keyscan -p {sshd.port} 127.0.0.1 >> ~/.ssh/known_hosts" in done.err
    assert verdicts(matrix) == {("r", "none"): "pass", ("r", "none @ 127.0.0.1"): "inconclusive"}
    sshd.known("127.0.0.1")
    again = harness(matrix, "run", PATH=sshd.path)
    assert again.status == 0, again.err
    assert set(verdicts(matrix).values()) == {"pass"}


def middle(project: Write, host: str) -> Path:
    return two(project, host, quick=repro_text("true"), slow=repro_text("sleep 12"))


def broken(matrix: Path, kill: Callable[[], None], path: str) -> Ended:
    """Run, and break the far host once one of its cells is recorded and the other runs."""
    running = subprocess.Popen(
        [HARNESS, "run", "--matrix", matrix], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    wait_for(lambda: any("127.0.0.1" in line["device"] for line in records(matrix)), 120)
    time.sleep(1)
    kill()
    out, err = running.communicate(timeout=120)
    assert "Traceback" not in err, err
    return Ended(running.returncode, out, err)


@pytest.mark.parametrize("what", ["engine", "sshd", "silence"])
def test_a_host_that_goes_away_in_the_middle_costs_its_own_cells(
    project: Write, engine: Engine, private_engine: PrivateEngine, sshd: Sshd, what: str
) -> None:
    matrix = middle(project, sshd.host)
    sshd.start()
    ways = {"engine": private_engine.kill, "sshd": sshd.kill, "silence": sshd.freeze}
    done = broken(matrix, ways[what], sshd.path)
    assert done.status == 3
    assert sshd.host in done.err
    assert "`harness run`" in done.err
    here, there = "none", "none @ 127.0.0.1"
    assert verdicts(matrix) == {
        ("quick", here): "pass", ("slow", here): "pass",
        ("quick", there): "pass", ("slow", there): "inconclusive",
    }  # fmt: skip
    assert sshd.host in table(matrix)["slow", there]["reason"]
    if what == "silence":
        sshd.kill()
    (private_engine if what == "engine" else sshd).start()
    again = harness(matrix, "run", PATH=sshd.path)
    assert again.status == 0, again.err
    assert set(verdicts(matrix).values()) == {"pass"}
    assert recorded(matrix) == 4  # nothing that was there ran again
    assert of_project(private_engine.url, matrix)[0] == []


def test_a_tcp_host_that_goes_away_costs_its_own_cells(
    project: Write, engine: Engine, private_engine: PrivateEngine
) -> None:
    relay = Relay(private_engine.url)
    matrix = middle(project, relay.host)
    relay.start()
    try:
        done = broken(matrix, relay.close, os.environ["PATH"])
        assert done.status == 3
        assert verdicts(matrix)["slow", "none @ 127.0.0.1"] == "inconclusive"
        assert verdicts(matrix)["slow", "none"] == "pass"
        relay.start()
        assert harness(matrix, "run").status == 0
        assert recorded(matrix) == 4
        assert of_project(private_engine.url, matrix)[0] == []
    finally:
        relay.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_on_a_host_when_a_run_is_ended(
    project: Write, engine: Engine, private_engine: PrivateEngine, sshd: Sshd, number: signal.Signals
) -> None:
    matrix = two(project, sshd.host, quick=repro_text("true"), slow=repro_text("sleep 60"))
    sshd.start()
    running = subprocess.Popen(
        [HARNESS, "run", "--matrix", matrix], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PATH": sshd.path}, preexec_fn=_take_interrupts,
    )  # fmt: skip
    wait_for(lambda: recorded(matrix) == 2, 120)  # builds are over: what runs now are cells
    for url in (private_engine.url, engine.endpoint.url):
        wait_for(lambda url=url: any(c["State"] == "running" for c in of_project(url, matrix)[0]))
    running.send_signal(number)
    _, err = running.communicate(timeout=60)
    assert running.returncode == (130 if number is signal.SIGINT else -9)
    if number is signal.SIGKILL:
        (matrix.parent / "repros/slow/repro.yaml").write_text(repro_text("true"))
        assert harness(matrix, "run", PATH=sshd.path).status == 0  # the next run removes what a killed one left
    for url in (private_engine.url, engine.endpoint.url):
        assert [(c["State"], c["Status"]) for c in of_project(url, matrix)[0]] == [], (url, err)
    wait_for(lambda: not sshd.clients())


def _take_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
