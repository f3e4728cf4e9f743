"""Page content before any HTML: words, numbers with their source, tables, figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from trueval.report.figures import Chart


class Number(NamedTuple):
    """A number inside a sentence.

    Attributes:
        text: text as shown.
        value: in full precision.
        source: where it is, "file#/pointer"; "first - second" for a difference of two.
    """

    text: str
    value: float
    source: str


Words: TypeAlias = "tuple[str | Number, ...]"


class PageCell(NamedTuple):
    """A cell of a table.

    Attributes:
        text: text as shown.
        value: sort key; None where there is nothing.
        strong: whether the reader should look here first.
        source: JSON pointer inside the table's file where it is not in the row's source: in a matrix, whose rows gather
            from all over the file.
    """

    text: str
    value: float | str | None
    strong: bool = False
    source: str = ""


class PageColumn(NamedTuple):
    """A column of a table.

    Attributes:
        title: its heading.
        field: JSON pointer from the source row to the value, or to a list that is counted; two of them joined by
            " - " for a difference, of which the first may be a number; after "-" for the value with its sign changed;
            "" where the column shows neither.
        numeric: whether it holds numbers: set to the right, sorted as numbers.
        show: how a value is written.
        turned: the field in rows that show a pair the other way round, the second of it first; the same one if empty.
    """

    title: str
    field: str = ""
    numeric: bool = False
    show: Callable[[Any], str] = str
    turned: str = ""


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        source: where its values are, a JSON pointer inside the table's file.
        cells: one for each column.
        turned: whether it shows a pair the other way round, by the field `turned` of its columns.
    """

    source: str
    cells: tuple[PageCell, ...]
    turned: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class PageTable:
    """A table that sorts.

    Attributes:
        id: unique on the page.
        caption: one sentence.
        file: the result file that its rows are in.
        columns: headings; the first one names the row.
        rows: in the order of reading.
        notes: lines under the table.
        folded: whether it begins closed, for tables that few people read to the end; its rows are built when it opens.
    """

    id: str
    caption: Words
    file: str
    columns: tuple[PageColumn, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    folded: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Figure:
    """A plot: the page holds it as SVG, so that it is there without scripts.

    Attributes:
        id: unique on the page.
        title: above the plot.
        description: what it shows, in one sentence; read aloud in place of the plot.
        draw: from a width in CSS pixels to the Altair chart, or its Vega-Lite as a dict; colors by
            `trueval.report.figures.tone`. Called for a screen and for a phone, and only when a page is made: a table in
            a terminal does not wait for Altair, and needs none.
        interactive: whether scripts put the live chart in the place of the SVG, with what its parameters are bound to.
        key: pairs of shape and meaning, shown once above figures that share it; shapes are those of templates/page.css.
    """

    id: str
    title: str
    description: str
    draw: Callable[[int], Chart]
    interactive: bool = False
    key: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        # Altair has no types, so mypy cannot tell a chart that is drawn already from the function that draws it.
        if not callable(self.draw):
            raise TypeError(f"{self.id}: a figure is given a function that draws it, and not a chart.")


@dataclass(frozen=True, eq=False, repr=False)
class PageCase:
    """A folded item: a line, and what opens behind it.

    Attributes:
        title: the line.
        words: paragraphs.
        tables: behind it.
    """

    title: Words
    words: tuple[Words, ...]
    tables: tuple[PageTable, ...]


Place: TypeAlias = Literal["decisions", "values", "details"]
PLACES: tuple[Place, ...] = ("decisions", "values", "details")


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """A stretch of the page under one heading.

    Attributes:
        id: unique on the page.
        title: the heading.
        words: paragraphs under it.
        figures: side by side where there is room.
        tables: under the figures.
        cases: under the tables.
        place: in the order of `PLACES`; within one place blocks keep the order of their kinds.
        open: whether it begins unfolded.
    """

    id: str
    title: str
    words: tuple[Words, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[PageTable, ...] = ()
    cases: tuple[PageCase, ...] = ()
    place: Place = "values"
    open: bool = False


class PageAnswer(NamedTuple):
    """What a part says first: the answer, how sure it is, what would change it, and the next command."""

    question: str = ""
    sentence: Words = ()
    sure: Words = ()
    change: Words = ()
    next: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """The content that one result file adds to the page.

    Attributes:
        title: what the page calls it.
        id: unique on the page; the page gives it.
        answer: what a reader takes home who reads nothing else.
        said: further sentences, the most important first.
        legend: how its tables are read.
        notes: what a reader must know of the inputs.
        blocks: the body.
        closing: conventions and provenance, at the end of the page.
        lead: plots of the first screen.
    """

    blocks: tuple[Block, ...] = ()
    closing: tuple[Block, ...] = ()
    lead: tuple[Figure, ...] = ()
    title: str = ""
    id: str = ""
    answer: PageAnswer = field(default_factory=PageAnswer)
    said: tuple[Words, ...] = ()
    legend: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
