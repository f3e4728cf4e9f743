"""Views: what a result shows, declared once and rendered to terminal, Markdown, LaTeX, CSV and page.

    View("Agreement", Answer(sentence), [Section("By judge", [Sheet("Judges", rows, columns)])], csv=Sheet(...))

A view reads a typed result (`trueval.report.result`) by its attributes. A `Column` takes a value from the object of a
row and writes it by its `Unit`; where the value is an attribute, the page finds its place in the JSON by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from trueval.report.page_content import Figure
from trueval.report.page_footer import describe_choice, format_choice
from trueval.report.units import DIFFERENCE, FRACTION, TEXT, Unit

if TYPE_CHECKING:
    from trueval.report.figures import Chart

T = TypeVar("T")
# Where a sheet or a column is shown: everywhere; on the page; in terminal, notebook, Markdown and LaTeX; everywhere but
# in terminal and notebook, which would be long with it.
Only: TypeAlias = Literal["", "page", "text", "document"]


@dataclass(frozen=True, eq=False, repr=False)
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
        turned: where values are in rows that a sheet has turned: "-" for the same place with its sign changed, an
            interval with its ends changed too; or a JSON pointer from the part; "" for the same place.
    """

    title: str
    value: Callable[[T], object]
    unit: Unit = TEXT
    leaves: int = 0
    strong: bool | Callable[[Any], bool] = False
    only: Only = ""
    ends: tuple[str, str] = ("low", "high")
    turned: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Sheet(Generic[T]):
    """A table.

    Attributes:
        title: above it, and its caption on the page and in LaTeX.
        rows: objects of the result, or what joins several of them.
        columns: of these.
        caption: on the page, in place of the title.
        notes: lines under it, on the page.
        folded: whether it begins closed on the page, its rows made only when it opens: for many rows.
        only: where it is shown.
        id: unique on the page; made of the title if empty.
        grouped: whether a terminal has the values of the first column as lines above their rows, which saves its width.
        part: from a row to the part of the result that has its values, where it is not the row; columns then read the
            row by the names of that part.
        turned: whether a row shows its part, a pair, the other way round.
        key: sentence after the title in the caption of LaTeX, for what a paper's reader cannot guess, such as letters.
    """

    title: str
    rows: Sequence[T]
    columns: Sequence[Column[T]]
    caption: str = ""
    notes: Sequence[str] = ()
    folded: bool = False
    only: Only = ""
    id: str = ""
    grouped: bool = False
    part: Callable[[T], object] | None = None
    turned: Callable[[T], bool] | None = None
    key: str = ""


# A sheet, whatever its rows are: a section has sheets of several kinds of rows.
AnySheet: TypeAlias = Sheet[Any]


class Quantity(NamedTuple):
    """A number, or an interval, in a sentence.

    Attributes:
        part: the dataclass of the result that holds it.
        field: its attribute.
        unit: how it is written.
        turned: whether its sign is changed, as of a pair that is shown the other way round.
    """

    part: object
    field: str
    unit: Unit = FRACTION
    turned: bool = False


class SentenceDifference(NamedTuple):
    """A difference of two numbers, in a sentence.

    Attributes:
        first: from this one,
        second: this one is subtracted.
        unit: how it is written.
    """

    first: Quantity
    second: Quantity
    unit: Unit = DIFFERENCE


Sentence: TypeAlias = "str | tuple[str | Quantity | SentenceDifference, ...]"


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """What a reader takes home, the same in every format.

    Attributes:
        sentence: the answer.
        question: what was asked, in a few words.
        sure: how sure it is, and why.
        change: what would change it.
        next: the command to run next.
    """

    sentence: Sentence
    question: str = ""
    sure: Sentence = ""
    change: Sentence = ""
    next: str = ""


class Mark(NamedTuple):
    """A sign, explained below the tables where it occurs: a character in a column of unit MARKS, or a whole cell."""

    sign: str
    meaning: str


@dataclass(frozen=True, eq=False, repr=False)
class Case:
    """A line that opens on the page: sentences and sheets behind it, made only when it opens."""

    title: Sentence
    words: Sequence[Sentence] = ()
    sheets: Sequence[Sheet[Any]] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Section:
    """What stands under one heading of the page, folded; other formats have its sheets.

    Attributes:
        title: heading.
        sheets: tables.
        words: a paragraph under the heading.
        figures: plots.
        cases: lines that open.
        open: whether the page shows it unfolded.
        closing: whether it belongs to the end of the page, to choices and provenance.
        id: unique on the page; made of the title if empty.
    """

    title: str
    sheets: Sequence[Sheet[Any]] = ()
    words: Sentence = ""
    figures: Sequence[Figure] = ()
    cases: Sequence[Case] = ()
    open: bool = False
    closing: bool = False
    id: str = ""


class PaperFigure(NamedTuple):
    """A figure for papers: the stem of its files, and the function that draws it."""

    stem: str
    draw: Callable[[], Chart]


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """What a result shows.

    Attributes:
        title: what the page calls it: "Comparison".
        answer: for a reader who reads nothing else.
        sections: sheets and figures.
        csv: the sheet of the CSV file, whose titles are names and whose values have every digit.
        lead: the one plot that shows the answer.
        findings: further sentences, the most important first.
        marks: what the signs of its tables mean; those that do not occur are passed over.
        legend: what columns mean, for `--legend`, for files and for the end of the page.
        notes: what a reader must know of the inputs.
        paper: figures for papers.
        footer: last lines of terminal, Markdown and LaTeX, of what the page has in sections, such as the policy.
    """

    title: str
    answer: Answer
    sections: Sequence[Section]
    csv: Sheet[Any]
    lead: Figure | None = None
    findings: Sequence[Sentence] = ()
    marks: Sequence[Mark] = ()
    legend: Sequence[str] = ()
    notes: Sequence[str] = ()
    paper: Sequence[PaperFigure] = field(default=())
    footer: Sequence[str] = ()


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
        name: what the result is called, in the heading.
        choices: by name; clusters are a count and a file.
    """
    rows = [_Choice(each, value) for each, value in choices.items() if each != "policy"]
    columns: list[Column[_Choice]] = [
        Column("choice", lambda row: row.name.replace("_", " ")),
        Column("value", lambda row: format_choice(row.value)),
    ]
    sheet = Sheet(f"The choices behind the {name}", rows, columns, only="page")
    return Section(f"Choices of the {name}", [sheet], closing=True)


def policy_section(policy: Mapping[str, object]) -> Section:
    """Every choice of the policy with its meaning, at the end of the page.

    Args:
        policy: by name, as the JSON holds it.
    """
    rows = [_Choice(name, value) for name, value in policy.items()]
    columns: list[Column[_Choice]] = [
        Column("choice", lambda row: describe_choice(row.name, row.value)[0]),
        Column("value", lambda row: describe_choice(row.name, row.value)[1]),
        Column("meaning", lambda row: describe_choice(row.name, row.value)[2]),
    ]
    sheet = Sheet("The choices behind the numbers", rows, columns, only="page", id="policy")
    return Section("Conventions", [sheet], closing=True)
