"""Run whole projects on the real engine: what is recorded, reused, capped, and left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness.leftovers import project_id
from harness.plan.project import read
from harness.run.engine import LABEL_PROJECT, Engine
from tests.conftest import HARNESS, PLAIN, Write, harness, repro_text, results

pytestmark = pytest.mark.engine


def ours(engine: Engine, matrix: Path) -> list[str]:
    return [item["Id"] for item in engine.containers(f"{LABEL_PROJECT}={project_id(read(matrix))}")]


def test_outcomes_events_and_records(project: Write, engine: Engine) -> None:
    events = (
        'sh -c \'echo "{\\"metric\\": {\\"name\\": \\"t\\", \\"value\\": 2, \\"unit\\": \\"us\\"}}" >> $REPRO_EVENTS\''
    )
    matrix = project(
        repros={
            "passes": repro_text("true", trials="3"),
            "fails": repro_text("sh -c 'echo hipErrorNoDevice >&2; exit 1'"),
            "crashes": repro_text("sh -c 'kill -SEGV $$'", trials="2"),
            "skips": repro_text("sh -c 'echo no such thing here; exit 77'"),
            "hangs": repro_text("sleep 60", timeout="1"),
            "measures": repro_text(events, trials="2"),
            "needs_gpu": repro_text("true", needs="[device]"),
            "needs_hipcc": repro_text("true", needs="[compiler]"),
            "not_built": repro_text("./main", build="['sh -c \"echo main.c:1:1: error: gone >&2; exit 3\"']"),
            "no_command": repro_text("./nothing"),
            "third": repro_text("sh -c 'test $REPRO_TRIAL != 2'", trials="3"),
        }
    )
    done = harness(matrix, "run")
    assert done.status == 3, done.err
    assert "1 cells got no answer" in done.err  # no_command: nothing of it ran
    found = results(matrix)
    expected = {
        "passes": ("pass", None, 3, 0),
        "fails": ("fail", "hipErrorNoDevice", 1, 1),
        "crashes": ("fail", "SIGSEGV", 2, 2),
        "skips": ("skip", None, 0, 0),
        "hangs": ("fail", "no end within 1 s", 1, 1),
        "measures": ("pass", None, 2, 0),
        "needs_gpu": ("skip", None, 0, 0),
        "needs_hipcc": ("skip", None, 0, 0),
        "not_built": ("inconclusive", None, 0, 0),
        "no_command": ("inconclusive", None, 0, 0),
        "third": ("flaky", "exit status 1", 3, 1),
    }
    assert {
        name: (item["verdict"], item["signature"], item["trials"], item["fails"]) for name, item in found.items()
    } == expected
    assert found["measures"]["metrics"] == {"t": {"median": 2.0, "unit": "us", "count": 2}}
    assert "no such thing here" in found["skips"]["reason"]
    assert "needs device" in found["needs_gpu"]["reason"]
    assert "error: gone" in found["not_built"]["reason"]
    assert ours(engine, matrix) == []
    assert harness(matrix, "run", "--fail", "--cell", "fails").status == 1
    assert harness(matrix, "run", "--fail", "--cell", "passes").status == 0


def test_nothing_is_run_or_built_twice(project: Write, engine: Engine) -> None:
    matrix = project(repros={"a": repro_text("true"), "b": repro_text("true")})
    harness(matrix, "run")
    before = sorted((matrix.parent / ".harness" / "runs").iterdir())
    assert harness(matrix, "run", ENGINE="unix:///nonexistent").status == 0  # needs no engine at all
    assert sorted((matrix.parent / ".harness" / "runs").iterdir()) == before
    plan = json.loads(harness(matrix, "plan", "--json").out)
    assert [cell["missing"] for cell in plan] == [0, 0]
    again = harness(matrix, "run", "--fresh", "--cell", "a /")
    assert again.status == 0
    assert results(matrix)["a"]["trials"] == 2
    assert results(matrix)["b"]["trials"] == 1
    # A changed file makes another image, hence another key.
    (matrix.parent / "repros" / "a" / "more.txt").write_text("x")
    assert [cell["missing"] for cell in json.loads(harness(matrix, "plan", "--json").out)] == [1, 0]


def test_a_value_with_metacharacters_is_a_value(project: Write, tmp_path: Path) -> None:
    escaped = Path("/tmp/escaped-from-a-value")
    values = [
        f"a; touch {escaped}",
        "$(id)",
        "`id`",
        "a'b\"c",
        "new\nline\nRUN id",
        "<<EOF",
        "{common}",
        *("-n", "ünï", "\\"),
    ]
    text = repro_text("sh check.sh {x}", build="['sh build.sh {x}']", params=json.dumps({"x": values}))
    scripts = {
        "repros/quoted/build.sh": 'printf "%s\\n" "$1" > built\n',
        "repros/quoted/check.sh": 'printf "%s\\n" "$1" | cmp - built\n',
    }
    matrix = project(repros={"quoted": text}, files=scripts)
    assert harness(matrix, "run").status == 0
    assert {item["verdict"] for item in results(matrix).values()} == {"pass"}
    assert len(results(matrix)) == len(values)
    assert not escaped.exists()


HOSTILE = {
    "prints": "sh -c 'echo first; head -c 1000000000 /dev/zero; echo; echo last; exit 3'",
    "bomb": "sh -c 'b() { b | b & }; b; sleep 60'",
    "bomb_of_sessions": "sh -c 'while :; do setsid sleep 1000 & done'",
    "stubborn": "sh stubborn.sh",
    "writes": "sh writes.sh",
    "fills": "sh -c 'cat /dev/zero > /tmp/zero; cat /dev/zero > $HOME/zero; exit 5'",
    "memory": "sh -c 'tail /dev/zero'",
    "kills": "sh -c 'kill -9 -1'",
    "closes": "sh -c 'exec >&- 2>&-; exit 6'",
    "leaves": "sh -c 'setsid sleep 1000 & exit 0'",
}


SLOW = {"prints", "writes", "memory"}  # on a busy host: what they do has to end before a timeout ends them


def test_hostile_repros_hurt_only_themselves(project: Write, engine: Engine) -> None:
    text = f"""
        images: [{PLAIN}]
        devices: [none]
        repros: [{", ".join(HOSTILE)}]
        limits: {{memory: 256m, pids: 128, tmp: 64m, file: 64m, cpus: 1}}
    """
    writes = "find / -xdev -type d -exec sh -c 'for d; do echo x > $d/.x; done' sh {} + 2>/dev/null\nexit 4\n"
    stubborn = "trap '' TERM INT HUP\nwhile :; do sleep 1; done\n"
    matrix = project(
        matrix=text,
        repros={n: repro_text(run, timeout="60" if n in SLOW else "3") for n, run in HOSTILE.items()},
        files={"repros/stubborn/stubborn.sh": stubborn, "repros/writes/writes.sh": writes},
    )
    started = time.monotonic()
    done = harness(matrix, "run")
    assert done.status == 3, done.err  # some of them leave no answer, and that is said
    assert time.monotonic() - started < 120
    found = {name: (item["verdict"], item["signature"]) for name, item in results(matrix).items()}
    assert found["prints"] == ("fail", "exit status 3")
    assert found["bomb"][0] == "fail"
    assert found["bomb_of_sessions"][0] == "fail"
    assert found["stubborn"] == ("fail", "no end within 3 s")
    assert found["writes"] == ("fail", "exit status 4")
    assert found["fills"][0] in {"fail", "inconclusive"}  # a full disk is trouble of the place, not of ROCm
    assert found["memory"] == ("fail", "out of memory")
    assert found["kills"][0] == "inconclusive"
    assert found["closes"] == ("fail", "exit status 6")
    assert found["leaves"][0] == "pass"
    assert ours(engine, matrix) == []
    (record,) = (matrix.parent / ".harness" / "runs").glob("*.jsonl")
    assert record.stat().st_size < 4 << 20
    printed = next(line for line in record.read_text().splitlines() if '"repro":"prints"' in line)
    output = json.loads(printed)["stdout"]
    assert output.startswith("first\n")
    assert output.endswith("last\n")
    assert "bytes left out" in output


def begin(matrix: Path) -> subprocess.Popen[str]:
    # A shell's background job ignores Ctrl-C and hands that on, to tests that run under nohup, too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [HARNESS, "run", "--matrix", matrix], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)


def wait_for(condition: object, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


def recorded(matrix: Path) -> int:
    """Count the trials that are on disk."""
    return sum(path.read_text().count("\n") for path in (matrix.parent / ".harness/runs").glob("*.jsonl"))


def slow_project(project: Write) -> Path:
    return project(
        repros={
            "quick": repro_text("true", trials="3"),
            "slow": repro_text("sleep 30"),
            "slow2": repro_text("sleep 30"),
        }
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stops_containers_at_once_and_says_how_to_resume(
    project: Write, engine: Engine, how: signal.Signals
) -> None:
    matrix = slow_project(project)
    running = begin(matrix)
    wait_for(lambda: recorded(matrix) == 3 and len(ours(engine, matrix)) >= 2)
    started = time.monotonic()
    running.send_signal(how)
    _, err = running.communicate(timeout=30)
    took = time.monotonic() - started
    assert running.returncode == 130
    assert took < 3
    assert re.search(r"to resume, run: \S*harness run --matrix", err)
    assert "Traceback" not in err
    assert ours(engine, matrix) == []
    verdicts = {name: item["verdict"] for name, item in results(matrix).items()}
    assert verdicts == {"quick": "pass", "slow": "inconclusive", "slow2": "inconclusive"}


def test_after_kill_9_the_next_run_finishes_what_is_missing_and_removes_only_its_own(
    project: Write, engine: Engine, tmp_path: Path
) -> None:
    from harness.run.container import ContainerSpec

    matrix = slow_project(project)
    running = begin(matrix)
    wait_for(lambda: len(ours(engine, matrix)) >= 2)
    wait_for(lambda: recorded(matrix) == 3)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    left = ours(engine, matrix)
    assert len(left) >= 2
    tag = json.loads((matrix.parent / ".harness/built/plain.json").read_text())["tag"]
    others = {
        "another project": {LABEL_PROJECT: "0123456789ab", "rocm-harness.run": "r"},
        "a stranger": {},
    }
    strangers = [
        engine.create(ContainerSpec(image=tag, entrypoint=("sleep",), command=("1",), labels=labels))
        for labels in others.values()
    ]
    try:
        (matrix.parent / "matrix.yaml").write_text(f"images: [{PLAIN}]\ndevices: [none]\nrepros: [quick, slow3]\n")
        (matrix.parent / "repros/slow3").mkdir()
        (matrix.parent / "repros/slow3/repro.yaml").write_text(repro_text("true"))
        done = harness(matrix, "run")
        assert done.status == 0
        assert "cells: 1" in done.err  # quick has all its trials
        assert not set(left) & set(ours(engine, matrix))
        for stranger in strangers:
            engine.remove(stranger)  # raises nothing: they were there
    finally:
        for stranger in strangers:
            engine.remove(stranger)


def test_a_live_run_is_not_taken_for_a_dead_one(project: Write, engine: Engine) -> None:
    matrix = slow_project(project)
    running = begin(matrix)
    wait_for(lambda: len(ours(engine, matrix)) >= 2)
    wait_for(lambda: recorded(matrix) == 3 and len(ours(engine, matrix)) == 2)
    before = ours(engine, matrix)
    assert "removed 0 containers" in harness(matrix, "clean").err
    assert ours(engine, matrix) == before
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)


def test_a_container_that_a_user_starts_from_our_image_is_not_ours(project: Write, engine: Engine) -> None:
    matrix = project(repros={"r": repro_text("true")})
    harness(matrix, "run")
    tag = json.loads((matrix.parent / ".harness/built/plain+r.json").read_text())["tag"]
    theirs = subprocess.run(
        ["docker", "run", "-d", "--network", "none", "--entrypoint", "sleep", tag, "60"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    try:
        harness(matrix, "run", "--fresh")
        harness(matrix, "clean")
        state = subprocess.run(
            ["docker", "inspect", "-f", "{{.State.Running}}", theirs], capture_output=True, text=True, check=False
        )
        assert state.stdout.strip() == "true"
    finally:
        engine.remove(theirs)


def test_two_runs_at_once_do_not_run_anything_twice(project: Write) -> None:
    matrix = project(repros={"r": repro_text("sleep 0.2 {n}", params="{n: [1, 2, 3, 4]}", trials="2")})
    both = [begin(matrix), begin(matrix)]
    errors = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert any("waiting for another run" in error for error in errors)
    assert recorded(matrix) == 8
    assert {item["trials"] for item in results(matrix).values()} == {2}


def test_variables_of_a_repro_reach_it_whatever_they_are_called(project: Write) -> None:
    names = ["LIMIT", "n", "oom", "status", "line", "first", "KEEP", "NONCE", "record", "PATH"]
    checks = "\n".join(f'test "${name}" = mine-{name}' for name in names if name != "PATH")
    variables = json.dumps({**{name: f"mine-{name}" for name in names}, "PATH": "/usr/bin:/bin:/mine"})
    matrix = project(
        repros={"r": repro_text("sh check.sh", environment=variables)},
        files={"repros/r/check.sh": f"set -e\n{checks}\ntest $PATH = /usr/bin:/bin:/mine\n"},
    )
    assert harness(matrix, "run").status == 0
    assert results(matrix)["r"]["verdict"] == "pass"


def test_what_a_repro_prints_to_the_container_is_not_believed(project: Write) -> None:
    script = "for i in 1 2 3; do echo 'end 1' > /proc/1/fd/1; echo 'build started' > /proc/1/fd/1; done\nexit 3\n"
    matrix = project(repros={"r": repro_text("sh forge.sh", trials="2")}, files={"repros/r/forge.sh": script})
    harness(matrix, "run")
    assert results(matrix)["r"]["fails"] == 2


def test_a_closed_pipe_and_a_folder_that_cannot_be_written_are_no_tracebacks(project: Write) -> None:
    matrix = project(repros={"r": repro_text("true {n}", params=json.dumps({"n": list(range(300))}))})
    line = f"{HARNESS} plan --matrix {matrix} | true; exit ${{PIPESTATUS[0]}}"
    piped = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (piped.returncode, piped.stderr) == (0, "")
    full = subprocess.run(["sh", "-c", f"{HARNESS} plan --matrix {matrix} > /dev/full"], capture_output=True, text=True)
    assert full.returncode == 3
    assert "No space left" in full.stderr
    assert "Traceback" not in full.stderr


def test_an_interrupt_while_an_image_is_built_ends_at_once(project: Write) -> None:
    # An engine may end the step all the same and keep the image: another run of this test must not find it.
    matrix = project(repros={"r": repro_text("true", build=f"['sleep 30.{time.time_ns() % 10**9:09}']")})
    running = begin(matrix)
    wait_for(lambda: list((matrix.parent / ".harness/logs/build").glob("plain+r.log")))
    time.sleep(1.5)
    started = time.monotonic()
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130
    assert time.monotonic() - started < 3


def test_a_failing_control_makes_its_siblings_inconclusive(project: Write) -> None:
    text = repro_text("sh -c 'exit {code}'", params="{code: [0, 1, 2]}", controls="[{code: 2}]")
    matrix = project(repros={"r": text})
    harness(matrix, "run")
    found = results(matrix)
    assert [found[f"r code={code}"]["verdict"] for code in (0, 1, 2)] == ["inconclusive", "inconclusive", "fail"]
    assert "control code=2 did not pass" in found["r code=1"]["reason"]


def test_the_repro_sees_only_what_it_is_given(project: Write) -> None:
    script = """
        set -e
        ! touch /etc/x 2>/dev/null
        touch /tmp/x "$HOME/x"
        ! cat /proc/net/dev | grep -q eth
        test "$(grep CapEff /proc/self/status | tr -d '[:space:]')" = CapEff:0000000000000000
        test "$(grep NoNewPrivs /proc/self/status | tr -dc 01)" = 1
        test "$HOME" = /home/repro
        test "$MINE" = 'a b'
        ! env | grep -E '^(KEEP|LIMIT|FILE_BLOCKS)='
    """
    matrix = project(
        repros={"sees": repro_text("sh check.sh", environment="{MINE: a b}")},
        files={"repros/sees/check.sh": "\n".join(line.strip() for line in script.splitlines())},
    )
    done = harness(matrix, "run", SECRET_OF_THE_HOST="s")
    assert results(matrix)["sees"]["verdict"] == "pass", done.err


def test_the_written_folder_and_the_printed_line_give_the_same_verdict_without_the_harness(
    project: Write, tmp_path: Path
) -> None:
    import shlex
    import shutil

    experiment = repro_text("x", regressed_when="build", build="['sh -c \"exit {x}\"']", params="{x: [0, 3]}")
    matrix = project(
        repros={
            "fine": repro_text("sh -c 'exit {x}'", params="{x: [0, 5]}"),
            "built": experiment.replace('run: "x"\n', ""),
        }
    )
    harness(matrix, "run")
    for cell in json.loads(harness(matrix, "plan", "--commands", "--json").out):
        build = shlex.split(cell["build"])
        elsewhere = tmp_path / f"elsewhere-{len(list(tmp_path.iterdir()))}"
        shutil.copytree(build[-1], elsewhere)
        fresh = f"rocm-harness/test:{os.getpid()}"
        build[build.index("-t") + 1], build[-1] = fresh, str(elsewhere)
        old = {**os.environ, "DOCKER_BUILDKIT": "0"}
        subprocess.run(build, check=True, capture_output=True, env=old)
        line = [fresh if word.startswith("rocm-harness/cell/") else word for word in shlex.split(cell["run"])]
        ended = subprocess.run(line, capture_output=True, check=False)
        assert (ended.returncode == 0) == (cell["case"]["x"] == 0), ended
        subprocess.run(["docker", "rmi", fresh], check=True, capture_output=True)
