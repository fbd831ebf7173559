"""Run the software GPU's self-test and its comparisons with the real runtimes, on the images of the default matrix."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.build import softgpu
from harness.build.images import Built
from harness.build.state import read_state
from tests.conftest import ROOT, harness

pytestmark = [pytest.mark.engine, pytest.mark.rocm, pytest.mark.timeout(1500)]

IMAGES = ("debian-bookworm", "debian-trixie", "debian-forky", "debian-experimental")
# What a version of HIP does not have, it says: that is no failure of the software GPU.
SKIPPED = {("virtual_memory", "debian-bookworm"), ("virtual_memory", "debian-trixie")}


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run every subject once on every version, as `harness run -m softgpu/selftest/matrix.yaml` does."""
    folder = tmp_path_factory.mktemp("selftest") / "project"
    shutil.copytree(ROOT / "softgpu" / "selftest", folder, ignore=shutil.ignore_patterns(".harness"))
    done = harness(folder / "matrix.yaml", "run", seconds=1400)
    assert done.status == 0, done.err
    return folder / "matrix.yaml"


@pytest.fixture(scope="module")
def tree(matrix: Path) -> Path:
    """Return a copy of the sources with the library that the self-test ran on, as the scripts expect it."""
    folder = matrix.parent / "softgpu"
    shutil.copytree(ROOT / "softgpu", folder, ignore=shutil.ignore_patterns("build", ".harness"))
    (folder / "build").mkdir()
    library = f"{softgpu.FOLDER}/libhsa-runtime64.so.1"
    mount = f"{folder / 'build'}:/out"
    image = made(matrix, softgpu.NAME)
    subprocess.run(
        ["docker", "run", "--rm", "--network", "none", "-v", mount, image, "cp", library, "/out"], check=True
    )
    return folder


def made(matrix: Path, name: str) -> str:
    built = read_state(matrix.parent / ".harness" / "built" / f"{name}.json", Built)
    assert built is not None
    return built.tag


def test_every_subject_passes_on_every_version(matrix: Path) -> None:
    found: list[dict[str, Any]] = json.loads(harness(matrix, "table", "--json").out)
    odd = {(item["case"]["subject"], item["image"]): (item["verdict"], item["signature"] or item["reason"])
           for item in found if item["verdict"] != "pass"}  # fmt: skip
    assert set(odd) == SKIPPED, odd
    assert {verdict for verdict, _ in odd.values()} == {"skip"}
    assert len(found) > 15 * len(IMAGES)


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "softgpu" / "tests").glob("check_*.sh")))
def test_the_library_agrees_with_the_real_runtimes(matrix: Path, tree: Path, script: str) -> None:
    images = [made(matrix, name) for name in IMAGES]
    ended = subprocess.run(
        ["sh", tree / "tests" / script, *images], capture_output=True, text=True, check=False, timeout=600
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
