"""Plan every matrix that the documentation shows: what a reader copies must be a matrix."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT, harness, repro_text

PAGES = sorted([ROOT / "README.md", ROOT / "stacks/README.md", *(ROOT / "docs").glob("*.md")])
_BLOCK = re.compile(r"^```yaml\n(images:.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = [(page.name, text) for page in PAGES for text in _BLOCK.findall(page.read_text())]


@pytest.mark.parametrize(("page", "text"), SHOWN, ids=[f"{page}-{n}" for n, (page, _) in enumerate(SHOWN)])
def test_a_matrix_of_the_documentation_can_be_planned(tmp_path: Path, page: str, text: str) -> None:
    # What pages call the reader's own repro, and the one of stacks/ that needs PyTorch.
    mine = tmp_path / "repros/my_bug"
    mine.mkdir(parents=True)
    (mine / "repro.yaml").write_text(repro_text("./main {size} {a}", params="{size: [64, 4096], a: [1, 2]}"))
    shutil.copytree(ROOT / "stacks/repros/torch_roundtrip", tmp_path / "repros/torch_roundtrip")
    (tmp_path / "matrix.yaml").write_text(text)
    planned = harness(tmp_path / "matrix.yaml", "plan")
    assert planned.status == 0, f"{page}: {planned.err}"
    assert "cells are still to run" in planned.out


def test_the_common_uses_are_shown() -> None:
    together = "\n".join(text for _, text in SHOWN)
    for words in ("torch_roundtrip", "kind: nfs", "host:", "kind: gpu"):
        assert words in together
