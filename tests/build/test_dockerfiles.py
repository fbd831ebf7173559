from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.build.context import Context, File
from harness.build.dockerfiles import Base, build_plan, render_cell, render_image, variant
from harness.plan.models import Image, PipLayer
from harness.plan.repros import ReproFolder
from tests.plan.test_cells import repro

BASE = Base(reference="rocm-harness/base:debian-sid-0", how="made for a test")
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


def image(**source: object) -> Image:
    return Image.model_validate({"name": "i", "source": {"kind": "distro", "suite": "sid", **source}})


def folder(tmp_path: Path, **extra: object) -> ReproFolder:
    (tmp_path / "r").mkdir(exist_ok=True)
    (tmp_path / "r" / "main.hip").write_text("int main() {}\n")
    made = repro("r", **extra)
    return ReproFolder(name=made.name, path=tmp_path / "r", spec=made.spec)


def test_the_dockerfile_of_an_image() -> None:
    text = render_image(
        image(extra_suites=["experimental"], target_release="experimental", check_valid_until=False), BASE
    ).dockerfile
    assert text.startswith("# ROCm as debian sid packages it.")
    assert "FROM rocm-harness/base:debian-sid-0\n" in text
    assert "for suite in experimental;" in text
    assert "-o Acquire::Check-Valid-Until=false" in text
    assert "install -y --no-install-recommends -t experimental hipcc libamdhip64-dev;" in text
    assert "{%" not in text
    assert "{{" not in text


def test_a_pip_layer_is_quoted_and_gets_the_certificates_of_the_host() -> None:
    layers = [{"kind": "pip", "packages": ["hip-python>=7,<8", "a[b]==1.*"], "index": "https://index.invalid/simple"}]
    laid = Image.model_validate({**image().model_dump(), "layers": layers})
    text = render_image(laid, BASE, ca_bundle=b"certificate").dockerfile
    assert "--cert /repro/host/ca-bundle.crt --index-url https://index.invalid/simple 'hip-python>=7,<8'" in text
    assert "'a[b]==1.*'" in text
    assert "python3-pip" not in render_image(image(), BASE, ca_bundle=b"certificate").dockerfile
    assert "--cert" not in render_image(laid, BASE).dockerfile


@pytest.mark.parametrize("package", ["-r /etc/passwd", "--index-url=x", "a; rm -rf /", "a @ https://x.invalid", "$(a)"])
def test_what_pip_is_asked_for_is_a_requirement_and_nothing_else(package: str) -> None:
    with pytest.raises(ValidationError):
        PipLayer(kind="pip", packages=(package,))


def test_stale_lists_are_accepted_only_when_asked() -> None:
    assert "Check-Valid-Until" not in render_image(image(), BASE).dockerfile


def test_a_cell_shares_the_layers_of_its_image_word_for_word(tmp_path: Path) -> None:
    shared = render_image(image(), BASE).dockerfile
    whole = render_cell(image(), BASE, folder(tmp_path)).dockerfile
    assert whole[whole.index("FROM") :].startswith(shared[shared.index("FROM") :].rstrip() + "\n")


@given(values=st.lists(TEXT, min_size=1, max_size=4, unique=True))
def test_no_value_of_a_parameter_reaches_the_dockerfile(
    tmp_path_factory: pytest.TempPathFactory, values: list[str]
) -> None:
    where = tmp_path_factory.getbasetemp()
    made = folder(where, params={"x": values}, build=["cc -DX={x} main.hip"])
    plain = folder(where, params={"x": ["plain"]}, build=["cc main.hip"])
    assert render_cell(image(), BASE, made).dockerfile == render_cell(image(), BASE, plain).dockerfile


@given(value=TEXT)
def test_a_shell_reads_the_build_plan_as_the_words_it_was_made_of(value: str) -> None:
    plan = build_plan(repro("r", params={"x": [value]}, build=["cc -DX={x} {x} {common}/a.c"]))
    read = "variant() { :; }\nstep() { printf '%s\\0' \"$@\"; }\n" + plan
    printed = subprocess.run(["sh", "-c", read], capture_output=True, check=True).stdout.decode()
    assert printed.split("\0")[:-1] == ["cc", f"-DX={value}", value, "/repro/common/a.c"]


def test_cases_that_agree_on_the_build_share_it() -> None:
    made = repro("r", params={"x": [1, 2], "y": [1, 2]}, build=["cc -DX={x}"], run="./main {y}")
    assert [variant(made, case) for case in made.cases()] == ["b1", "b1", "b2", "b2"]
    assert build_plan(made).count("variant ") == 2
    assert shlex.split(build_plan(made))[-2:] == ["cc", "-DX=2"]


def test_values_that_only_look_alike_are_built_apart() -> None:
    made = repro("r", params={"x": [1, "1", True, "true"]}, build=["cc -DX={x}"])
    assert [variant(made, case) for case in made.cases()] == ["b1", "b2", "b3", "b4"]


def test_the_hash_follows_what_decides_the_image_and_nothing_of_the_host(tmp_path: Path) -> None:
    made = folder(tmp_path)
    first = render_cell(image(), BASE, made)
    assert first.spec_hash == render_cell(image(), BASE, made).spec_hash
    (tmp_path / "r" / "main.hip").write_text("int main() { return 1; }\n")
    assert first.spec_hash != render_cell(image(), BASE, made).spec_hash
    tls = image(mirror="https://mirror.invalid/debian")
    assert render_image(tls, BASE, ca_bundle=b"one").spec_hash == render_image(tls, BASE, ca_bundle=b"two").spec_hash
    assert "COPY host/" in render_image(tls, BASE, ca_bundle=b"one").dockerfile
    assert "COPY host/" not in render_image(image(), BASE, ca_bundle=b"one").dockerfile


def test_a_context_is_replaced_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "images" / "a"
    Context(name="n", dockerfile="FROM a\n", files={"x/old": File(content=b"1")}).write(target, tmp_path / "tmp")
    Context(name="n", dockerfile="FROM b\n", files={"run": File(content=b"2", executable=True)}).write(
        target, tmp_path / "tmp"
    )
    assert sorted(path.name for path in target.rglob("*")) == ["Dockerfile", "run"]
    assert (target / "Dockerfile").read_text() == "FROM b\n"
    assert (target / "run").stat().st_mode & 0o111
    assert [path.name for path in target.parent.iterdir()] == ["a"]
