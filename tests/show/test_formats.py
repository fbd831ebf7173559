from __future__ import annotations

import csv
import io
import json

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.judge.verdicts import Verdict
from harness.results.query import Place, Result
from harness.show import formats
from harness.show.tables import differing, lay_out


def result(image: str, verdict: Verdict, *, repro: str = "r", case: str = "1", home: str = "local") -> Result:
    return Result(
        repro=repro, case={"x": case}, control=case == "c", verdict=verdict, rocm="6.4.3",
        place=Place(image=image, device="none", home=home, environment="default"),
    )  # fmt: skip


PASS, FAIL = Verdict(word="pass", trials=1), Verdict(word="fail", trials=1, fails=1, signature="SIGSEGV")
SKIP = Verdict(word="skip", reason="needs kernels")


def cells_of(html: str) -> list[list[str]]:
    """Return the text of every table cell, as a browser would show it."""
    from html.parser import HTMLParser

    class Cells(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.rows: list[list[str]] = []
            self.inside = False

        def handle_starttag(self, tag: str, _attrs: object) -> None:
            if tag == "tr":
                self.rows.append([])
            elif tag in {"td", "th"}:
                self.rows[-1].append("")
                self.inside = True
            elif tag != "br" and self.inside:
                self.rows[-1][-1] += f"<{tag}>"

        def handle_endtag(self, tag: str) -> None:
            self.inside = self.inside and tag not in {"td", "th"}

        def handle_data(self, data: str) -> None:
            if self.inside:
                self.rows[-1][-1] += data

    parser = Cells()
    parser.feed(html)
    return parser.rows


def test_columns_keep_their_order_and_name_only_what_varies() -> None:
    table = lay_out([result("b", PASS), result("a", FAIL)])
    assert table.columns == (("b", "ROCm 6.4.3"), ("a", "ROCm 6.4.3"))
    table = lay_out([result("a", PASS), result("a", FAIL, home="tmpfs")])
    assert table.columns == (("a", "ROCm 6.4.3", "home local"), ("a", "ROCm 6.4.3", "home tmpfs"))


def test_only_differing_rows() -> None:
    results = [result("a", PASS), result("b", FAIL), result("a", PASS, case="2"), result("b", PASS, case="2")]
    assert [item.label for item in differing(results)] == ["x=1", "x=1"]


def test_every_reason_is_a_footnote_once() -> None:
    table = lay_out([result("a", SKIP), result("b", SKIP), result("a", PASS, case="2")], notes=["i: a lie"])
    assert table.footnotes == ("needs kernels", "i: a lie")
    assert table.texts()[0][2:] == ["skip [1]", "skip [1]"]
    assert "[1] needs kernels\n[2] i: a lie" in formats.terminal(table)


def test_a_renderer_sees_a_table() -> None:
    html = MarkdownIt("gfm-like", {"linkify": False}).render(
        formats.github(lay_out([result("a", FAIL), result("b", SKIP)]))
    )
    assert cells_of(html) == [
        ["repro", "case", "aROCm 6.4.3", "bROCm 6.4.3"],
        ["r", "x=1", "fail: SIGSEGV", "skip [1]"],
    ]
    assert "needs kernels" in html


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"]), min_size=1, max_size=40))
def test_no_text_breaks_out_of_its_markdown_cell(text: str) -> None:
    hostile = Verdict(word="fail", trials=1, fails=1, signature=text)
    written = formats.github(lay_out([result("a", hostile), result("b", PASS)]))
    html = MarkdownIt("gfm-like", {"linkify": False}).render(written)
    assert cells_of(html)[1] == ["r", "x=1", f"fail: {text}", "pass"]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_csv_and_json_come_back(text: str) -> None:
    text = text.replace("\r", "").replace("\0", "")
    results = [result("a", Verdict(word="fail", signature=text or None)), result("b", PASS)]
    rows = list(csv.reader(io.StringIO(formats.comma_separated(lay_out(results)))))
    assert rows[1][2] == (f"fail: {text}" if text else "fail")
    (first, _) = json.loads(formats.as_json(results))
    assert first["signature"] == (text or None)
    assert list(first) == [
        "repro", "case", "control", "image", "rocm", "device", "without_device", "home", "environment",
            "verdict", "signature",
        "trials", "fails", "metrics", "observations", "reason", "software", "home_writes",
    ]  # fmt: skip
