"""Run cells in every kind of home that can be had here, and see that what fails is what the documentation says."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from harness import rooms
from harness.build.images import Built
from harness.build.nfslike import NAME
from harness.build.state import read_state
from harness.errors import HarnessError
from harness.leftovers import project_id
from harness.plan.homes import BindHome, Home, RestrictedHome
from harness.plan.project import read
from harness.rooms import Rooms
from harness.run import beside, restricted
from harness.run.container import ContainerSpec, Powers
from harness.run.engine import LABEL_PROJECT, Engine
from tests.conftest import PLAIN, ROOT, Write, harness, repro_text, results
from tests.test_run import begin, ours, wait_for

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

MOUNTS = Path("/proc/mounts")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting on this host is for root")


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the probe in every home of homes/matrix.yaml, and in a bound folder."""
    folder = tmp_path_factory.mktemp("homes") / "project"
    shutil.copytree(ROOT / "homes", folder, ignore=shutil.ignore_patterns(".harness"))
    (folder / "bound").mkdir()
    (folder / "bound" / "old").write_text("was here before")
    text = (folder / "matrix.yaml").read_text()
    (folder / "matrix.yaml").write_text(text.replace("homes:\n", f"homes:\n  - {{kind: bind, path: {folder}/bound}}\n"))
    done = harness(folder / "matrix.yaml", "run")
    assert done.status == 0, done.err
    return folder / "matrix.yaml"


def measured(matrix: Path) -> dict[str, dict[str, Any]]:
    """Return the results of a project by the name of the home."""
    listed = json.loads(harness(matrix, "table", "--json").out)
    return {item["home"].partition(" ")[0]: item for item in listed}


def documented() -> dict[str, dict[str, str]]:
    """Read the table of docs/homes.md: home, then step and result."""
    lines = (ROOT / "docs" / "homes.md").read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| home | mkdir"))
    heads, _, *rows = [
        [cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines[start:] if "|" in line
    ]
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        if len(row) != len(heads):
            break
        for name in row[0].split(", "):
            found[name.strip("`")] = dict(zip(heads[1:], row[1:], strict=True))
    return found


def test_every_home_answers_as_documented(probed: Path, engine: Engine) -> None:
    found = measured(probed)
    assert {name: item["observations"] for name, item in found.items()} == documented()
    assert ours(engine, probed) == []
    assert "restricted" not in MOUNTS.read_text()


def test_the_watch_names_the_cache_in_every_home(probed: Path) -> None:
    for name, item in measured(probed).items():
        writes = item["home_writes"]
        assert isinstance(writes, dict), name
        assert writes["caches"] == ["MIOpen kernel cache"], name
        served = not name.startswith(("local", "tmpfs", "bind", "engine"))
        assert writes["by"] == ("log" if served else "walk"), name
        assert bool(writes["failed"]) == any(value != "ok" for value in dict(item["observations"]).values()), name
        assert writes["means"].startswith("a FUSE" if served else "the engine" if "engine" in name else ""), name


def test_the_watch_tells_what_was_written_and_what_was_there_before(probed: Path) -> None:
    found = measured(probed)
    for name, kind in (("local", None), ("tmpfs", "tmpfs"), ("bind", None), ("no-locks", "fuse.restricted")):
        writes = found[name]["home_writes"]
        assert isinstance(writes, dict)
        paths = [item["path"] for item in writes["wrote"]]
        assert ".cache/miopen/3.2.0/gfx90a.ukdb.lock" in paths
        assert "old" not in paths
        assert kind is None or writes["file_system"] == kind
    locked = found["no-locks"]["home_writes"]
    assert isinstance(locked, dict)
    assert ".cache/miopen/3.2.0/gfx90a.ukdb.lock" in locked["locks"]
    assert (probed.parent / "bound" / "old").read_text() == "was here before"
    assert (probed.parent / "bound" / ".cache" / "miopen").is_dir()


def test_slow_attributes_are_slow_and_others_are_not(probed: Path) -> None:
    took = {name: item["metrics"]["stat"]["median"] for name, item in measured(probed).items()}
    assert took["slow"] >= 20
    # On a busy machine any one of the others may have had to wait.
    assert statistics.median(value for name, value in took.items() if name != "slow") < 20


def test_refusals_are_footnotes_of_the_table(probed: Path) -> None:
    printed = harness(probed, "table", COLUMNS="250").out
    assert "home: MIOpen kernel cache: ENOLCK" in " ".join(printed.split())
    assert "made by the engine: a seccomp profile" in printed
    assert "not writable at all for its user (give `user:` the uid:gid of its owner" in printed


def one_home(project: Write, home: str, run: str = "true", **extra: str) -> Path:
    text = f"images: [{PLAIN}]\ndevices: [none]\nrepros: [r]\nhomes:\n  - local\n  - {home}\n"
    return project(matrix=text, repros={"r": repro_text(run, **extra)})


def of_home(matrix: Path) -> dict[str, dict[str, Any]]:
    return {name: item for name, item in measured(matrix).items() if name != "local"}


def test_a_user_needs_no_entry_in_passwd(project: Write) -> None:
    run = "sh -c 'test $(id -u):$(id -g) = 4242:4343 && ! getent passwd 4242 && touch $HOME/x && test -O $HOME/x'"
    matrix = one_home(project, "{kind: local, name: other, user: '4242:4343'}", run)
    harness(matrix, "run", "--cell", "other")
    assert of_home(matrix)["other"]["verdict"] == "pass"


@pytest.mark.parametrize(
    ("home", "words"),
    [
        ("{kind: bind, path: /nonexistent/home}", "there is no such folder on that host"),
        ("{kind: nfs, server: 127.0.0.1, path: /export, patience: 5}", "127.0.0.1:/export"),
        ("{kind: restricted, means: engine, stale: true}", "need /dev/fuse"),
    ],
)
def test_a_home_that_cannot_be_had_costs_only_its_own_cells(
    project: Write, engine: Engine, home: str, words: str
) -> None:
    matrix = one_home(project, home)
    started = time.monotonic()
    done = harness(matrix, "run")
    assert time.monotonic() - started < 100
    assert done.status == 3
    assert words in done.err
    found = measured(matrix)
    assert found.pop("local")["verdict"] == "pass"
    ((name, item),) = found.items()
    assert item["verdict"] == "inconclusive"
    assert words in str(item["reason"])
    assert name in {"bind", "nfs", "restricted"}
    assert ours(engine, matrix) == []
    label = f"{LABEL_PROJECT}={project_id(read(matrix))}"
    assert not engine.volumes(label)


def test_a_home_that_is_not_writable_is_said_to_be_so(project: Write, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    matrix = one_home(
        project, f"{{kind: bind, path: {closed}, user: '4242:4242'}}", "touch {x}", params='{x: ["/tmp/x"]}'
    )
    done = harness(matrix, "run")
    assert done.status == 0, done.err
    assert "home: not writable at all for its user (give `user:` the uid:gid of its owner" in " ".join(done.out.split())
    assert of_home(matrix)["bind"]["verdict"] == "pass"


@pytest.fixture
def export(engine: Engine, project: Write, tmp_path: Path) -> Iterator[Callable[[RestrictedHome], Path]]:
    """Return a function that mounts the file system of restricted homes on this host, as another's export would be."""
    matrix = one_home(project, "{kind: restricted, squash: true}")
    assert harness(matrix, "run").status == 0
    built = read_state(matrix.parent / ".harness" / "built" / f"{NAME}.json", Built)
    assert built is not None
    point = tmp_path / "export"
    (point / "me").mkdir(parents=True)
    helpers = []

    def mount(home: RestrictedHome) -> Path:
        words = [str(point) if word == "/home/repro" else word for word in restricted.attendant(home, "").command]
        serving = ContainerSpec(
            image=built.image_id, entrypoint=tuple(words), command=("--pid", str(os.getpid())), user="0:0",
            devices={restricted.FUSE: restricted.FUSE}, labels={"rocm-harness.test": "export"},
            powers=Powers(capabilities=restricted.CAPABILITIES, host_processes=True),
        )  # fmt: skip
        helpers.append(engine.create(serving))
        engine.launch(helpers[-1])
        wait_for(lambda: str(point) in MOUNTS.read_text())
        return point / "me"

    yield mount
    for helper in helpers:
        engine.kill(helper)
    subprocess.run(["umount", "-l", str(point)], check=False)
    for helper in helpers:
        engine.remove(helper)


@as_root
def test_a_bound_folder_below_a_squashed_export_is_explained(
    project: Write, export: Callable[[RestrictedHome], Path]
) -> None:
    path = export(RestrictedHome(kind="restricted", squash=True))
    matrix = path.parents[1] / "other"
    shutil.copytree(path.parents[1] / "project", matrix)
    text = (
        (matrix / "matrix.yaml")
        .read_text()
        .replace("{kind: restricted, squash: true}", f"{{kind: bind, path: {path}}}")
    )
    (matrix / "matrix.yaml").write_text(text)
    done = harness(matrix / "matrix.yaml", "run")
    assert done.status == 3
    assert "root_squash" in done.err
    assert of_home(matrix / "matrix.yaml")["bind"]["verdict"] == "inconclusive"


@as_root
def test_a_server_that_hangs_is_given_up(
    engine: Engine, export: Callable[[RestrictedHome], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = export(RestrictedHome(kind="restricted", slow=6000))
    monkeypatch.setattr(rooms, "BIND_PATIENCE", 1.0)
    image = next(item["Id"] for item in engine.images("rocm-harness.spec-hash"))
    told: dict[str, HarnessError | None] = {}
    label = f"rocm-harness.test-{secrets.token_hex(4)}"
    monkeypatch.setattr(engine, "labels", {label: "1"})
    made = Rooms(engine=engine, image=image, program=None, failed=told.__setitem__)
    homes: dict[str, Home] = {"bind": BindHome(kind="bind", path=str(path))}
    started = time.monotonic()
    made.prepare(homes)
    assert time.monotonic() - started < 20
    assert made.grants == {}
    assert "is silent" in str(told["home bind"])

    def gone() -> bool:
        for container in engine.containers(label):
            engine.remove(container["Id"])
        return not engine.containers(label)

    time.sleep(8)  # the engine makes the container when the server answers at last
    wait_for(gone)


MEANS: tuple[Literal["auto", "fuse", "engine"], ...] = ("auto", "fuse", "engine")
RESTRICTED = "{kind: restricted, no_locks: true}"


def waiting(project: Write, engine: Engine) -> tuple[Path, subprocess.Popen[str]]:
    """Begin a run whose only cell sleeps in a home that is served."""
    matrix = one_home(project, RESTRICTED, "sleep 30")
    text = (matrix).read_text().replace("  - local\n", "")
    matrix.write_text(text)
    running = begin(matrix)
    wait_for(lambda: len(ours(engine, matrix)) == 2, 200)
    time.sleep(1)
    return matrix, running


def test_an_interrupt_takes_the_served_home_away(project: Write, engine: Engine) -> None:
    matrix, running = waiting(project, engine)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)
    assert running.returncode == 130
    assert ours(engine, matrix) == []


def test_after_kill_9_the_next_run_takes_the_served_home_away(project: Write, engine: Engine) -> None:
    matrix, running = waiting(project, engine)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    left = ours(engine, matrix)
    assert len(left) == 2
    (matrix.parent / "repros/r/repro.yaml").write_text(repro_text("true"))
    assert harness(matrix, "run").status == 0
    assert ours(engine, matrix) == []
    assert "restricted" not in MOUNTS.read_text()


def test_a_program_that_dies_is_no_result(project: Write, engine: Engine) -> None:
    matrix, running = waiting(project, engine)
    helper = next(c for c in engine.containers("rocm-harness.project") if c["Image"].startswith("rocm-harness/nfslike")
                  or "nfslike" in c["Command"])  # fmt: skip
    engine.kill(helper["Id"])
    _, err = running.communicate(timeout=300)
    assert running.returncode in {0, 3}, err
    runs = [path.read_text() for path in (matrix.parent / ".harness/runs").glob("*.jsonl")]
    assert '"outcome":"infra"' in runs[0]
    assert '"outcome":"fail"' not in runs[0]


def test_an_engine_without_fuse_is_told_from_one_with_it(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    image = next(
        item["Id"]
        for item in engine.images("rocm-harness.spec-hash")
        for tag in item["RepoTags"] or []
        if "nfslike" in tag
    )
    assert beside.has_fuse(engine, image)
    monkeypatch.setattr(restricted, "FUSE", "/dev/there-is-no-such-device")
    assert not beside.has_fuse(engine, image)
    told: dict[str, HarnessError | None] = {}
    made = Rooms(engine=engine, image=image, program=image, failed=told.__setitem__)
    made.prepare({means: RestrictedHome(kind="restricted", no_locks=True, name=means, means=means) for means in MEANS})
    assert set(made.grants) == {"auto", "engine"}
    assert all(granted.means.startswith("the engine: a seccomp profile") for granted in made.grants.values())
    assert "no FUSE file system" in str(told["home fuse"])


def test_results_do_not_depend_on_who_looks(project: Write) -> None:
    """A repro sees neither the file of the log nor the program that serves its home."""
    matrix = one_home(project, RESTRICTED, "sh -c 'test -z \"$(ls -A $HOME)\" && ! grep -l nfslike /proc/[0-9]*/comm'")
    assert harness(matrix, "run").status == 0
    assert {item["verdict"] for item in results(matrix).values()} == {"pass"}
