"""What a page is made of, before any HTML: words, numbers with their source, tables, figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from trueval.report.text import fixed, signed


class Number(NamedTuple):
    """A number inside a sentence.

    Attributes:
        text: as people read it.
        value: in full precision.
        source: where it is, "file#/pointer"; "first - second" for a difference of two.
    """

    text: str
    value: float
    source: str


Words: TypeAlias = "tuple[str | Number, ...]"


class Cell(NamedTuple):
    """A cell of a table.

    Attributes:
        text: as people read it.
        value: what it sorts by; None where there is nothing.
        strong: whether the reader should look here first.
    """

    text: str
    value: float | str | None
    strong: bool = False


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        title: its heading.
        field: JSON pointer from the source row to the value, or to a list that is counted; two of them joined by
            " - " for a difference; "" where the column shows neither.
        numeric: whether it holds numbers: set to the right, sorted as numbers.
        show: how a value is written.
        strong: which values the reader should look at first.
    """

    title: str
    field: str = ""
    numeric: bool = False
    show: Callable[[Any], str] = str
    strong: Callable[[Any], bool] = lambda _: False

    def cell(self, entry: Mapping[str, Any]) -> Cell:
        """The cell of a source row: of the value that the field points to, so that the two cannot disagree.

        Args:
            entry: the source row, as the JSON holds it; what it lacks is None.

        Example:
            >>> Column("cuts", "/ties/cut_queries").cell({"ties": {"cut_queries": ["q1", "q2"]}})
            Cell(text='2', value=2, strong=False)
        """
        ends = [_found(entry, field) for field in self.field.split(" - ")]
        if len(ends) == 2:
            value = None if None in ends else ends[0] - ends[1]
        else:
            value = len(ends[0]) if isinstance(ends[0], list) else ends[0]
        return Cell(self.show(value), value, bool(self.strong(value)))


def _found(entry: Any, field: str) -> Any:
    # Fields name what our own JSON holds, in which no name has "~" or "/" that a pointer would escape.
    for key in field.split("/")[1:]:
        entry = entry[int(key)] if isinstance(entry, list) else (entry or {}).get(key)
    return entry


def statistic(name: str, title: str = "") -> Column:
    """The column of a statistic of a measure: its values are fractions, a bias has its sign, the expectation is strong.

    Args:
        name: of the statistic in the JSON.
        title: its heading, the name if empty.
    """
    show = signed if name == "bias" else fixed
    return Column(
        title or name.replace("_", "-"), f"/{name}", numeric=True, show=show, strong=lambda _: name == "expected"
    )


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        source: where its values are, a JSON pointer inside the table's file.
        cells: one for each column.
    """

    source: str
    cells: tuple[Cell, ...]


def row_of(source: str, columns: Iterable[Column], entry: Mapping[str, Any], *told: str) -> Row:
    """A row whose columns with a field show what the entry holds there.

    Args:
        source: where the entry is, a JSON pointer inside the table's file.
        columns: of the table.
        entry: what the pointer points to.
        told: texts of the columns without a field, in their order.
    """
    texts = iter(told)
    return Row(source, tuple(each.cell(entry) if each.field else Cell(text := next(texts), text) for each in columns))


@dataclass(frozen=True)
class Table:
    """A table that sorts.

    Attributes:
        id: unique on the page.
        caption: one sentence.
        file: the result file that its rows are in.
        columns: headings; the first one names the row.
        rows: in the order of reading.
        notes: lines under the table.
        folded: whether it begins closed, for tables that few people read to the end.
    """

    id: str
    caption: Words
    file: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    folded: bool = False


def rows_height(rows: int) -> int:
    """CSS pixels of a plot with a line for each run or difference; under 140 Plotly finds no room for its axes."""
    return max(140, 50 + 30 * rows)


@dataclass(frozen=True)
class Figure:
    """A plot that the page's script draws.

    Attributes:
        id: unique on the page.
        title: above the plot.
        description: what it shows, in one sentence; read aloud in place of the plot.
        draw: name of the function of the script.
        data: what that function takes; only what JSON holds.
        height: CSS pixels.
        wide: whether it takes the whole width of the page.
    """

    id: str
    title: str
    description: str
    draw: str
    data: Mapping[str, Any]
    height: int
    wide: bool = False


@dataclass(frozen=True)
class Case:
    """One thing worth opening: a line, and what is behind it.

    Attributes:
        title: the line.
        words: paragraphs.
        tables: behind it.
        open: whether it begins opened.
    """

    title: Words
    words: tuple[Words, ...]
    tables: tuple[Table, ...]
    open: bool = False


@dataclass(frozen=True)
class Block:
    """A stretch of the page under one heading.

    Attributes:
        id: unique on the page.
        title: the heading.
        words: paragraphs under it.
        figures: side by side where there is room.
        tables: under the figures.
        cases: under the tables.
        facts: pairs of term and words, at the end.
    """

    id: str
    title: str
    words: tuple[Words, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    cases: tuple[Case, ...] = ()
    facts: tuple[tuple[str, Words], ...] = ()


@dataclass(frozen=True)
class Part:
    """What one result file gives to the page.

    Attributes:
        summary: sentences that a hurried reader reads, most important first.
        advice: what to do, most important first.
        blocks: the body.
        closing: conventions and provenance, at the end of the page.
    """

    summary: tuple[Words, ...] = ()
    advice: tuple[Words, ...] = ()
    blocks: tuple[Block, ...] = ()
    closing: tuple[Block, ...] = ()
