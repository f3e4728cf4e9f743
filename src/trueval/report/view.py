"""Views: what a result shows, declared once and rendered to terminal, Markdown, LaTeX, CSV and page.

    View(answer, sections=[Section(..., sheets=[Sheet("Agreement", rows, columns)])], legend=[...], csv=[...])

A view reads a typed result (`trueval.report.result`) by its attributes. A `Column` takes a value from the object of a
row and writes it by its `Unit`; where the value is an attribute, the page finds its place in the JSON by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from trueval.report import formats
from trueval.report.figures import Chart
from trueval.report.json_fields import find_pointers, key_of
from trueval.report.number_texts import (
    FRACTIONS,
    NOT_AVAILABLE,
    ValueUnit,
    format_difference,
    format_value,
    interval,
    make_formatter,
    percent,
    unit,
    whole,
)
from trueval.report.page_content import Block, Cell, Figure, Number, PageColumn, Part, Place, Row, Table, Words
from trueval.report.page_footer import format_choice
from trueval.report.result_directory import ResultFile, pointer

if TYPE_CHECKING:
    from rich.console import Group

    from trueval.report.sheets import TextSheet

T = TypeVar("T")
# Where a sheet or a column is shown: everywhere; on the page; in terminal, Markdown and LaTeX.
Only: TypeAlias = Literal["", "page", "text"]
Path: TypeAlias = "tuple[str, ...]"


class Unit(NamedTuple):
    """How the values of a column are written and set.

    Attributes:
        write: from a value and the scale of measures to its text.
        letter: how a terminal sets it, as `trueval.report.terminal.grid` takes them.
        plain: `write` in fractions; the same function where the page's script knows it (folded_tables.py).
        end: unit of each end of an interval, which are two columns of the page; None for single values.
    """

    write: Callable[[Any, ValueUnit], str]
    letter: str
    plain: Callable[[Any], str]
    end: Unit | None = None

    @property
    def numeric(self) -> bool:
        """Whether values are set to the right and sorted as numbers."""
        return self.letter in "rR"


def unscaled(show: Callable[[Any], str], letter: str = "r") -> Unit:
    """A unit that `--percent` leaves as it is.

    Args:
        show: from a value to its text.
        letter: as in `Unit`.
    """
    return Unit(lambda value, _: show(value), letter, show)


class Interval(Protocol):
    """What has two ends."""

    @property
    def low(self) -> float | None:
        """The lower end; None where it is not known."""

    @property
    def high(self) -> float | None:
        """The upper end."""


def interval_of(end: Unit) -> Unit:
    """The unit of intervals: "[low, high]" in texts, two columns on the page.

    Args:
        end: of each end.
    """

    def write(value: Interval | None, scale: ValueUnit) -> str:
        return NOT_AVAILABLE if value is None else interval(value.low, value.high, scale, show=end.write)

    return Unit(write, "r", lambda value: write(value, FRACTIONS), end)


TEXT: Final = unscaled(str, "l")
NAME: Final = unscaled(str, "L")
YES_NO: Final = unscaled(lambda value: "yes" if value else "no", "l")
FRACTION: Final = Unit(format_value, "r", format_value)
DIFFERENCE: Final = Unit(format_difference, "r", format_difference)
INTERVAL: Final = interval_of(FRACTION)
COUNT: Final = unscaled(whole)
PERCENT: Final = unscaled(percent)  # shares in sentences


def number(form: str) -> Unit:
    """Numbers by a format of Python.

    Args:
        form: what stands behind the colon in a replacement field.

    Example:
        >>> number("+.2f").plain(1.25), number(".2f").plain(None)
        ('+1.25', '–')
    """
    return unscaled(make_formatter(form))


@dataclass(frozen=True)
class Column(Generic[T]):
    r"""A column of a sheet.

    Attributes:
        title: heading; a line feed breaks it in a terminal, a hyphen before it joins what it parts elsewhere.
        value: from the object of a row to the value, or to what has the ends of an interval; a list is counted, and ""
            leaves the cell empty.
        unit: how values are written.
        leaves: order in which columns leave a narrow terminal, from 1; 0 for those that stay.
        strong: whether the reader of the page should look here first, by value.
        only: where it is shown.
        ends: headings of the two columns of an interval on the page.
    """

    title: str
    value: Callable[[T], object]
    unit: Unit = TEXT
    leaves: int = 0
    strong: bool | Callable[[Any], bool] = False
    only: Only = ""
    ends: tuple[str, str] = ("low", "high")

    def to_text(self, row: T, scale: ValueUnit) -> str:
        """The cell of a row in terminal, Markdown and LaTeX."""
        value = _counted(self.value(row))
        return "" if value == "" else self.unit.write(value, scale)

    def is_strong(self, value: object) -> bool:
        """Whether a value should be looked at first."""
        return self.strong if isinstance(self.strong, bool) else bool(self.strong(value))


@dataclass(frozen=True)
class Sheet(Generic[T]):
    """A table.

    Attributes:
        title: above it, and its caption on the page.
        rows: objects of the result, or what joins several of them.
        columns: of these.
        id: unique on the page; "" for a sheet that is only text.
        caption: on the page, in place of the title.
        notes: lines under it, on the page.
        folded: whether it begins closed on the page.
        only: where it is shown.
    """

    title: str
    rows: Sequence[T]
    columns: Sequence[Column[T]]
    id: str = ""
    caption: str = ""
    notes: Sequence[str] = ()
    folded: bool = False
    only: Only = ""

    def to_text(self, scale: ValueUnit) -> TextSheet:
        """The texts of its cells."""
        from trueval.report.sheets import TextSheet  # late: it imports rich

        shown = [each for each in self.columns if each.only != "page"]
        leaving = sorted((each for each in shown if each.leaves), key=lambda each: each.leaves)
        return TextSheet(
            self.title,
            tuple(each.title for each in shown),
            "".join(each.unit.letter for each in shown),
            tuple(tuple(each.to_text(row, scale) for each in shown) for row in self.rows),
            tuple(each.title for each in leaving),
        )


class Quantity(NamedTuple):
    """A number, or an interval, in a sentence.

    Attributes:
        part: the dataclass of the result that holds it.
        field: its attribute.
        unit: how it is written.
    """

    part: object
    field: str
    unit: Unit = FRACTION

    @property
    def value(self) -> Any:
        """The value in full precision; None for NaN."""
        return _plain_value(getattr(self.part, self.field))


Sentence: TypeAlias = "tuple[str | Quantity, ...]"


@dataclass(frozen=True)
class Section:
    """What stands under one heading of the page; other formats have its sheets.

    Attributes:
        id: unique on the page.
        title: heading.
        sheets: tables.
        words: a paragraph under the heading.
        figures: plots.
        place: on the page; "closing" for choices and provenance, at its end.
    """

    id: str
    title: str
    sheets: Sequence[Sheet[Any]] = ()
    words: str = ""
    figures: Sequence[Figure] = ()
    place: Place | Literal["closing"] = "values"

    @property
    def shown_on_page(self) -> bool:
        """Whether the page has anything of it."""
        return bool(self.words or self.figures or any(sheet.only != "text" for sheet in self.sheets))


class PaperFigure(NamedTuple):
    """A figure for papers: the stem of its files, and its chart."""

    stem: str
    chart: Chart


@dataclass(frozen=True)
class View:
    """What a result shows.

    Attributes:
        answer: one sentence, for who reads no other.
        findings: further sentences, the most important first.
        sections: sheets and figures.
        legend: what columns and marks mean.
        csv: the sheet of the CSV file, whose titles are names and whose values have every digit.
        notes: what a reader must know of the inputs.
        paper: figures for papers.
    """

    answer: Sentence
    findings: Sequence[str | Sentence]
    sections: Sequence[Section]
    legend: Sequence[str]
    csv: Sheet[Any]
    notes: Sequence[str] = ()
    paper: Sequence[PaperFigure] = ()

    def table(self, scale: ValueUnit = FRACTIONS) -> Group:
        """The answer, the tables for a terminal, then the sentences."""
        from rich.console import Group
        from rich.text import Text

        from trueval.report.sheets import in_terminal

        answer = Text(_write(self.answer, scale), style="bold")
        return Group(answer, Text(), in_terminal(self._texts(scale), self._sentences(scale)))

    def to_markdown(self, scale: ValueUnit = FRACTIONS) -> str:
        """The answer, the tables as Markdown, then the sentences."""
        from trueval.report.sheets import as_markdown

        answer = formats.markdown(_write(self.answer, scale))
        return f"**{answer}**\n\n{as_markdown(self._texts(scale), self._sentences(scale))}"

    def to_latex(self, scale: ValueUnit = FRACTIONS) -> str:
        """The answer and the sentences as comments, and the tables for a paper; they need the package booktabs."""
        from trueval.report.sheets import as_latex

        return f"% {_write(self.answer, scale)}\n{as_latex(self._texts(scale), self._sentences(scale))}"

    def to_csv(self) -> str:
        """The rows of the CSV sheet, in full precision."""
        names = [column.title for column in self.csv.columns]
        lines = ({each.title: _plain_value(each.value(row)) for each in self.csv.columns} for row in self.csv.rows)
        return formats.to_csv(names, lines)

    def to_part(self, file: ResultFile, result: object) -> Part:
        """The part of the page, every number with its place in the file.

        Args:
            file: that holds the result.
            result: that the view was declared for.
        """
        sources = _Sources(file, find_pointers(result))
        shown = [section for section in self.sections if section.shown_on_page]
        return Part(
            verdict=sources.words(self.answer),
            summary=tuple(sources.words(each) for each in self.findings),
            blocks=tuple(sources.block(each) for each in shown if each.place != "closing"),
            closing=tuple(sources.block(each) for each in shown if each.place == "closing"),
        )

    def _texts(self, scale: ValueUnit) -> list[TextSheet]:
        sheets = (sheet for section in self.sections for sheet in section.sheets)
        return [sheet.to_text(scale) for sheet in sheets if sheet.only != "page"]

    def _sentences(self, scale: ValueUnit) -> list[str]:
        return [*(_write(each, scale) for each in self.findings), *self.legend, *unit(scale)]


def columns_of(*names: str) -> list[Column[Any]]:
    """Columns of attributes, under their own names, as CSV has them.

    Args:
        names: attributes; dotted for those of parts, whose last name is the heading.
    """
    return [Column(name.rpartition(".")[2], attrgetter(name)) for name in names]


class _Choice(NamedTuple):
    name: str
    value: object


def choices_section(name: str, choices: Mapping[str, object]) -> Section:
    """The choices behind a result, at the end of the page; the policy is shown by the evaluation.

    Args:
        name: what the result is called, in a heading and in ids.
        choices: by name; clusters are a count and a file.
    """
    rows = [_Choice(each, value) for each, value in choices.items() if each != "policy"]
    columns: list[Column[_Choice]] = [
        Column("choice", lambda row: row.name.replace("_", " ")),
        Column("value", lambda row: format_choice(row.value)),
    ]
    sheet = Sheet(f"The choices behind the {name}", rows, columns, f"{name}-choices", only="page")
    return Section(f"{name}-conventions", f"Conventions of the {name}", [sheet], place="closing")


class _Sources(NamedTuple):
    """Gives every number of the page its place in the file.

    Attributes:
        file: that holds the result.
        pointers: of its parts, by their id.
    """

    file: ResultFile
    pointers: Mapping[int, str]

    def words(self, sentence: str | Sentence) -> Words:
        """A sentence, its numbers with their places."""
        parts = (sentence,) if isinstance(sentence, str) else sentence
        return tuple(each if isinstance(each, str) else self._number(each) for each in parts)

    def _number(self, quantity: Quantity) -> str | Number:
        text, value = quantity.unit.plain(quantity.value), quantity.value
        place = self._place(quantity.part, (quantity.field,))
        return Number(text, value, f"{self.file.source()}{place}") if isinstance(value, int | float) else text

    def block(self, section: Section) -> Block:
        """What stands under a heading."""
        return Block(
            section.id,
            section.title,
            words=(self.words(section.words),) if section.words else (),
            figures=tuple(section.figures),
            tables=tuple(self.table(sheet) for sheet in section.sheets if sheet.only != "text"),
            place="details" if section.place == "closing" else section.place,
        )

    def table(self, sheet: Sheet[Any]) -> Table:
        """A sheet of the page."""
        shown = [each for column in sheet.columns if column.only != "text" for each in _page_columns(column)]
        paths = [_path_of(column.value) for column in shown]
        # A row that joins several parts is none of them: each of its cells says where it is from.
        joined = any(id(row) not in self.pointers for row in sheet.rows)
        fields = [pointer(*_keys(row, path)) if not joined else "" for path in paths for row in sheet.rows[:1]]
        columns = [
            PageColumn(_one_line(column.title), field, column.unit.numeric, column.unit.plain)
            for column, field in zip(shown, fields or [""] * len(shown), strict=True)
        ]
        rows = [self._row(row, shown, paths, joined) for row in sheet.rows]
        caption, notes = (sheet.caption or f"{sheet.title}.",), tuple(sheet.notes)
        return Table(sheet.id, caption, self.file.name, tuple(columns), tuple(rows), notes, folded=sheet.folded)

    def _row(self, row: object, columns: Sequence[Column[Any]], paths: Sequence[Path], joined: bool) -> Row:
        cells = []
        for column, path in zip(columns, paths, strict=True):
            value: Any = _counted(column.value(row))
            source = self._place(row, path) if joined else ""
            text = "" if value == "" else column.unit.plain(value)
            cells.append(Cell(text, None if value == "" else value, column.is_strong(value), source))
        return Row(self.pointers.get(id(row), ""), tuple(cells))

    def _place(self, row: object, path: Path) -> str:
        """Where an attribute is in the file; "" where it is not a part of the result."""
        parts = list(_parts(row, path))
        known = [place for place, part in enumerate(parts) if id(part) in self.pointers]
        if not known:
            return ""
        last = known[-1]
        return self.pointers[id(parts[last])] + pointer(*_keys(parts[last], path[last:]))


def _write(sentence: str | Sentence, scale: ValueUnit) -> str:
    parts = (sentence,) if isinstance(sentence, str) else sentence
    return "".join(each if isinstance(each, str) else each.unit.write(each.value, scale) for each in parts)


def _plain_value(value: Any) -> Any:
    """None for NaN, which stands for what is not known."""
    return None if isinstance(value, float) and value != value else value


def _counted(value: object) -> object:
    # A named tuple is one value, such as an interval.
    return len(value) if isinstance(value, list | tuple) and not hasattr(value, "_fields") else _plain_value(value)


def _one_line(title: str) -> str:
    return title.replace("-\n", "").replace("\n", " ")


def _page_columns(column: Column[Any]) -> Iterator[Column[Any]]:
    """A column of an interval is two on the page."""
    if column.unit.end is None:
        yield column
        return
    for title, end in zip(column.ends, ("low", "high"), strict=True):
        yield Column(title, _end_of(column.value, end), column.unit.end, strong=column.strong)


def _end_of(value: Callable[[Any], Any], end: str) -> Callable[[Any], object]:
    return lambda row: None if (found := value(row)) is None else getattr(found, end)


class _PathRecorder:
    """Notes which attributes a column reads, so that the page knows where its values are."""

    def __init__(self, path: Path = ()) -> None:
        self._path = path

    def __getattr__(self, name: str) -> _PathRecorder:
        return _PathRecorder((*self._path, name))

    def __getitem__(self, name: object) -> _PathRecorder:
        if not isinstance(name, str):
            raise TypeError("what a column shows is computed")
        return _PathRecorder((*self._path, name))

    def __bool__(self) -> bool:
        raise TypeError("what a column shows is computed")


def _path_of(value: Callable[[Any], object]) -> Path:
    """The path of the attribute that a column shows; empty where the value is computed.

    >>> _path_of(lambda row: row.tau["AP"].value), _path_of(lambda row: row.high - row.low)
    (('tau', 'AP', 'value'), ())
    """
    try:
        found = value(_PathRecorder())
    except (TypeError, ValueError):
        return ()
    return found._path if isinstance(found, _PathRecorder) else ()


def _parts(row: object, path: Path) -> Iterator[object]:
    """A row, and what each further name of a path leads to."""
    yield row
    for name in path:
        row = row[name] if isinstance(row, Mapping) else getattr(row, name, None)
        yield row


def _keys(row: object, path: Path) -> tuple[str, ...]:
    """The names of a path as JSON has them."""
    known = (
        {each.name: key_of(each) for each in fields(part)} if is_dataclass(part) else {} for part in _parts(row, path)
    )
    return tuple(names.get(name, name) for names, name in zip(known, path, strict=False))
