"""What a page is made of, before any HTML: words, numbers with their source, tables, figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias


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


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        title: its heading.
        field: JSON pointer from the source row to the value, or to a list that is counted; two of them joined by
            " - " for a difference; "" where the column shows neither.
        numeric: whether it holds numbers: set to the right, sorted as numbers.
    """

    title: str
    field: str = ""
    numeric: bool = False


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


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        source: where its values are, a JSON pointer inside the table's file.
        cells: one for each column.
    """

    source: str
    cells: tuple[Cell, ...]


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
