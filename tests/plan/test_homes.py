from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.plan.project import read
from tests.conftest import PLAIN, ROOT, Write, harness, repro_text

EXAMPLES = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "homes.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_examples_of_the_documentation_can_be_planned(project: Write, number: int) -> None:
    text = EXAMPLES[number]
    whole = text if "images:" in text else f"images: [{PLAIN}]\nrepros: [r]\n{text}"
    matrix = project(matrix=whole, repros={"r": repro_text("true"), "my_bug": repro_text("true")})
    done = harness(matrix, "plan", "--commands")
    assert done.status == 0, done.err
    assert "docker run" in done.out


def test_the_project_of_homes_can_be_planned() -> None:
    assert len(read(ROOT / "homes" / "matrix.yaml").cells) == 17
    assert len(read(ROOT / "stacks" / "homes.yaml").cells) == 14


@pytest.mark.parametrize(
    ("home", "words"),
    [
        ("bind", r"homes\[0\]: 'bind' alone does not say which: write it as {kind: bind, path: /home/me}"),
        ("{kind: bind}", r"homes\[0\]\.path: is missing"),
        ("{kind: bind, path: ~/x}", r"homes\[0\]\.path: .*absolute path.*expanded"),
        ("{kind: bind, path: /home/../etc}", r"homes\[0\]\.path: .*without '\.\.'"),
        ("{kind: nfs, server: a, path: /b, version: 5}", r"homes\[0\]\.version: '5' is not one of '3', '4'"),
        ("{kind: restricted}", r"homes\[0\]\.restricted: say what is restricted"),
        ("{kind: restricted, squsah: true}", r"homes\[0\]\.squsah: unknown key \(did you mean 'squash'\?\)"),
        ("{kind: local, user: 1000}", r"homes\[0\]\.user: "),
        ("{kind: local, user: 'root:root'}", r"homes\[0\]\.user: "),
        ("{kind: restricted, stale: {operations: [reed]}}", r"homes\[0\]\.stale\.operations\[0\]"),
    ],
)
def test_mistakes_are_told_with_their_place(project: Write, tmp_path: Path, home: str, words: str) -> None:
    text = f"images: [{PLAIN}]\nhomes: [{home}]\nrepros: [r]\n"
    with pytest.raises(ConfigError, match=r"matrix.yaml:2:\d+: " + words):
        read(project(matrix=text, repros={"r": repro_text("true")}))
