from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.run import health
from harness.run.fence import Fence, Patience
from harness.run.health import Health
from harness.run.trials import Trial
from tests.run.test_leases import GPUS, gpu

QUICK = Patience(settle=0.3, recovery=1.2, late_reset=60)
FINE, BAD = Trial(number=1, limit=5), Trial(number=1, limit=5, status=1)
HUNG = Trial(number=1, limit=5, status=124, duration=5.1)


class Card:
    """A GPU whose health the test decides."""

    def __init__(self) -> None:
        self.resets = 0
        self.used = 1 << 28

    def read(self, _: object) -> Health:
        return Health(counters={"resets": self.resets}, used=self.used)


@pytest.fixture
def card() -> Card:
    return Card()


def fence(card: Card) -> Fence:
    made = Fence(card.read, QUICK)
    assert made.unfit(GPUS[:1]) is None
    return made


def test_a_quiet_gpu_taints_nothing(card: Card) -> None:
    made = fence(card)
    for trial in (FINE, BAD, HUNG):
        assert made.blame(GPUS[:1], trial) is None


def test_a_reset_in_a_cell_is_its_own_and_taints_until_the_gpu_is_well(card: Card) -> None:
    made = fence(card)
    card.resets += 1
    assert made.blame(GPUS[:1], BAD) is None
    card.used += 1 << 30  # what hung has not let go of its memory
    assert made.unfit(GPUS[:1]) == "tainted: renderD128 had 1 new resets, and is not as before after 1.2 s"
    card.used -= 1 << 30
    started = time.monotonic()
    assert made.unfit(GPUS[:1]) is None
    assert time.monotonic() - started >= QUICK.settle


def test_a_late_reset_is_blamed_on_the_cell_that_hung(card: Card) -> None:
    made = fence(card)
    assert made.blame(GPUS[:1], HUNG) is None
    assert made.unfit(GPUS[:1]) is None
    card.resets += 1
    assert "had 1 new resets, 0 s after a hang of an earlier cell" in (made.blame(GPUS[:1], BAD) or "")
    # That reset is accounted for: another one is the next cell's own.
    card.resets += 1
    assert made.blame(GPUS[:1], BAD) is None


def test_what_passes_passes_whatever_happened_beside_it(card: Card) -> None:
    made = fence(card)
    made.blame(GPUS[:1], HUNG)
    card.resets += 1
    assert made.blame(GPUS[:1], FINE) is None


def test_a_reset_while_two_cells_share_a_card_is_blamed_on_neither(card: Card) -> None:
    made = fence(card)
    sibling = replace(gpu(1), pci=GPUS[0].pci)
    assert made.unfit([sibling]) is None
    with made.around(GPUS[:1]), made.around([sibling]):
        card.resets += 1
        for which in (GPUS[0], sibling):
            assert "while another cell ran on the same card" in (made.blame([which], BAD) or "")
    with made.around(GPUS[:1]):
        card.resets += 1
        assert made.blame(GPUS[:1], BAD) is None


def test_memory_that_a_desktop_uses_is_no_trouble(card: Card) -> None:
    card.used = 8 << 30
    made = fence(card)
    assert made.blame(GPUS[:1], HUNG) is None
    assert made.unfit(GPUS[:1]) is None


def test_health_is_read_from_sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = tmp_path / "class/drm/renderD128/device"
    (device / "ras").mkdir(parents=True)
    (device / "ras/umc_err_count").write_text("ue: 2\nce: 7\nde: 0\n")
    (device / "ras/gfx_err_count").write_text("ue: 0\nce: 0\n")
    (device / "ras/sdma_err_count").write_text("strange\n")
    (device / "mem_info_vram_used").write_text("1073741824\n")
    monkeypatch.setenv("HARNESS_SYSFS", str(tmp_path))
    monkeypatch.setenv("HARNESS_DEV", str(tmp_path))
    assert health.read(GPUS[0]) == Health(counters={"gfx errors": 0, "umc errors": 2}, used=1 << 30)
    assert health.read(GPUS[1]) == Health()
    # A node that is no GPU's is asked in vain, and that is all.
    (tmp_path / "dri").mkdir()
    (tmp_path / "dri/renderD129").symlink_to("/dev/null")
    assert health.read(GPUS[1]) == Health()


def test_a_run_that_is_stopped_waits_for_no_gpu(card: Card) -> None:
    stopped = threading.Event()
    made = Fence(card.read, Patience(settle=30, recovery=60), stopped)
    made.unfit(GPUS[:1])
    made.blame(GPUS[:1], HUNG)
    threading.Timer(0.3, stopped.set).start()
    started = time.monotonic()
    assert made.unfit(GPUS[:1]) is not None
    assert time.monotonic() - started < 5
