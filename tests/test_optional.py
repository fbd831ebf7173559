"""Run what is optional: whole stacks (hipBLASLt, MIOpen, PyTorch), and what needs Ubuntu's archive."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, harness

pytestmark = [
    pytest.mark.engine,
    pytest.mark.rocm,
    pytest.mark.timeout(5400),
    pytest.mark.skipif(
        not os.environ.get("HARNESS_TEST_OPTIONAL"),
        reason="11 GB of images and three quarters of an hour; HARNESS_TEST_OPTIONAL=1 make test runs it",
    ),
]


def copied(folder: str, to: Path) -> Path:
    """Copy a project without what it left, so that results are new ones."""
    shutil.copytree(ROOT / folder, to, ignore=shutil.ignore_patterns(".harness"))
    return to


def run(matrix: Path) -> list[dict[str, Any]]:
    """Run a matrix and return its results; those of Ubuntu's images are left out where its archive did not answer."""
    made = harness(matrix, "images", "--json", seconds=3000)
    built = {image["name"] for image in json.loads(made.out)}
    assert made.status in {0, 3}, made.err
    done = harness(matrix, "run", seconds=5000)
    assert done.status == made.status, done.err
    found = [item for item in json.loads(harness(matrix, "table", "--json").out) if item["image"] in built]
    if not found:
        pytest.skip(f"no image could be made: {made.err}")
    return found


def test_whole_stacks_do_what_their_page_says(tmp_path: Path) -> None:
    found = run(copied("stacks", tmp_path / "stacks") / "matrix.yaml")
    assert {"hipblaslt_matmul", "miopen_conv"} <= {item["repro"] for item in found}
    assert {item["verdict"] for item in found if item["control"] or item["repro"] == "hipblaslt_matmul"} == {"pass"}
    assert {item["verdict"] for item in found} <= {"pass", "fail"}
    assert all(item["software"] == [] for item in found)


def test_miopen_needs_its_folders_out_of_a_troublesome_home(tmp_path: Path) -> None:
    found = run(copied("stacks", tmp_path / "stacks") / "homes.yaml")
    verdicts = {(item["home"].partition(" ")[0], item["environment"]): item["verdict"] for item in found}
    troublesome = {"squash", "no-locks", "read-only", "full", "stale"}
    assert {home for (home, where), word in verdicts.items() if where == "default" and word == "fail"} == troublesome
    assert {word for (home, where), word in verdicts.items() if where == "in-tmp" or home not in troublesome} == {
        "pass"
    }
    named = {cache for item in found if item["verdict"] == "fail" for cache in item["home_writes"]["caches"]}
    assert {"MIOpen lock files", "MIOpen user database", "comgr cache"} <= named


def test_the_self_test_passes_on_the_versions_of_ubuntu(tmp_path: Path) -> None:
    found = run(copied("softgpu/selftest", tmp_path / "selftest") / "ubuntu.yaml")
    assert {item["rocm"].split(".")[0] for item in found} <= {"7", "10"}
    odd = [(item["case"], item["image"], item["reason"]) for item in found if item["verdict"] != "pass"]
    assert odd == []
