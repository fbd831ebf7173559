"""Lock files in a served home as on a local disk: the file system keeps its locks itself."""

from __future__ import annotations

import pytest

from tests.conftest import PLAIN, Write, harness, repro_text
from tests.test_homes import measured

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

LOCKING = """
import fcntl, os, signal, sys, time
path = os.path.expanduser("~/file")
first, second = open(path, "w+"), open(path, "r+")

def attempt(lock, how, *range):
    child = os.fork()
    if child == 0:
        first.close(), second.close()  # a copy of an opening would go on holding its lock
        try:
            lock(open(path, "r+"), how, *range)
        except BlockingIOError:
            os._exit(1)
        os._exit(0)
    return child

def got(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

NOW = fcntl.LOCK_EX | fcntl.LOCK_NB
# A range: for others it is taken, for another file of the same process it is not; others are free.
fcntl.lockf(first, NOW, 10, 0)
fcntl.lockf(second, NOW, 10, 0)
assert not got(attempt(fcntl.lockf, NOW, 10, 5))
assert got(attempt(fcntl.lockf, NOW, 10, 10))
# Whoever waits gets it when it is given up, and when its holder closes any file of it.
waiting = attempt(fcntl.lockf, fcntl.LOCK_EX, 10, 0)
time.sleep(0.3)
assert os.waitpid(waiting, os.WNOHANG) == (0, 0)
fcntl.lockf(first, fcntl.LOCK_UN, 10, 0)
assert got(waiting)
fcntl.lockf(first, NOW, 10, 0)
second.close()
assert got(attempt(fcntl.lockf, NOW, 10, 0))
# A whole file: for another opening of it it is taken, until this one is closed.
fcntl.flock(first, NOW)
assert not got(attempt(fcntl.flock, NOW))
waiting = attempt(fcntl.flock, fcntl.LOCK_EX)
time.sleep(0.3)
first.close()
assert got(waiting)
# A holder that dies gives up what it holds; whoever waits can be killed.
holder = os.fork()
if holder == 0:
    file = open(path, "r+")
    fcntl.lockf(file, NOW)
    fcntl.flock(file, NOW)
    time.sleep(60)
time.sleep(0.5)
assert not got(attempt(fcntl.lockf, NOW)) and not got(attempt(fcntl.flock, NOW))
stuck = [attempt(fcntl.lockf, fcntl.LOCK_EX) for _ in range(20)]
time.sleep(0.5)
for each in stuck:
    os.kill(each, signal.SIGKILL)
    os.waitpid(each, 0)
os.kill(holder, signal.SIGKILL)
os.waitpid(holder, 0)
assert got(attempt(fcntl.lockf, fcntl.LOCK_EX)) and got(attempt(fcntl.flock, fcntl.LOCK_EX))
"""


def test_locks_in_a_served_home_are_locks(project: Write) -> None:
    image = PLAIN.replace("packages: []", "packages: [python3]")
    homes = "[local, {kind: restricted, slow: 1}]"
    matrix = project(
        matrix=f"images: [{image}]\ndevices: [none]\nrepros: [locking]\nhomes: {homes}\n",
        repros={"locking": repro_text("python3 locking.py", timeout="60")},
        files={"repros/locking/locking.py": LOCKING},
    )
    done = harness(matrix, "run")
    assert done.status == 0, done.err
    found = measured(matrix)
    assert {name: item["verdict"] for name, item in found.items()} == {"local": "pass", "restricted": "pass"}, done.out
    assert found["restricted"]["home_writes"]["locks"] == ["file"]
    assert found["restricted"]["home_writes"]["failed"] == []
