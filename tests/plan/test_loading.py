from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ConfigError
from harness.plan.loading import MAX_NODES, load
from harness.plan.models import Matrix
from harness.plan.project import read

GOOD = "images:\n  - name: a\n    source: {kind: distro, suite: bookworm}\n"


def refusal(tmp_path: Path, text: str) -> str:
    path = tmp_path / "matrix.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path, Matrix)
    return str(caught.value).replace(str(tmp_path) + "/", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("imagse: []\n" + GOOD, "matrix.yaml:1:1: imagse: unknown key (did you mean 'images'?)"),
        (GOOD + "homes: [locl]\n", "matrix.yaml:4:9: homes[0]: unknown kind 'locl'"),
        (
            "images:\n  - name: a\n    source: {kind: distro, suit: bookworm}\n",
            "matrix.yaml:3:28: images[0].source.suit: unknown key (did you mean 'suite'?)",
        ),
        (
            "images:\n  - name: a\n    rocm: 6.4\n    source: {kind: distro, suite: sid}\n",
            "matrix.yaml:3:11: images[0].rocm: must be text",
        ),
        (GOOD + "jobs: many\n", "matrix.yaml:4:7: jobs: "),
        (GOOD + "devices: []\n", "matrix.yaml:4:10: devices: must not be empty"),
        ("images: []\n", "matrix.yaml:1:9: images: must not be empty"),
        ("devices: [none]\n", "matrix.yaml:1:1: images: is missing"),
        (
            GOOD + "  - name: a\n    source: {kind: distro, suite: sid}\n",
            "matrix.yaml:4:5: images[1]: the name 'a' is used twice",
        ),
        (GOOD + "limits: {memory: 4 GB}\n", "matrix.yaml:4:18: limits.memory: '4 GB' is not allowed here"),
        (GOOD + "homes:\n  - kind: tmpfs\n    sizee: 1g\n", "homes[0].sizee: unknown key (did you mean 'size'?)"),
        ("images: [\n", "matrix.yaml:2:1: not valid YAML"),
        ("images: *nothing\n", "not valid YAML"),
        ("a: 1\na: 2\n", "matrix.yaml:2:1: not valid YAML: found duplicate key"),
        ("", "matrix.yaml:1:1: "),
        ("just text\n", "matrix.yaml:1:1: "),
    ],
)
def test_an_error_names_file_line_column_and_the_fix(tmp_path: Path, text: str, message: str) -> None:
    assert message in refusal(tmp_path, text)


@pytest.mark.parametrize("value", ["bookworm; rm -rf /", "book worm", "$(id)", "a\nRUN id", "`id`", "a'b", ""])
@pytest.mark.parametrize("key", ["suite", "target_release", "mirror", "packages"])
def test_what_reaches_a_dockerfile_is_held_to_a_pattern(tmp_path: Path, key: str, value: str) -> None:
    import json

    source = {"kind": "distro", "suite": "bookworm", key: [value] if key == "packages" else value}
    text = json.dumps({"images": [{"name": "a", "source": source}]})
    assert f"images[0].source.{key}" in refusal(tmp_path, text)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    told = refusal(tmp_path, GOOD + "jobs: 0\nhome: 1\n").splitlines()
    assert len(told) == 2


def test_a_bomb_of_aliases_is_refused_at_once(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert f"{MAX_NODES:,}" in refusal(tmp_path, "\n".join(lines))


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    assert "nested" in refusal(tmp_path, "images: " + "[" * 3000 + "]" * 3000)


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    assert "larger" in refusal(tmp_path, "#" * (2 << 20))


def test_missing_and_unreadable_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load(tmp_path / "none.yaml", Matrix)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(binary, Matrix)
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path, Matrix)


@given(st.text(max_size=400))
def test_any_text_is_loaded_or_refused_and_never_crashes(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(ConfigError):
        load(path, Matrix)


def test_anchors_and_merge_keys_work(tmp_path: Path) -> None:
    path = tmp_path / "matrix.yaml"
    path.write_text(
        "images:\n"
        "  - name: a\n    source: &debian {kind: distro, suite: bookworm}\n"
        "  - name: b\n    source: {<<: *debian, suite: trixie}\n"
    )
    assert [image.source.suite for image in load(path, Matrix).images] == ["bookworm", "trixie"]


@pytest.mark.parametrize(
    ("device", "message"),
    [
        (
            "{kind: software, gfx: gfx90b}",
            "matrix.yaml:4:33: devices[0].gfx: 'gfx90b' is not there; did you mean 'gfx90a'?",
        ),
        ("{kind: software, gfx: gfx1100, xnack: true}", "gfx1100 (AMD Radeon RX 7900 XTX) has no XNACK"),
        ("{kind: software, faults: {hang: 1}}", "devices[0].faults.hang: unknown key (did you mean 'hang_at'?)"),
        ("{kind: software, faults: {queue_error: broken}}", "devices[0].faults.queue_error: 'broken' is not allowed"),
        ("{kind: software, count: 17}", "devices[0].count: "),
        ("sofware", "devices[0]: unknown kind 'sofware'; known: 'auto', 'none', 'gpu', 'software' (did you mean"),
    ],
)
def test_a_software_gpu_that_cannot_be_is_told_with_its_place(tmp_path: Path, device: str, message: str) -> None:
    path = tmp_path / "matrix.yaml"
    path.write_text(f"{GOOD}devices: [{device}]\nrepros: [runtime_soname]\n")
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert message in str(caught.value).replace(str(tmp_path) + "/", "")
