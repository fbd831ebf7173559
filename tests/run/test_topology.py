from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.run.topology import Gpu, decode_gfx, discover
from tests.conftest import HARNESS
from tests.run.trees import CPU, HOSTS, MI210, MI300X, write_tree


def found(tmp_path: Path, host: str) -> tuple[Gpu, ...]:
    return discover(write_tree(tmp_path / host, HOSTS[host])).gpus


@pytest.mark.parametrize(
    ("version", "gfx"),
    [(90006, "gfx906"), (90008, "gfx908"), (90010, "gfx90a"), (90402, "gfx942"), (90500, "gfx950"),
     (100300, "gfx1030"), (110000, "gfx1100"), (110501, "gfx1151"), (120001, "gfx1201")],
)  # fmt: skip
def test_gfx_versions_are_decoded(version: int, gfx: str) -> None:
    assert decode_gfx(version) == gfx


@pytest.mark.parametrize(
    ("host", "gfx", "model", "cus"),
    [("eight-mi210", "gfx90a", "Instinct MI210", 104), ("mi300x-spx", "gfx942", "Instinct MI300X", 304),
     ("mi300x-cpx", "gfx942", "Instinct MI300X", 38), ("mi300a", "gfx942", "Instinct MI300A", 228),
     ("mi250", "gfx90a", "Instinct MI250", 104), ("rx7900", "gfx1100", "Radeon RX 7900 XTX", 96),
     ("pro-vii", "gfx906", "Radeon Pro VII or MI50", 60), ("vega10", "gfx900", "Vega 10", 64)],
)  # fmt: skip
def test_every_kind_of_host_is_read(tmp_path: Path, host: str, gfx: str, model: str, cus: int) -> None:
    assert {(gpu.gfx, gpu.model, gpu.cus) for gpu in found(tmp_path, host)} == {(gfx, model, cus)}


def test_addresses_uuids_and_hives_of_eight_cards(tmp_path: Path) -> None:
    gpus = found(tmp_path, "eight-mi210")
    assert [gpu.pci for gpu in gpus][:3] == ["0000:63:00.0", "0000:43:00.0", "0000:03:00.0"]
    assert gpus[0].uuid == "GPU-1901ead3a2ecd4a6"
    assert [gpu.hive for gpu in gpus].count(gpus[0].hive) == 4
    assert [(gpu.index, gpu.node, gpu.render) for gpu in gpus] == [(n, n + 2, f"renderD{128 + n}") for n in range(8)]


def test_partitions_of_one_card_are_numbered_and_keep_its_address(tmp_path: Path) -> None:
    gpus = found(tmp_path, "mi300x-cpx")
    assert [gpu.partition for gpu in gpus] == list(range(8))
    assert {gpu.pci for gpu in gpus} == {"0000:05:00.0"}
    assert {gpu.mode for gpu in gpus} == {"8 partitions"}
    assert len({gpu.uuid for gpu in gpus}) == 1  # shared by all partitions of a card, so it is no key there
    assert {gpu.partition for gpu in found(tmp_path, "mi300x-spx")} == {None}


def test_the_driver_tells_the_mode_where_it_can(tmp_path: Path) -> None:
    root = write_tree(tmp_path, HOSTS["mi300x-cpx"])
    folder = root / "module/amdgpu/drivers/pci:amdgpu/0000:05:00.0"
    folder.mkdir(parents=True)
    (folder / "current_compute_partition").write_text("CPX\n")
    assert {gpu.mode for gpu in discover(root).gpus} == {"CPX"}


def test_memory_is_found_wherever_the_kernel_tells_it(tmp_path: Path) -> None:
    told = found(tmp_path, "vega10")[0].vram
    banks = write_tree(tmp_path / "banks", (CPU, MI300X | {"drm_render_minor": 128}))
    bank = banks / "class/kfd/kfd/topology/nodes/1/mem_banks/0"
    bank.mkdir(parents=True)
    (bank / "properties").write_text("heap_type 1\nsize_in_bytes 206141652992\n")
    drm = write_tree(tmp_path / "drm", (CPU, MI210 | {"drm_render_minor": 128}))
    card = drm / "class/drm/renderD128/device"
    card.mkdir(parents=True)
    (card / "mem_info_vram_total").write_text("68702699520\n")
    assert (told, discover(banks).gpus[0].vram, discover(drm).gpus[0].vram) == (17163091968, 206141652992, 68702699520)


def test_what_is_passed_over_is_told(tmp_path: Path) -> None:
    mixed = discover(write_tree(tmp_path / "mixed", HOSTS["mixed"]))
    assert [gpu.gfx for gpu in mixed.gpus] == ["gfx906"]
    assert mixed.notes == ("node 2 is no AMD GPU (vendor 0x10de)",)
    hidden = discover(write_tree(tmp_path / "hidden", HOSTS["unreadable"]))
    assert [(gpu.node, gpu.index) for gpu in hidden.gpus] == [(2, 0)]
    assert [note[:6] for note in hidden.notes] == ["node 1", "node 3"]


@pytest.mark.parametrize("version", ["6.10.5", "7.1.3.31500000", "anything at all"])
def test_the_drivers_version_is_never_parsed(tmp_path: Path, version: str) -> None:
    assert discover(write_tree(tmp_path / "dkms", HOSTS["rx7900"], driver=version)).driver == f"amdgpu {version}"
    in_tree = discover(write_tree(tmp_path / "in-tree", HOSTS["rx7900"], driver=None)).driver
    assert in_tree.startswith("in-tree amdgpu of Linux ")


@pytest.mark.parametrize("host", HOSTS)
def test_the_command_prints_a_table_of_every_host(tmp_path: Path, host: str) -> None:
    root = write_tree(tmp_path / host, HOSTS[host])
    out = subprocess.run([HARNESS, "devices", "--sysfs", root], capture_output=True, text=True, check=True).stdout
    gpus = discover(root).gpus
    assert all(f"{gpu.render} " in out and gpu.gfx in out for gpu in gpus)
    assert ("there is no AMD GPU" in out) == (not gpus)
    assert "driver: amdgpu 6.16.6" in out


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(text=st.text(max_size=200) | st.lists(st.tuples(st.sampled_from([*MI210, "location_id"]), st.integers())).map(
    lambda lines: "\n".join(f"{key} {value}" for key, value in lines)))  # fmt: skip
def test_no_properties_file_makes_discovery_fail(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "class/kfd/kfd/topology/nodes/0"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "properties").write_text(text, errors="replace")
    assert len(discover(tmp_path).gpus) <= 1
