"""Tables of papers: their declaration, cells with their uncertainty, and the sheets that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from trueval.report.number_texts import ValueUnit
from trueval.report.units import FRACTION, TEXT, Unit, number
from trueval.report.view import Column, Sheet
from trueval.tradeoff.quality.result_parts import MeasureMean
from trueval.tradeoff.views.pipelines import PipelineTexts

T = TypeVar("T")


class CellValue(NamedTuple):
    """A number in a table, with its uncertainty.

    Attributes:
        value: None where it is not known.
        low: end of its interval over queries; None where there is none.
        high: the other end.
        lowest: value under the worst order of ties; None where ties do not matter to it.
        highest: under the best one.
        change: relative change against the first row.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    lowest: float | None = None
    highest: float | None = None
    change: float | None = None


Cell: TypeAlias = str | float | CellValue | None
Row: TypeAlias = tuple[Cell, ...]
CHANGE: Final = number("+.1%")


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper, with the user's data.

    Attributes:
        title: what it shows of which systems, with the rule that chose them.
        head: headings.
        units: of the columns: TEXT for words, which come first.
        rows: cells.
        notes: one line each.
        name: such as "Table 1".
    """

    title: str
    head: tuple[str, ...]
    units: tuple[Unit, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    name: str = ""

    @property
    def caption(self) -> str:
        """Name and title of the table."""
        return f"{self.name}: {self.title}"

    def sheet(self, place: int) -> Sheet[Row]:
        """Words, then numbers: in texts with their intervals, on the page by their unit.

        Args:
            place: among the tables.
        """
        columns = [each for at in range(len(self.head)) for each in self._columns(at)]
        name = f"paper-{place}"
        return Sheet(self.caption, self.rows, columns, notes=self.notes, folded=True, only="document", id=name)

    def _columns(self, at: int) -> Iterator[Column[Row]]:
        title, unit = self.head[at], self.units[at]
        if unit is TEXT:
            yield Column(title, itemgetter(at))
            return
        text = Unit(lambda cell, scale: format_cell(cell, unit, scale), "r", str)
        yield Column(title, itemgetter(at), text, only="text")
        yield Column(title, lambda row: number_of(row[at]), unit, only="page")
        if any(_change(row[at]) is not None for row in self.rows):
            yield Column(f"{title} change", lambda row: _change(row[at]), CHANGE, only="page")


@dataclass(frozen=True)
class PaperColumn(Generic[T]):
    """A column of a table of the paper.

    Attributes:
        title: heading.
        cell: from a row to its cell.
        unit: how numbers are written; TEXT for words.
    """

    title: str
    cell: Callable[[T], Cell]
    unit: Unit = FRACTION


def table_of(title: str, rows: Iterable[T], columns: Iterable[PaperColumn[T]], notes: Iterable[str] = ()) -> PaperTable:
    """A table by its declaration.

    Args:
        title: as in `PaperTable`.
        rows: systems, or what joins several.
        columns: from a row to a cell.
        notes: as in `PaperTable`.
    """
    columns = tuple(columns)
    cells = tuple(tuple(each.cell(row) for each in columns) for row in rows)
    head, units = tuple(each.title for each in columns), tuple(each.unit for each in columns)
    return PaperTable(title, head, units, cells, tuple(notes))


def number_of(cell: Cell) -> str | float | None:
    """The number of a cell, without its uncertainty."""
    return cell.value if isinstance(cell, CellValue) else cell


def _change(cell: Cell) -> float | None:
    return cell.change if isinstance(cell, CellValue) else None


class MissingTable(NamedTuple):
    """A table that a sweep has no data for.

    Attributes:
        name: such as "Table 2".
        title: what it would show.
        cure: what to add to the TOML.
    """

    name: str
    title: str
    cure: str


class TableSource(NamedTuple):
    """Where a numbered table comes from.

    Attributes:
        name: such as "Table 1".
        title: what it shows.
        tables: from the systems to the tables with data; some numbers are several tables.
        cure: what to add to the TOML where there is no data.
    """

    name: str
    title: str
    tables: Callable[[Sequence[PipelineTexts]], Iterable[PaperTable]]
    cure: str | Callable[[Sequence[PipelineTexts]], str]

    def make(self, pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable | MissingTable]:
        """The tables, or what they lack.

        Args:
            pipelines: systems of a sweep.
        """
        made = [replace(each, name=self.name) for each in self.tables(pipelines)]
        yield from made
        if not made:
            yield MissingTable(self.name, self.title, self.cure if isinstance(self.cure, str) else self.cure(pipelines))


def of_measure(entry: MeasureMean | None) -> CellValue:
    """A measure with its interval and tie range.

    Args:
        entry: of a sweep; None without one.
    """
    if entry is None:
        return CellValue(None)
    return CellValue(entry.expected, entry.low, entry.high, entry.lowest, entry.highest)


def format_cell(cell: Cell, unit: Unit, scale: ValueUnit) -> str:
    """A cell as text: the number, its change, its interval over queries, its tie range where the two ends differ.

    Args:
        cell: of a table.
        unit: of its column.
        scale: of measures.

    >>> from trueval.report.number_texts import FRACTIONS
    >>> format_cell(CellValue(0.521, change=-0.12), FRACTION, FRACTIONS), format_cell(0.25, FRACTION, FRACTIONS)
    ('0.5210 (-12.0%)', '0.2500')
    """
    if not isinstance(cell, CellValue) or cell.value is None:
        return unit.write(number_of(cell), scale)
    found = unit.write(cell.value, scale) + ("" if cell.change is None else f" ({CHANGE.plain(cell.change)})")
    ends = [unit.write(end, scale) for end in cell[1:5]]
    if None not in (cell.low, cell.high):
        found += f" [{ends[0]}, {ends[1]}]"
    if None not in (cell.lowest, cell.highest) and ends[2] != ends[3]:
        found += f" ties [{ends[2]}, {ends[3]}]"
    return found
