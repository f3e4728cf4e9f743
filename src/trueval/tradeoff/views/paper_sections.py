"""The section with P-B's tables: those that a sweep has data for, and what the others lack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from trueval.report.units import FRACTION, Unit, number
from trueval.report.view import Column, Section, Sheet
from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views.paper_cells import CellValue, MissingTable, PaperTable, Row, format_cell
from trueval.tradeoff.views.paper_tables import paper_tables
from trueval.tradeoff.views.units import MILLISECONDS, MONEY

CELL: Final = Unit(format_cell, "r", str)
PAGE: Final[Mapping[str, Unit]] = {
    "measure": FRACTION,
    "ms": MILLISECONDS,
    "money": MONEY,
    "count": number(",.0f"),
    "tokens": number(",.1f"),
    "ratio": number(".3f"),
    "percent": number(".1%"),
}


def paper_section(result: SweepResult) -> Section:
    """The tables of the paper for a sweep, on the page, in Markdown and in LaTeX.

    Args:
        result: of the command.
    """
    made = paper_tables(result)
    sheets: list[Sheet[Any]] = [
        _sheet(place, each) for place, each in enumerate(each for each in made if isinstance(each, PaperTable))
    ]
    missing = [each for each in made if isinstance(each, MissingTable)]
    columns: list[Column[MissingTable]] = [
        Column("table", lambda row: row.name),
        Column("shows", lambda row: row.title),
        Column("needs", lambda row: row.cure),
    ]
    if missing:
        sheets.append(Sheet("Tables that need more data", missing, columns, only="document", id="paper-missing"))
    level = f"{100 * result.level:g}"
    words = (
        "The tables of Practical RAG evaluation, with the numbers of this sweep: those of the tables above, where "
        f"their intervals are. In Markdown and LaTeX brackets hold {level} % intervals over queries and, after the "
        "word ties, the values that the order of equal scores allows."
    )
    return Section("Tables of the paper", sheets, words, id="paper")


def _sheet(place: int, table: PaperTable) -> Sheet[Row]:
    return Sheet(
        table.caption,
        table.rows,
        list(_columns(table)),
        notes=table.notes,
        folded=True,
        only="document",
        id=f"paper-{place}",
    )


def _columns(table: PaperTable) -> Iterator[Column[Row]]:
    """Words, then numbers: in texts with their intervals, on the page by their unit."""
    for at, title in enumerate(table.head):
        if at < table.words:
            yield Column(title, _cell(at))
            continue
        cells = [row[at] for row in table.rows]
        values = [cell for cell in cells if isinstance(cell, CellValue)]
        yield Column(title, _cell(at), CELL, only="text")
        yield Column(title, _part(at, "value"), PAGE[values[0].unit] if values else FRACTION, only="page")
        if any(cell.change is not None for cell in values):
            yield Column(f"{title} change", _part(at, "change"), number("+.1%"), only="page")


def _cell(at: int) -> Callable[[Row], str | CellValue]:
    return lambda row: row[at]


def _part(at: int, name: str) -> Callable[[Row], float | None]:
    def value(row: Row) -> float | None:
        cell = row[at]
        found: float | None = None if isinstance(cell, str) else getattr(cell, name)
        return found

    return value
