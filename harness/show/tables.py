"""Lay results out as one table that every format shares: rows are repro and case, columns are where they ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.results.query import Place, Result


@dataclass(frozen=True, kw_only=True)
class Row:
    """One repro and case; ``cells`` stand in the order of the table's columns, None where nothing belongs."""

    repro: str
    case: str
    control: bool
    without_device: bool
    cells: tuple[Result | None, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows, columns with the lines of their heads, and the footnotes by number."""

    columns: tuple[tuple[str, ...], ...]
    rows: tuple[Row, ...]
    footnotes: tuple[str, ...]

    def texts(self) -> list[list[str]]:
        """Return every row as text: repro, case, and a verdict with its footnote mark for each column."""
        return [[row.repro, row.case + _remarks(row)] + [self._text(cell) for cell in row.cells] for row in self.rows]

    def _text(self, cell: Result | None) -> str:
        if cell is None:
            return ""
        marks = [f" [{self.footnotes.index(note) + 1}]" for note in _notes(cell)]
        return cell.verdict.text + "".join(marks)


def _remarks(row: Row) -> str:
    return (" (control)" if row.control else "") + (" (no device)" if row.without_device else "")


def _notes(cell: Result) -> list[str]:
    """Return what is to be said of one verdict: why it is none, what it may rest on, what its home refused."""
    return [note for note in (cell.verdict.reason, cell.software, cell.home) if note]


def lay_out(results: Sequence[Result], *, notes: Sequence[str] = ()) -> Table:
    """Lay out results in the order they come in; axes other than the image name a column only where they vary."""
    places = list(dict.fromkeys(result.place for result in results))
    versions = {result.place.image: result.rocm for result in results if result.rocm}
    rows = [
        Row(
            repro=cells[0].repro,
            case=cells[0].label,
            control=cells[0].control,
            without_device=any(cell.without_device for cell in cells),
            cells=tuple(next((cell for cell in cells if cell.place == place), None) for place in places),
        )
        for cells in by_row(results)
    ]
    reasons = [note for row in rows for cell in row.cells if cell is not None for note in _notes(cell)]
    return Table(
        columns=tuple(_head(place, places, versions) for place in places),
        rows=tuple(rows),
        footnotes=tuple(dict.fromkeys([*reasons, *notes])),
    )


def by_row(results: Sequence[Result]) -> list[list[Result]]:
    """Group results by repro and case; 1 and "1" are different cases though they read the same."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.repro, repr(result.case)), []).append(result)
    return list(groups.values())


def differing(results: Sequence[Result]) -> list[Result]:
    """Return the results of those rows whose verdicts are not all the same."""
    return [
        cell
        for cells in by_row(results)
        if len({(cell.verdict.word, cell.verdict.signature) for cell in cells}) > 1
        for cell in cells
    ]


def _head(place: Place, places: Sequence[Place], versions: dict[str, str]) -> tuple[str, ...]:
    """Return the lines of a column's head: image, its probed ROCm version, and the axes that vary."""
    lines = [place.image]
    if version := versions.get(place.image):
        lines.append(f"ROCm {version}")
    if place.device != "none" and len({other.device for other in places}) == 1:
        lines.append(place.device)
    for axis in ("device", "home", "environment"):
        if len({getattr(other, axis) for other in places}) > 1:
            lines.append(f"{axis} {getattr(place, axis)}")
    return tuple(lines)
