"""Write a table in a format; each is one function over the shared table, tabulate underneath where it draws."""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from collections.abc import Callable, Sequence

from tabulate import SEPARATING_LINE, tabulate

from harness.results.query import Result
from harness.show.tables import Table

_CASE, _NARROWEST, _WIDEST = 36, 16, 44


def terminal(table: Table, *, width: int = 200) -> str:
    """Draw for a terminal of ``width`` characters; a repro is named once, and long verdicts wrap in their cell.

    Columns that do not fit side by side follow below, as a table of their own with the same rows.
    """
    if not table.rows:
        return "no rows to show" + _notes(table, "")
    names = max((len(row.repro) for row in table.rows), default=0)
    fitting = max(1, (width - names - _CASE - 7) // (_NARROWEST + 3))
    parts = -(-len(table.columns) // fitting)
    each = -(-len(table.columns) // parts)
    drawn = [_draw(table, range(first, min(first + each, len(table.columns))), names, width)
             for first in range(0, len(table.columns), each)]  # fmt: skip
    return "\n".join(drawn) + _notes(table, "")


def _draw(table: Table, columns: range, names: int, width: int) -> str:
    """Draw some columns of a table, without its notes."""
    room = max(_NARROWEST, (width - names - _CASE - 3 * len(columns)) // max(len(columns), 1))
    widths = [names or 1, _CASE] + [min(room, _WIDEST)] * len(columns)
    lines: list[list[str] | str] = []
    texts = [[*row[:2], *(row[2 + column] for column in columns)] for row in table.texts()]
    for above, row in zip([None, *texts], texts, strict=False):
        first = above is None or row[0] != above[0]
        if first and above is not None:
            lines.append(SEPARATING_LINE)
        shown = row if first else ["", *row[1:]]
        lines.append(["\n".join(textwrap.wrap(text, size)) for text, size in zip(shown, widths, strict=True)])
    heads = ["repro", "case"]
    for column in columns:
        heads.append(
            "\n".join(part for line in table.columns[column] for part in textwrap.wrap(line, min(room, _WIDEST)))
        )
    return tabulate(lines, heads, tablefmt="rounded_outline", disable_numparse=True)


def github(table: Table) -> str:
    """Write a GitHub Markdown table; what Markdown or HTML would take as its own stays text.

    Cells are not padded: an issue may hold 65,536 characters, and spaces would be most of them.
    https://github.github.com/gfm/#tables-extension-
    """
    heads = ["repro", "case", *("<br>".join(_markdown(line) for line in head) for head in table.columns)]
    rows = [[_markdown(text) for text in row] for row in table.texts()]
    lines = ["| " + " | ".join(row) + " |" for row in (heads, ["---"] * len(heads), *rows)]
    return "\n".join(lines) + _notes(table, "\n", _markdown)


# Every ASCII punctuation character may be escaped: https://spec.commonmark.org/0.31.2/#backslash-escapes
# An underscore inside a word is one already, and the names of HIP are full of them.
_SPECIAL = re.compile(r"[\\`*\[\]<>|~#&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def _markdown(text: str) -> str:
    return _SPECIAL.sub(lambda match: f"\\{match.group()}", text).replace("\n", " ")


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
