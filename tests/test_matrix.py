"""Run the project's own matrix on the four real ROCm versions: the promise the README makes."""

from __future__ import annotations

import json
import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from harness.plan.project import read
from harness.run.engine import Engine
from tests.conftest import ROOT, harness

# Where the references and the measurement differ, and both were looked at: the stories of the repros say more.
DIFFERENT = {
    # Its references speak of 7.0 to 7.2.0; 7.2.4 has the fix.
    ("capture_event_query", "global-of-another-thread", "debian-experimental"),
    # The changelog calls it fixed in 6.3.2; it crashes in both later versions, and was reported again for 10.0.
    ("legacy_stream_event", "hipStreamLegacy stream", "debian-forky"),
    ("legacy_stream_event", "hipStreamLegacy stream", "debian-experimental"),
    # Reported for versions before 6.0; the loop over rows is missing in the source of 6.3 as well.
    ("memset2d_pinned_memory", "pinned 32", "debian-forky"),
}

pytestmark = [pytest.mark.engine, pytest.mark.rocm, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Path:
    """Run the default matrix in a folder of its own: images are reused when they are there, results never."""
    folder = tmp_path_factory.mktemp("matrix")
    shutil.copy(ROOT / "matrix.yaml", folder / "matrix.yaml")
    done = harness(folder / "matrix.yaml", "run", seconds=1400)
    assert done.status == 0, done.err
    return folder / "matrix.yaml"


@pytest.fixture(scope="module")
def found(matrix: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(harness(matrix, "table", "--json").out)
    return listed


def test_four_versions_were_probed_in_order(found: list[dict[str, Any]]) -> None:
    versions = {item["image"]: item["rocm"] for item in found}
    assert list(versions) == ["debian-bookworm", "debian-trixie", "debian-forky", "debian-experimental"]
    # Stable suites stay what they are; testing and experimental move on.
    assert (versions["debian-bookworm"], versions["debian-trixie"]) == ("5.2.3", "5.7.1")
    assert all(Version(one) < Version(other) for one, other in pairwise(versions.values()))


def test_every_control_passes_and_every_cell_has_an_answer(found: list[dict[str, Any]]) -> None:
    odd = [(item["repro"], item["case"], item["image"], item["verdict"], item["reason"])
           for item in found
           if item["verdict"] not in ({"pass", "skip"} if item["control"] else {"pass", "fail", "skip"})]  # fmt: skip
    assert odd == []
    # What is skipped is skipped for a need that is told, or because the version lacks what the repro asks for.
    assert all(item["reason"] for item in found if item["verdict"] == "skip")
    assert sum(item["verdict"] == "skip" for item in found) < len(found) / 5


def test_the_columns_are_software_and_what_rests_on_an_unknown_answer_is_marked(found: list[dict[str, Any]]) -> None:
    assert {item["device"] for item in found} == {"software gfx90a"}
    # HIP itself asks for nothing that the software GPU does not know, on any version.
    holes = {"stubs", "unknown-attributes", "unknown-blits"}
    marked = [(item["repro"], item["image"], mark) for item in found for mark in item["software"]]
    assert [one for one in marked if one[2]["topic"] in holes] == []


def test_every_change_is_at_its_documented_boundary(matrix: Path, found: list[dict[str, Any]]) -> None:
    affected = {repro.name: repro.spec.affected for repro in read(matrix).repros}
    wrong = {
        (item["repro"], " ".join(map(str, item["case"].values())), item["image"])
        for item in found
        if not item["control"]
        and (claimed := affected[item["repro"]])
        and item["verdict"] != "skip"
        and (item["verdict"] == "fail") != SpecifierSet(claimed).contains(item["rocm"])
    }
    assert wrong == DIFFERENT


def test_changes_of_all_kinds_lie_in_every_gap(matrix: Path, found: list[dict[str, Any]]) -> None:
    suspects = [item for item in found if not item["control"]]
    verdicts: dict[tuple[str, str], list[str]] = {}
    for item in suspects:
        verdicts.setdefault((item["repro"], str(item["case"])), []).append(item["verdict"])
    gaps = {gap: {name for (name, _), row in verdicts.items() if row[gap] != row[gap + 1]} for gap in range(3)}
    assert all(gaps.values())
    assert len(set().union(*gaps.values())) >= 14
    signatures = {item["signature"] or "" for item in suspects}
    for kind in ("error: no member named", "file not found", "undefined symbol:", "hipError", "missing symbol"):
        assert any(kind in signature for signature in signatures), kind


def test_no_claim_differs_and_no_tag_lies(matrix: Path) -> None:
    text = harness(matrix, "table").out
    assert text.count("the references say") == len(DIFFERENT)
    assert "said to be" not in text


def unmarked(text: str) -> list[str]:
    """Return the rows of a table without the numbers of footnotes: how busy the host is decides what HIP asks for."""
    return [re.sub(r" \\\[[0-9]+\\\]", "", line) for line in text.splitlines() if line.startswith("| ")]


def test_the_documentation_shows_this_very_table(matrix: Path) -> None:
    printed = unmarked(harness(matrix, "table", "--format", "github").out)
    assert unmarked((ROOT / "docs" / "table.md").read_text()) == printed, "print it: harness table --format github"
    readme = (ROOT / "README.md").read_text()
    excerpt = unmarked(readme[readme.index("<!-- excerpt -->") :].split("\n\n")[0])
    assert len(excerpt) > 10
    assert set(excerpt) <= set(printed)


def test_a_second_run_has_nothing_to_do(matrix: Path) -> None:
    done = harness(matrix, "run", "--engine", "unix:///nonexistent.sock")
    assert done.status == 0
    assert done.err == ""
