"""Page content before any HTML: words, numbers with their source, tables, figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from trueval.report.figures import Chart
from trueval.report.number_texts import format_difference, format_value, whole
from trueval.report.result_directory import ResultFile, pointer


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


class Cell(NamedTuple):
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
        strong: which values the reader should look at first.
        turned: the field in rows that show a pair the other way round, the second of it first; the same one if empty.
    """

    title: str
    field: str = ""
    numeric: bool = False
    show: Callable[[Any], str] = str
    strong: Callable[[Any], bool] = lambda _: False
    turned: str = ""

    def cell(self, entry: Mapping[str, object], *, turned: bool = False) -> Cell:
        """The cell of a source row: of the value that the field points to, so that the two cannot disagree.

        Args:
            entry: the source row, as the JSON holds it; what it lacks is None.
            turned: whether the row shows a pair the other way round.

        Example:
            >>> PageColumn("cuts", "/ties/cut_queries").cell({"ties": {"cut_queries": ["q1", "q2"]}})
            Cell(text='2', value=2, strong=False, source='')
            >>> PageColumn("gain", "/gain", turned="-/gain").cell({"gain": 2}, turned=True)
            Cell(text='-2', value=-2, strong=False, source='')
        """
        ends = [_read_field(entry, field) for field in ((turned and self.turned) or self.field).split(" - ")]
        if len(ends) == 2:
            value = None if None in ends else ends[0] - ends[1]
        else:
            value = len(ends[0]) if isinstance(ends[0], list) else ends[0]
        return Cell(self.show(value), value, bool(self.strong(value)))


def counts(title: str, field: str) -> PageColumn:
    """A column of counts.

    Args:
        title: its heading.
        field: as in Column.
    """
    return PageColumn(title, field, numeric=True, show=whole)


def _read_field(entry: Any, field: str) -> Any:
    # Fields name what our own JSON holds, in which no name has "~" or "/" that a pointer would escape.
    if "/" not in field:
        return float(field)
    for key in field.split("/")[1:]:
        entry = entry[int(key)] if isinstance(entry, list) else (entry or {}).get(key)
    if not field.startswith("-") or entry is None:
        return entry
    return -entry if entry else entry  # no "-0.0" for a difference of nothing


def statistic(name: str, title: str = "") -> PageColumn:
    """The column of a statistic of a measure: its values are fractions, a bias has its sign, the expectation is strong.

    Args:
        name: name of the statistic in the JSON.
        title: its heading, the name if empty.
    """
    show = format_difference if name == "bias" else format_value
    return PageColumn(
        title or name.replace("_", "-"), f"/{name}", numeric=True, show=show, strong=lambda _: name == "expected"
    )


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        source: where its values are, a JSON pointer inside the table's file.
        cells: one for each column.
        turned: whether it shows a pair the other way round, by the field `turned` of its columns.
    """

    source: str
    cells: tuple[Cell, ...]
    turned: bool = False


def row_of(
    source: str, columns: Iterable[PageColumn], entry: Mapping[str, object], *told: str, turned: bool = False
) -> Row:
    """A row whose columns with a field show what the entry holds there.

    Args:
        source: where the entry is, a JSON pointer inside the table's file.
        columns: columns of the table.
        entry: what the pointer points to.
        told: texts of the columns without a field, in their order.
        turned: whether to show a pair the other way round.
    """
    texts = iter(told)
    cells = (each.cell(entry, turned=turned) if each.field else Cell(text := next(texts), text) for each in columns)
    return Row(source, tuple(cells), turned)


def rows_of(
    file: ResultFile, columns: Iterable[PageColumn], *keys: str | int, told: Callable[[Any], str] | None = None
) -> tuple[Row, ...]:
    """One row per entry of a list, in the order of the file.

    Args:
        file: the result.
        columns: columns of the table.
        keys: names and indices that lead to the list, from the top level down.
        told: the text of the column without a field, from an entry; None where every column has one.

    Example:
        >>> file = ResultFile("a.json", "a", {"runs": [{"name": "bm25", "depth": 10}]})
        >>> columns = [PageColumn("run"), PageColumn("depth", "/depth")]
        >>> (row,) = rows_of(file, columns, "runs", told=lambda run: run["name"])
        >>> row.source, [cell.text for cell in row.cells]
        ('/runs/0', ['bm25', '10'])
    """
    entries: Any = file.data
    for key in keys:
        entries = entries[key]
    return tuple(
        row_of(pointer(*keys, place), columns, entry, *(() if told is None else (told(entry),)))
        for place, entry in enumerate(entries)
    )


@dataclass(frozen=True, eq=False, repr=False)
class Table:
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
class Case:
    """A folded item: a line, and what opens behind it.

    Attributes:
        title: the line.
        words: paragraphs.
        tables: behind it.
    """

    title: Words
    words: tuple[Words, ...]
    tables: tuple[Table, ...]


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
        facts: pairs of term and words, at the end.
        place: in the order of `PLACES`; within one place blocks keep the order of their kinds.
        open: whether it begins unfolded.
    """

    id: str
    title: str
    words: tuple[Words, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    cases: tuple[Case, ...] = ()
    facts: tuple[tuple[str, Words], ...] = ()
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
