from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ConfigError
from harness.plan.cells import Identity, expand, key
from harness.plan.commands import fill, placeholders, words
from harness.plan.models import Matrix
from harness.plan.project import read
from harness.plan.repros import Repro, ReproFolder
from tests.conftest import PLAIN, Write, repro_text

SOURCE = {"kind": "distro", "suite": "bookworm"}


def matrix(**extra: object) -> Matrix:
    images = [{"name": name, "source": SOURCE} for name in ("one", "two", "three")]
    return Matrix.model_validate({"images": images, "devices": ["none"], **extra})


def repro(name: str = "r", **extra: object) -> ReproFolder:
    values = {"title": "t", "references": ["https://e.invalid"], "what_to_do": "w", "run": "./main", **extra}
    return ReproFolder(name=name, path=Path("repros") / name, spec=Repro.model_validate(values))


def test_cells_keep_the_order_of_the_file() -> None:
    cells = expand(matrix(), [repro("b", params={"x": [2, 1]}), repro("a")])
    assert [(c.repro.name, c.case.label, c.image.name) for c in cells] == [
        ("b", "x=2", "one"), ("b", "x=2", "two"), ("b", "x=2", "three"),
        ("b", "x=1", "one"), ("b", "x=1", "two"), ("b", "x=1", "three"),
        ("a", "", "one"), ("a", "", "two"), ("a", "", "three"),
    ]  # fmt: skip


@given(
    images=st.integers(1, 4),
    homes=st.sampled_from([["local"], ["local", "tmpfs"]]),
    params=st.dictionaries(st.sampled_from("xyz"), st.lists(st.integers(), min_size=1, max_size=3, unique=True)),
)
def test_the_number_of_cells_is_the_product_of_the_axes(
    images: int, homes: list[str], params: dict[str, list[int]]
) -> None:
    plan = Matrix.model_validate(
        {"images": [{"name": f"i{n}", "source": SOURCE} for n in range(images)], "homes": homes}
    )
    cells = expand(plan, [repro(params=params)])
    expected = images * len(homes)
    for values in params.values():
        expected *= len(values)
    assert len(cells) == expected
    assert len({key(cell, Identity(image_id="i")) for cell in cells}) == expected / images  # images differ by id


def test_rules_choose_cells() -> None:
    plan = matrix(exclude=[{"image": "two"}, {"repro": "a", "image": ["one", "three"]}])
    cells = expand(plan, [repro("a"), repro("b")])
    assert [(c.repro.name, c.image.name) for c in cells] == [("b", "one"), ("b", "three")]
    plan = matrix(include=[{"params": {"x": 1}, "image": "one"}])
    assert [c.case.label for c in expand(plan, [repro(params={"x": [1, 2]})])] == ["x=1"]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"exclude": [{"image": "tow"}]}, "'tow' is not there; did you mean 'two'?"),
        ({"include": [{"params": {"z": 1}}]}, "'z' is not there"),
        ({"exclude": [{"repro": "none"}]}, "'none' is not there"),
        ({"exclude": [{"image": ["one", "two", "three"]}]}, "the matrix has no cell"),
    ],
)
def test_rules_that_cannot_be_meant_are_refused(rules: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        expand(matrix(**rules), [repro()])
    assert message in str(caught.value)


def test_the_key_changes_with_everything_that_decides_a_result_and_with_nothing_else() -> None:
    (cell, *_) = expand(matrix(), [repro(params={"x": [1]})])
    known = Identity(image_id="sha256:1", device={"gpus": []})
    first = key(cell, known)
    assert first == key(cell, known)
    assert first == key(dataclasses.replace(cell, trials=50), known)
    different = [
        key(cell, Identity(image_id="sha256:2", device={"gpus": []})),
        key(cell, Identity(image_id="sha256:1", device={"gpus": ["gfx90a"]})),
        key(dataclasses.replace(cell, timeout=1.0), known),
        key(expand(matrix(homes=["tmpfs"]), [repro(params={"x": [1]})])[0], known),
        key(
            expand(matrix(environments=[{"name": "e", "variables": {"A": "1"}}]), [repro(params={"x": [1]})])[0], known
        ),
        key(expand(matrix(), [repro(params={"x": [2]})])[0], known),
        key(expand(matrix(), [repro(params={"x": ["1"]})])[0], known),
        key(expand(matrix(), [repro(params={"x": [1]}, run="./other")])[0], known),
    ]
    assert len({first, *different}) == 1 + len(different)


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1))
def test_a_value_is_one_word_whatever_it_holds(values: list[str]) -> None:
    command = words("./main --flag={x} {x} tail")
    for value in values:
        assert fill(command, {"x": value}) == ("./main", f"--flag={value}", value, "tail")


def test_words_are_split_as_a_shell_would_and_nothing_is_expanded() -> None:
    assert words("""a 'b c' "d $HOME" *.c {x}""") == ("a", "b c", "d $HOME", "*.c", "{x}")
    assert placeholders(("{a}{b}", "c")) == {"a", "b"}
    with pytest.raises(ValueError, match="cannot split"):
        words("a 'b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (repro_text("./main", needs="[gpus]"), "needs[0]: 'gpus' is not one of"),
        (repro_text("./main", needs="[hardwear]"), "did you mean 'hardware'?"),
        (repro_text("./main {n}"), "{n} in a command is no parameter"),
        (repro_text("./main", params="{x: [.inf]}"), "params.x[0]"),
        (repro_text("./main", params="{x: [1, 2, 1]}"), "1 is listed more than once"),
        (repro_text("./main", params="{a: &v [1,2,3,4,5,6,7,8,9], b: *v, c: *v, d: *v, e: *v}"), "59,049 cases"),
        (repro_text("./main", params="{x: []}"), "params.x: must not be empty"),
        (repro_text("./main", params="{x: [1]}", controls="[{x: 2}]"), "controls[0].x: 2 names no case"),
        (repro_text("./main", regressed_when="build"), "the build is the experiment"),
        (repro_text("./main", affected="'six'"), "not a version specifier"),
        (repro_text("./main", timeut="1"), "timeut: unknown key (did you mean 'timeout'?)"),
        (repro_text("a 'b"), "cannot split"),
        ("title: t\n", "references: is missing"),
        (repro_text("./main", params='{x: ["a\\0b"]}'), "NUL"),
    ],
)
def test_a_repro_that_cannot_be_meant_is_refused_with_its_place(project: Write, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(project(repros={"bad": text}))
    assert "repros/bad/repro.yaml:" in str(caught.value)
    assert message in str(caught.value)


def test_a_control_is_the_very_value_and_not_one_that_equals_it() -> None:
    made = repro("r", params={"x": [1, True, "1", 1.0]}, controls=[{"x": 1}])
    assert [case.control for case in made.cases()] == [True, False, False, False]


def test_a_rule_error_names_its_place(project: Write) -> None:
    text = f"images: [{PLAIN}]\nrepros: [r]\nexclude:\n  - {{image: plan}}\n"
    with pytest.raises(ConfigError) as caught:
        read(project(matrix=text, repros={"r": repro_text("true")}))
    assert "matrix.yaml:4:13: exclude[0].image: 'plan' is not there; did you mean 'plain'?" in str(caught.value)


@pytest.mark.parametrize("name", ["a..b", "foo-", "x___y", "Aa", "a/b", "x" * 64])
def test_names_that_docker_refuses_are_refused_first(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        Matrix.model_validate({"images": [{"name": name, "source": SOURCE}]})


def test_a_folder_without_repro_yaml_is_told(project: Write) -> None:
    path = project(repros={"good": repro_text("true")}, files={"repros/empty/main.c": ""})
    with pytest.raises(ConfigError, match=r"repros/empty: there is no repro.yaml"):
        read(path)


def test_a_folder_that_leads_out_of_the_project_is_refused(project: Write, tmp_path: Path) -> None:
    path = project(repros={"good": repro_text("true")})
    (tmp_path / "secret").write_text("s")
    (path.parent / "repros" / "good" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(ConfigError, match="leads out of the project"):
        read(path)


def test_a_folder_name_that_could_be_more_than_a_name_is_refused(project: Write) -> None:
    path = project(repros={"good": repro_text("true")})
    bad = path.parent / "repros" / "Bad\nRUN id"
    bad.mkdir()
    (bad / "repro.yaml").write_text(repro_text("true"))
    with pytest.raises(ConfigError, match="cannot name a repro"):
        read(path)


@pytest.mark.parametrize(
    ("repros", "message"),
    [
        ("[god]", "did you mean 'good'?"),
        ("['../good']", "repros[0]: '../good' is not allowed"),
        ("[good, good]", "repros[1]: the name 'good' is used twice"),
        ("[{name: good, params: {y: [1]}}]", "matrix.yaml:2:31: repros[0].params: 'y' is not there"),
    ],
)
def test_a_matrix_that_names_repros_wrongly_is_refused(project: Write, repros: str, message: str) -> None:
    text = f"images: [{PLAIN}]\nrepros: {repros}\n"
    with pytest.raises(ConfigError) as caught:
        read(project(matrix=text, repros={"good": repro_text("./main {x}", params="{x: [1]}")}))
    assert message in str(caught.value)


def test_a_matrix_changes_parameters_and_trials_of_a_repro(project: Write) -> None:
    text = f"images: [{PLAIN}]\nrepros: [{{name: good, params: {{x: [5, 6]}}, trials: 7, timeout: 2}}]\n"
    path = project(matrix=text, repros={"good": repro_text("./main {x}", params="{x: [1]}", controls="[{x: 1}]")})
    cells = read(path).cells
    assert [(cell.case.label, cell.case.control, cell.trials, cell.timeout) for cell in cells] == [
        ("x=5", False, 7, 2.0),
        ("x=6", False, 7, 2.0),
    ]


def test_an_environment_stands_for_each_of_its_values() -> None:
    made = matrix(environments=[{"name": "x", "variables": {"A": "1"}, "vary": {"HSA_XNACK": ["0", "1", "unset"]}}])
    cells = expand(made, [repro(environment={"HSA_XNACK": "9", "B": "2"})])
    assert [(c.environment.name, c.variables(), c.environment.removed) for c in cells if c.image.name == "one"] == [
        ("x-0", {"HSA_XNACK": "0", "A": "1", "B": "2"}, ()),
        ("x-1", {"HSA_XNACK": "1", "A": "1", "B": "2"}, ()),
        ("x-unset", {"A": "1", "B": "2"}, ("HSA_XNACK",)),
    ]
    assert len({key(cell, Identity(image_id="i")) for cell in cells}) == 3


@pytest.mark.parametrize(
    "environment",
    [{"name": "x", "variables": {"A": "1"}, "vary": {"A": ["2"]}}, {"name": "x", "vary": {"A": []}},
     {"name": "x", "vary": {"A": ["1/", "1-"]}}],
)  # fmt: skip
def test_values_that_cannot_vary_are_refused(environment: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"say it once|at least 1|used twice"):
        matrix(environments=[environment])
