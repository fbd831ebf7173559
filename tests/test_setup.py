"""setup.sh on copies of the tree: what it says, what it leaves, and that it mends what was cut short.

The copies lock one package where the real tree locks dozens, so that each making of ``.venv`` takes seconds.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TREE = Path(__file__).parent.parent
# The tools that setup.sh itself may use; `python3`, apt-get and sudo are each test's own.
TOOLS = (
    *("sh", "cat", "cp", "dirname", "env", "flock", "grep", "id", "mkdir", "printf", "readlink", "rm", "sha256sum"),
    *("sleep", "tail", "touch", "true"),
)


def locked(text: str, package: str) -> str:
    """Return one package's lines, hashes included, of a lock file."""
    entry = re.search(rf"^{package}==.*\n(?:    --hash.*\n)+", text, re.MULTILINE)
    assert entry
    return entry[0]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of what set-up needs, with ``iniconfig`` for the tests and only the build back end to run."""
    copy = tmp_path / "tree"
    shutil.copytree(TREE / "harness", copy / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.sh", "pyproject.toml"):
        shutil.copy(TREE / name, copy)
    (copy / "requirements").mkdir()
    lock = (TREE / "requirements/test.txt").read_text()
    run = locked(lock, "setuptools")
    (copy / "requirements/run.txt").write_text(run)
    (copy / "requirements/test.txt").write_text(run + locked(lock, "iniconfig"))
    return copy


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """Return a folder with the tools and nothing else, to be the whole PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        if path := shutil.which(name):
            (folder / name).symlink_to(path)
    return folder


def program(folder: Path, name: str, script: str) -> None:
    # Writing through the link of the fixture would put the script in place of this machine's own tool.
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def setup(tree: Path, *options: str, path: Path | None = None, **env: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHON": sys.executable, **env}
    if path:
        environment |= {"PATH": str(path), "PYTHON": env.get("PYTHON", "")}
    command = ["/bin/sh", str(tree / "setup.sh"), *options]
    return subprocess.run(
        command, env=environment, text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )


def has(tree: Path, module: str) -> bool:
    done = subprocess.run(
        [tree / ".venv/bin/python", "-c", f"import {module}"], capture_output=True, cwd="/", check=False
    )
    return done.returncode == 0


def test_whole_life(tree: Path) -> None:
    first = setup(tree)
    assert (first.returncode, first.stdout) == (0, "")
    assert re.fullmatch(r"setup: making \.venv with Python 3\.\d+\.\S+ and requirements/run\.txt\n", first.stderr)
    assert has(tree, "harness")
    assert (tree / ".venv/bin/harness").exists()
    assert not has(tree, "iniconfig")

    second = setup(tree, "--test")
    assert (second.returncode, second.stderr) == (0, "setup: adding requirements/test.txt to .venv\n")
    assert has(tree, "iniconfig")

    python = tree / ".venv/bin/python"
    made = python.lstat().st_mtime_ns
    started = time.monotonic()
    for options in ((), ("--test",)) * 5:
        again = setup(tree, *options)
        assert (again.returncode, again.stderr) == (0, "")
    assert time.monotonic() - started < 10 * 0.2
    assert python.lstat().st_mtime_ns == made

    # An interpreter that vanished, as after an upgrade of the distribution; and a package that is not the locked one.
    python.unlink()
    python.symlink_to("/nonexistent/python3")
    lock = tree / "requirements/run.txt"
    lock.write_text(re.sub(r"(sha256:)\w{8}", r"\g<1>00000000", lock.read_text()))
    refused = setup(tree)
    assert refused.returncode == 3
    assert refused.stderr.startswith("setup: making .venv")
    assert "HASHES" in refused.stderr
    assert ".harness/setup.log is above" in refused.stderr
    assert not (tree / ".venv/.base").exists()


def test_cut_short_is_mended_and_two_at_once_make_one(tree: Path) -> None:
    command = ["/bin/sh", str(tree / "setup.sh")]
    env = {**os.environ, "PYTHON": sys.executable}
    cut = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 30
    while not (tree / ".venv/bin/python").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(cut.pid, signal.SIGKILL)
    cut.wait()
    assert (tree / ".venv/bin/python").exists()
    assert not has(tree, "harness")

    both = [subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert "".join(said).count("making .venv") == 1
    assert has(tree, "harness")


def test_usage(tree: Path) -> None:
    done = setup(tree, "--tests")
    assert (done.returncode, done.stderr) == (2, "setup: usage: sh setup.sh [--test]\n")


# --- a machine without Python or venv

APT = "apt-get update && apt-get install -y --no-install-recommends python3 python3-venv"


def test_no_venv_and_no_root_stops_with_the_command(tree: Path, tools: Path) -> None:
    program(tools, "id", "echo 1000")
    program(tools, "python3", "exit 1")  # a python3 whose ensurepip cannot be imported
    program(tools, "apt-get", "touch called")
    done = setup(tree, path=tools)
    assert done.returncode == 3
    # The command is that of the distribution which runs this test.
    assert done.stderr.startswith("setup: no Python >= 3.10 with venv here. Run as root: ")
    assert not (tree / "called").exists()
    assert not (tree / ".venv").exists()


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ("ID=debian", APT),
        ("ID=ubuntu\nID_LIKE=debian", APT),
        ('ID="linuxmint"\nID_LIKE="ubuntu debian"', APT),
        ("ID=fedora", "dnf install -y python3"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"', "dnf install -y python3.12"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"', "zypper --non-interactive install python311"),
        ("ID=arch", "pacman -S --noconfirm python"),
        ("ID=plan9", "(your package manager: python3 >= 3.10 with venv and ensurepip)"),
    ],
)
def test_command_for_each_distribution(tree: Path, tools: Path, release: str, command: str) -> None:
    (tree / "os-release").write_text(release)
    script = (tree / "setup.sh").read_text()
    (tree / "setup.sh").write_text(script.replace("/etc/os-release", f"{tree}/os-release"))
    done = setup(tree, path=tools)
    assert (done.returncode, done.stderr) == (3, f"setup: no Python >= 3.10 with venv here. Run as root: {command}\n")


@pytest.mark.parametrize(("user", "words"), [("0", "apt-get"), ("1000", "sudo -n apt-get")])
def test_installs_python_as_root_or_with_sudo(tree: Path, tools: Path, user: str, words: str) -> None:
    program(tools, "id", f"echo {user}")
    program(tools, "sudo", 'echo "sudo $*" >>sudo-calls; shift; exec "$@"')
    # What it installs is good enough to be chosen and makes no venv, which takes its time and is not the question here.
    script = 'case "$1" in -c) ;; -V) echo Python 3.12.3 ;; *) exit 1 ;; esac'
    program(tools, "apt-get", f"echo \"$*\" >>apt-calls; printf '#!/bin/sh\\n%s\\n' '{script}' >{tools}/python3")
    program(tools, "python3", "exit 1")
    done = setup(tree, path=tools)
    assert done.stderr.splitlines()[:2] == [
        f"setup: no Python >= 3.10 with venv here: installing python3 and python3-venv with {words}",
        "setup: making .venv with Python 3.12.3 and requirements/run.txt",
    ]
    calls = (tree / "apt-calls").read_text().splitlines()
    assert calls == ["update", "install -y --no-install-recommends python3 python3-venv"]
    assert (tree / "sudo-calls").exists() == (user != "0")


def test_sudo_that_needs_a_password_is_not_asked_without_a_terminal(tree: Path, tools: Path) -> None:
    program(tools, "id", "echo 1000")
    program(tools, "sudo", "exit 1")
    program(tools, "apt-get", "touch called")
    done = setup(tree, path=tools)
    assert done.returncode == 3
    assert not (tree / "called").exists()


# --- the lock files


@pytest.mark.parametrize("name", ["run.txt", "test.txt"])
def test_lock_pins_all_by_hash_and_names_no_index(name: str) -> None:
    text = (TREE / "requirements" / name).read_text()
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text
    assert "@" not in re.sub("#.*", "", text)
    for entry in re.split(r"\n(?=[a-z])", re.sub(r"(?m)^\s*#.*\n", "", text)):
        assert re.match(r"[a-z0-9-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry


def test_tests_run_on_the_versions_of_a_run() -> None:
    run, test = ((TREE / "requirements" / name).read_text().splitlines() for name in ("run.txt", "test.txt"))
    assert {line for line in run if "==" in line} <= {line for line in test if "==" in line}


def test_lock_covers_pyproject() -> None:
    text = (TREE / "requirements/test.txt").read_text()
    project = (TREE / "pyproject.toml").read_text()
    wanted = re.findall(
        r'^    "([a-zA-Z][\w.-]*)(?:[><=~].*)?",', project.partition("[project.scripts]")[0], re.MULTILINE
    )
    assert len(wanted) > 10
    for package in wanted:
        assert re.search(rf"^{package.lower().replace('.', '-').replace('_', '-')}==", text, re.MULTILINE), package
