"""Views as text: terminal, notebook, Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from trueval.report import formats
from trueval.report.number_texts import FRACTIONS, ValueUnit, unit
from trueval.report.units import MARKS
from trueval.report.view import Column, Only, Quantity, Sentence, SentenceDifference, Sheet, View

if TYPE_CHECKING:
    from rich.console import Group

    from trueval.report.sheets import TextSheet


def in_terminal(
    view: View, scale: ValueUnit = FRACTIONS, *, legend: bool = False, next: Callable[[str], str] = str
) -> Group:
    """The answer first, then the tables, then further sentences.

    Args:
        next: fills the places of the next command.
    """
    from rich.console import Group
    from rich.text import Text

    from trueval.report.sheets import in_terminal

    answer = view.answer
    lines = [Text(write(answer.sentence, scale), style="bold")]
    lines += [Text(text) for each in (answer.sure, answer.change) if (text := write(each, scale))]
    # Not wrapped, so that it can be copied as one line.
    lines += [Text(f"Next: {next(answer.next)}", no_wrap=True, overflow="ignore")] if answer.next else []
    return Group(*lines, Text(), in_terminal(_text_sheets(view, scale), list(_sentences(view, scale, legend))))


def as_answer(view: View) -> str:
    """The answer alone: sentence, how sure it is, what would change it and the next command, a line each."""
    answer = view.answer
    lines = [text for each in (answer.sentence, answer.sure, answer.change) if (text := write(each, FRACTIONS))]
    return "\n".join([*lines, *([f"Next: {answer.next}"] if answer.next else [])])


def as_markdown(
    view: View, scale: ValueUnit = FRACTIONS, *, legend: bool = True, next: Callable[[str], str] = str
) -> str:
    """The question as heading, the answer, then tables and sentences; `next` as in `in_terminal`."""
    from trueval.report.sheets import as_markdown

    answer, escape = view.answer, formats.markdown
    parts = [f"### {escape(answer.question)}"] if answer.question else []
    parts += [f"**{escape(write(answer.sentence, scale))}**"]
    more = [write(each, scale) for each in (answer.sure, answer.change) if each]
    parts += [escape(" ".join(more))] if more else []
    parts += [f"Next: `{next(answer.next)}`"] if answer.next else []
    tables = as_markdown(_text_sheets(view, scale, document=True), list(_sentences(view, scale, legend)))
    return "\n\n".join([*parts, tables])


def as_latex(view: View, scale: ValueUnit = FRACTIONS, *, legend: bool = True) -> str:
    """Comments with the answer, then each table with its caption and label."""
    from trueval.report.sheets import as_latex

    answer = view.answer
    above = [write(each, scale) for each in (answer.sentence, answer.sure, answer.change) if each]
    return as_latex(_text_sheets(view, scale, document=True), [*above, *_sentences(view, scale, legend)])


def as_html(view: View) -> str:
    """The answer, tables and sentences for a notebook, everything escaped."""
    from html import escape

    from trueval.report.console_tables import notebook
    from trueval.report.sheets import words_of

    answer = view.answer
    lines = [text for each in (answer.sure, answer.change) if (text := write(each, FRACTIONS))]
    tables = (
        notebook(each.words, each.rows, words=words_of(each), caption=each.title)
        for each in _text_sheets(view, FRACTIONS)
    )
    below = [*_sentences(view, FRACTIONS, legend=False), *(f"Note: {note}" for note in view.notes)]
    return "".join(
        [
            f"<p><b>{escape(write(answer.sentence, FRACTIONS))}</b></p>",
            *(f"<p>{escape(line)}</p>" for line in lines),
            *tables,
            *(f"<p>{escape(line)}</p>" for line in below),
        ]
    )


def as_csv(view: View) -> str:
    """The CSV sheet, in full precision."""
    return "".join(csv_parts(view.csv))


def csv_parts(sheet: Sheet[Any]) -> Iterator[str]:
    """A sheet as CSV in parts, where it has too many rows to hold at once."""
    names = [column.title for column in sheet.columns]
    lines = ({each.title: plain_value(each.value(row)) for each in sheet.columns} for row in sheet.rows)
    return formats.csv_parts(names, lines)


def write(sentence: Sentence, scale: ValueUnit) -> str:
    """A sentence as text.

    Args:
        sentence: a text, or texts and quantities.
        scale: of measures.
    """
    parts = (sentence,) if isinstance(sentence, str) else sentence
    return "".join(each if isinstance(each, str) else each.unit.write(value_of(each), scale) for each in parts)


def value_of(quantity: Quantity | SentenceDifference) -> Any:
    """The value of a quantity in full precision; None for NaN."""
    if isinstance(quantity, SentenceDifference):
        first, second = value_of(quantity.first), value_of(quantity.second)
        return None if first is None or second is None else first - second
    value = plain_value(getattr(quantity.part, quantity.field))
    if not quantity.turned or value is None:
        return value
    return _Ends(_minus(value.high), _minus(value.low)) if quantity.unit.end else _minus(value)


class _Ends(NamedTuple):
    """An interval that is shown the other way round."""

    low: float | None
    high: float | None


def _minus(value: float | None) -> float | None:
    return None if value is None else 0.0 - value  # no minus zero


def plain_value(value: object) -> Any:
    """None for NaN, which stands for what is not known."""
    return None if isinstance(value, float) and value != value else value


def count_or_value(value: object) -> object:
    """The length of a list, any other value itself; a named tuple is one value, such as an interval."""
    return len(value) if isinstance(value, list | tuple) and not hasattr(value, "_fields") else plain_value(value)


def _text_sheets(view: View, scale: ValueUnit, *, document: bool = False) -> list[TextSheet]:
    sheets = (sheet for section in view.sections for sheet in section.sheets)
    shown = ("", "text", "document") if document else ("", "text")
    return [_text_sheet(sheet, scale) for sheet in sheets if sheet.only in shown]


def _text_sheet(sheet: Sheet[object], scale: ValueUnit) -> TextSheet:
    from trueval.report.sheets import TextSheet  # late: it imports rich

    shown = [each for each in sheet.columns if each.only != "page"]
    leaving = sorted((each for each in shown if each.leaves), key=lambda each: each.leaves)
    return TextSheet(
        sheet.title,
        tuple(each.title for each in shown),
        "".join(each.unit.letter for each in shown),
        tuple(tuple(_cell(each, row, scale) for each in shown) for row in sheet.rows),
        tuple(each.title for each in leaving),
        sheet.grouped,
        sheet.key,
    )


def _cell(column: Column[object], row: object, scale: ValueUnit) -> str:
    value = count_or_value(column.value(row))
    return "" if value == "" else column.unit.write(value, scale)


def _sentences(view: View, scale: ValueUnit, legend: bool) -> Iterator[str]:
    """Findings, the marks that occur, the legend, the unit of values, and the footer."""
    yield from (write(each, scale) for each in view.findings)
    yield from explained_marks(view, "text")
    yield from view.legend if legend else ()
    yield from unit(scale)
    yield from view.footer


def explained_marks(view: View, shown: Only) -> Iterator[str]:
    """What the signs that occur in the tables mean: a character in a column of marks, or a whole cell.

    Args:
        shown: "page", or "text" for the other formats.
    """
    wanted = {mark.sign for mark in view.marks}
    found: set[str] = set()
    for sheet in (sheet for section in view.sections for sheet in section.sheets if sheet.only in ("", shown)):
        for column in sheet.columns:
            if wanted > found and column.only in ("", shown):
                cells = {_cell(column, row, FRACTIONS) for row in sheet.rows}
                found |= wanted & (set("".join(cells)) if column.unit is MARKS else cells)
    yield from (f"{mark.sign} {mark.meaning}" for mark in view.marks if mark.sign in found)
