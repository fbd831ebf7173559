from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.plan.devices import AutoDevice, GpuDevice
from harness.run.gpus import grants
from harness.run.topology import Gpu, Topology, discover
from tests.run.trees import CPU, HOSTS, MI210, PRO_VII, RX7900, write_tree

Node = dict[str, int]
TWO_KINDS = (CPU, PRO_VII, RX7900 | {"drm_render_minor": 129})


def host(tmp_path: Path, nodes: object) -> Topology:
    return discover(write_tree(tmp_path / "sys", HOSTS[nodes] if isinstance(nodes, str) else nodes))  # type: ignore[arg-type]


def gpu(**keys: object) -> GpuDevice:
    return GpuDevice.model_validate({"kind": "gpu", **keys})


@pytest.mark.parametrize(
    ("selector", "renders"),
    [({"index": 3}, ["renderD131"]), ({"render": "renderD135"}, ["renderD135"]),
     ({"uuid": "GPU-1901ead3a2ecd4a7"}, ["renderD129"]), ({"gfx": "gfx90a", "index": 0}, ["renderD128"]),
     ({"model": "mi210"}, [f"renderD{128 + n}" for n in range(8)]), ({}, [f"renderD{128 + n}" for n in range(8)])],
)  # fmt: skip
def test_a_selector_takes_just_what_it_says(tmp_path: Path, selector: Node, renders: list[str]) -> None:
    (one,) = grants(gpu(**selector), host(tmp_path, "eight-mi210"))
    assert [each.render for each in one.gpus] == renders
    assert (one.label, one.together, one.absent) == ("gfx90a", False, None)
    assert {"device", "hardware", "kernels"} <= one.offers


def test_each_makes_a_column_of_every_gpu_with_results_of_its_own(tmp_path: Path) -> None:
    columns = grants(gpu(pick="each"), host(tmp_path, "eight-mi210"))
    assert [column.label for column in columns] == [f"gfx90a #{n}" for n in range(8)]
    assert len({str(column.identity) for column in columns}) == 8
    assert all(len(column.gpus) == 1 for column in columns)


def test_each_partition_of_a_card_has_results_of_its_own_though_they_share_its_uuid(tmp_path: Path) -> None:
    columns = grants(gpu(pick="each"), host(tmp_path, "mi300x-cpx"))
    assert len({str(column.identity) for column in columns}) == 8


def test_all_is_one_column_that_holds_everything(tmp_path: Path) -> None:
    (one,) = grants(gpu(pick="all"), host(tmp_path, "eight-mi210"))
    assert (one.label, one.together, len(one.gpus)) == ("gfx90a x8", True, 8)
    (mixed,) = grants(gpu(pick="all"), host(tmp_path / "two", TWO_KINDS))
    assert mixed.label == "gfx906, gfx1100"
    # Two models of one chip are both counted.
    models = (CPU, MI210 | {"drm_render_minor": 128}, MI210 | {"drm_render_minor": 129, "device_id": 0x740C})
    (alike,) = grants(gpu(pick="all"), host(tmp_path / "three", models))
    assert alike.label == "gfx90a x2"


def test_gpus_of_two_kinds_do_not_stand_in_for_each_other(tmp_path: Path) -> None:
    (one,) = grants(gpu(), host(tmp_path, TWO_KINDS))
    assert one.absent is not None
    assert "matches GPUs of 2 kinds: gfx906 Radeon Pro VII or MI50 (renderD128), gfx1100" in one.absent
    assert "pick: each" in one.absent
    (chosen,) = grants(gpu(gfx="gfx1100"), host(tmp_path / "again", TWO_KINDS))
    assert [each.render for each in chosen.gpus] == ["renderD129"]


def test_auto_makes_a_column_for_each_kind(tmp_path: Path) -> None:
    columns = grants(AutoDevice(kind="auto"), host(tmp_path, TWO_KINDS))
    assert [column.label for column in columns] == ["gfx906 Radeon Pro VII or MI50", "gfx1100 Radeon RX 7900 XTX"]
    (one,) = grants(AutoDevice(kind="auto"), host(tmp_path / "again", "eight-mi210"))
    assert (one.label, one.unit, len(one.gpus)) == ("gfx90a", "", 8)


@pytest.mark.parametrize("selector", [{"gfx": "gfx942"}, {"index": 8}, {"render": "renderD127"}, {"model": "mi300"}])
def test_a_selector_that_matches_nothing_lists_what_is_there(tmp_path: Path, selector: Node) -> None:
    (one,) = grants(gpu(**selector), host(tmp_path, "eight-mi210"))
    assert one.absent is not None
    assert str(next(iter(selector.values()))) in one.absent
    assert "0: gfx90a Instinct MI210 renderD128 GPU-1901ead3a2ecd4a6" in one.absent


@given(st.lists(st.sampled_from([90010, 90402, 110000]), min_size=1, max_size=12), st.sampled_from(["each", "all"]))
def test_no_gpu_is_lost_and_none_is_given_twice(versions: list[int], pick: str) -> None:
    made = tuple(
        Gpu(index=n, node=n, gfx=f"gfx{v}", model="m", cus=1, vram=0, pci=str(n), uuid="", hive="",
            render=f"renderD{128 + n}", xccs=1) for n, v in enumerate(versions)
    )  # fmt: skip
    topology = Topology(gpus=made, driver="d", notes=())
    for device in (gpu(pick=pick), AutoDevice(kind="auto")):
        given = [each for column in grants(device, topology) for each in column.gpus]
        assert sorted(given, key=lambda each: each.index) == list(made)


def test_the_same_gpu_in_another_state_gives_other_results(tmp_path: Path) -> None:
    before = grants(gpu(), host(tmp_path, (CPU, MI210 | {"drm_render_minor": 128})))[0].identity
    (tmp_path / "sys/module/amdgpu/version").write_text("6.99\n")
    assert grants(gpu(), discover(tmp_path / "sys"))[0].identity != before
