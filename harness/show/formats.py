"""Write a table in a format; each is one function over the shared table, tabulate underneath where it draws."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence

from tabulate import tabulate

from harness.results.query import Result
from harness.show.tables import Table

_WIDEST = 38


def terminal(table: Table, *, width: int = 200) -> str:
    """Draw for a terminal of ``width`` characters; long verdicts wrap inside their cell."""
    heads = ["repro", "case", *("\n".join(head) for head in table.columns)]
    room = max(12, min(_WIDEST, (width - 60) // max(len(table.columns), 1)))
    widths = [28, 24] + [room] * len(table.columns)
    drawn = tabulate(table.texts(), heads, tablefmt="rounded_grid", disable_numparse=True, maxcolwidths=widths)
    return drawn + _notes(table, "")


def github(table: Table) -> str:
    """Write a GitHub Markdown table; what Markdown or HTML would take as its own stays text."""
    heads = ["repro", "case", *("<br>".join(_markdown(line) for line in head) for head in table.columns)]
    rows = [[_markdown(text) for text in row] for row in table.texts()]
    return tabulate(rows, heads, tablefmt="pipe", disable_numparse=True) + _notes(table, "\n", _markdown)


# Every ASCII punctuation character may be escaped with a backslash: https://spec.commonmark.org/0.31.2/#backslash-escapes
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>|~#"})


def _markdown(text: str) -> str:
    return text.translate(_SPECIAL).replace("&", "&amp;").replace("\n", " ")


def _notes(table: Table, separator: str, write: Callable[[str], str] = str) -> str:
    lines = [f"{separator}{write(f'[{number}]')} {write(note)}" for number, note in enumerate(table.footnotes, 1)]
    return "\n" + "".join("\n" + line for line in lines) if lines else ""


def comma_separated(table: Table) -> str:
    """Write CSV as RFC 4180 has it; heads are one line, footnotes are left to the JSON."""
    output = io.StringIO()
    writer = csv.writer(output)
    writer.writerow(["repro", "case", *(" ".join(head) for head in table.columns)])
    writer.writerows(
        [row.repro, row.case, *(cell.verdict.text if cell else "" for cell in row.cells)] for row in table.rows
    )
    return output.getvalue().rstrip("\r\n")


def as_json(results: Sequence[Result]) -> str:
    """Write the list of results with every axis, whatever a table would leave out."""
    return json.dumps([result.as_json() for result in results], indent=1, ensure_ascii=False)
