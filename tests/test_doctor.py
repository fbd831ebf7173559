from __future__ import annotations

import json

import pytest

from harness.plan.chips import chips, find_chip
from tests.conftest import Write, harness, repro_text

NOWHERE = "unix:///nonexistent/docker.sock"


def test_the_doctor_names_what_is_missing_and_what_mends_it(project: Write) -> None:
    matrix = project(repros={"r": repro_text("true")})
    told = harness(matrix, "doctor", "--engine", NOWHERE)
    assert told.status == 3
    lines = {line.split()[1]: line.split()[0] for line in told.out.splitlines() if not line.startswith(" ")}
    assert (lines["container"], lines["matrix"], lines["software"]) == ("missing", "ok", "ok")
    assert "-> start it" in told.out


def test_a_mistake_in_the_matrix_is_a_finding(project: Write) -> None:
    matrix = project(repros={"r": repro_text("true")}, matrix="images: []\n")
    found = json.loads(harness(matrix, "doctor", "--engine", NOWHERE, "--json").out)
    (finding,) = (one for one in found if one["what"] == "matrix")
    assert finding["state"] == "missing"
    assert "matrix.yaml:1:" in finding["detail"]


def test_settings_are_named_and_never_told(project: Write) -> None:
    matrix = project(repros={"r": repro_text("true")})
    told = harness(matrix, "doctor", "--engine", NOWHERE, https_proxy="http://user:secret@proxy.invalid:1")
    assert "https_proxy" in told.out
    assert "secret" not in told.out


@pytest.mark.engine
def test_an_engine_that_answers_is_told_with_its_version(project: Write) -> None:
    matrix = project(repros={"r": repro_text("true")})
    told = harness(matrix, "doctor")
    assert told.status == 0, told.out
    assert "container engine" in told.out
    assert "GB free for images" in told.out


def test_every_chip_is_read_whole_and_found_by_each_of_its_names() -> None:
    assert {chip.gfx for chip in chips()} == {
        "gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201",
    }  # fmt: skip
    assert all(find_chip(name) == chip for chip in chips() for name in (chip.id, chip.alias))
    assert all(found.gfx == chip.gfx for chip in chips() if (found := find_chip(chip.gfx)))
    assert find_chip("gfx1") is None
