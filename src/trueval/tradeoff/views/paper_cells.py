"""Tables of papers before formatting: cells with their uncertainty, and tables that lack data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from trueval.report.number_texts import NOT_AVAILABLE, ValueUnit, format_value, interval, whole
from trueval.tradeoff.quality.result_parts import MeasureMean
from trueval.tradeoff.views.units import milliseconds, money


class CellValue(NamedTuple):
    """A number in a table.

    Attributes:
        value: None where it is not known.
        unit: "measure", "ms" (the value is in seconds), "money", "count", "tokens", "ratio" or "percent".
        low: end of its interval over queries; None where there is none.
        high: the other end.
        lowest: value under the worst order of ties; None where ties do not matter to it.
        highest: under the best one.
        change: relative change against the first row.
        beside: a further number that follows in brackets, such as a ceiling.
    """

    value: float | None
    unit: str = "measure"
    low: float | None = None
    high: float | None = None
    lowest: float | None = None
    highest: float | None = None
    change: float | None = None
    beside: float | None = None

    def text(self, scale: ValueUnit) -> str:
        """The number with its change and suffix, without uncertainty.

        >>> from trueval.report.number_texts import FRACTIONS
        >>> CellValue(0.521, change=-0.12).text(FRACTIONS), CellValue(0.0476, "ms").text(FRACTIONS)
        ('0.5210 (-12.0%)', '47.6')
        """
        told = _number(self.value, self.unit, scale)
        if self.change is not None:
            told += f" ({self.change:+.1%})"
        return told if self.beside is None else f"{told} ({_number(self.beside, self.unit, scale)})"

    def uncertainty(self, scale: ValueUnit) -> Iterator[str]:
        """Its interval over queries, and its tie range where the tie order matters."""
        if self.low is not None and self.high is not None:
            yield _ends(self.low, self.high, self.unit, scale)
        if self.lowest is not None and self.highest is not None:
            ends = _ends(self.lowest, self.highest, self.unit, scale)
            if _number(self.lowest, self.unit, scale) != _number(self.highest, self.unit, scale):
                yield f"ties {ends}"


def _number(value: float | None, unit: str, scale: ValueUnit) -> str:
    if value is None:
        return NOT_AVAILABLE
    if unit == "measure":
        return format_value(value, scale)
    if unit == "ms":
        return milliseconds(value)
    if unit == "money":
        return money(value)
    if unit == "percent":
        return f"{value:.1%}"
    if unit == "ratio":
        return f"{value:.3f}"
    return f"{value:,.1f}" if unit == "tokens" else whole(value)


def _ends(low: float, high: float, unit: str, scale: ValueUnit) -> str:
    if unit == "measure":
        return interval(low, high, scale)
    return f"[{_number(low, unit, scale)}, {_number(high, unit, scale)}]"


Cell: TypeAlias = str | CellValue
Row: TypeAlias = tuple[Cell, ...]


def row_of(*cells: Cell) -> Row:
    """A row of cells."""
    return cells


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper, with the user's data.

    Attributes:
        name: such as "Table 1".
        title: what it shows of which systems, with the rule that chose them.
        head: headings; the first columns hold words.
        rows: cells.
        words: how many columns hold words.
        notes: one line each.
    """

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    words: int = 1
    notes: tuple[str, ...] = ()

    @property
    def caption(self) -> str:
        """Name and title of the table."""
        return f"{self.name}: {self.title}"


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

    def __str__(self) -> str:
        """The table and the missing data, in one line."""
        return f"{self.name} ({self.title}) is left out: {self.cure}"


def of_measure(entry: MeasureMean | None) -> CellValue:
    """A measure with its interval and tie range.

    Args:
        entry: of a sweep; None without one.
    """
    if entry is None:
        return CellValue(None)
    return CellValue(entry.expected, low=entry.low, high=entry.high, lowest=entry.lowest, highest=entry.highest)


def format_cell(cell: Cell, scale: ValueUnit, *, uncertain: bool = True) -> str:
    """A cell as text: the number, its interval over queries, its tie range.

    Args:
        cell: of a table.
        scale: of measures.
        uncertain: whether to show intervals.
    """
    if isinstance(cell, str):
        return cell
    told = cell.text(scale)
    return " ".join([told, *cell.uncertainty(scale)]) if uncertain and cell.value is not None else told
