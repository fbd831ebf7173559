from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Sequence
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from harness.run import leases
from harness.run.leases import Leases
from harness.run.topology import Gpu


def gpu(number: int) -> Gpu:
    return Gpu(index=number, node=number + 1, gfx="gfx90a", model="m", cus=1, vram=0, pci=f"0000:{number:02x}:00.0",
               uuid="", hive="", render=f"renderD{128 + number}", xccs=1)  # fmt: skip


GPUS = tuple(gpu(number) for number in range(3))


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "folder", lambda: tmp_path / "locks")


def new(said: list[str] | None = None, stopped: threading.Event | None = None) -> Leases:
    said = [] if said is None else said
    return Leases(stopped=stopped or threading.Event(), waiting=said.append)


def work(folder: Path, gpus: Sequence[Gpu], *, together: bool, rounds: int) -> None:
    """Hold GPUs again and again, and leave a mark while they are held; a mark that is there already is an overlap."""
    mine = new()
    for _ in range(rounds):
        with mine.hold(gpus, together=together) as held:
            marks = [folder / f"{each.render}.busy" for each in held]
            for mark in marks:
                try:
                    mark.touch(exist_ok=False)
                except FileExistsError:
                    (folder / "overlap").touch()
            time.sleep(0.01)
            for mark in marks:
                mark.unlink(missing_ok=True)
    (folder / f"done-{multiprocessing.current_process().pid}").touch()


@pytest.mark.parametrize(("together", "workers"), [(False, 3), (True, 2)])
def test_processes_never_overlap_on_a_gpu(tmp_path: Path, together: bool, workers: int) -> None:
    start = multiprocessing.get_context("fork").Process
    gpus = GPUS if together else GPUS[:2]
    every = [start(target=work, args=(tmp_path, gpus if n % 2 else gpus[:1]),
                   kwargs={"together": together, "rounds": 15}) for n in range(workers)]  # fmt: skip
    for each in every:
        each.start()
    for each in every:
        each.join(timeout=60)
    assert len(list(tmp_path.glob("done-*"))) == workers
    assert not (tmp_path / "overlap").exists()


def test_cells_on_different_gpus_run_side_by_side() -> None:
    mine = new()
    with mine.hold(GPUS[:2], together=False) as one, mine.hold(GPUS[:2], together=False) as other:
        assert {one[0].render, other[0].render} == {"renderD128", "renderD129"}


def test_together_takes_all_or_none() -> None:
    mine = new()
    stopped = threading.Event()
    with mine.hold(GPUS[2:], together=False):
        theirs = new(stopped=stopped)
        threading.Timer(0.5, stopped.set).start()
        with theirs.hold(GPUS, together=True) as held:
            assert held == ()
        # What it could not use it did not keep.
        with mine.hold(GPUS[:2], together=True) as held:
            assert len(held) == 2


def test_waiting_for_another_process_is_said_once_and_ends_with_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    there, leave = context.Event(), context.Event()

    def keep(there: Event, leave: Event) -> None:
        with new().hold(GPUS[:1], together=False):
            there.set()
            leave.wait(30)

    other = context.Process(target=keep, args=(there, leave))
    other.start()
    assert there.wait(30)
    said: list[str] = []
    threading.Timer(1.0, leave.set).start()
    with new(said).hold(GPUS[:1], together=False) as held:
        assert held == GPUS[:1]
    assert said == ["gfx90a renderD128"]
    other.join(timeout=30)


def test_a_killed_process_leaves_no_gpu_held() -> None:
    context = multiprocessing.get_context("fork")
    there = context.Event()

    def keep(there: Event) -> None:
        with new().hold(GPUS, together=True):
            there.set()
            time.sleep(60)

    other = context.Process(target=keep, args=(there,))
    other.start()
    assert there.wait(30)
    other.kill()
    other.join(timeout=30)
    with new().hold(GPUS, together=True) as held:
        assert held == GPUS


def test_no_gpu_is_nothing_to_wait_for() -> None:
    with new().hold((), together=False) as held:
        assert held == ()
