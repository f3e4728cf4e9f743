"""Sheets: tables with headings, and the sentences around them, in every format for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from trueval.printable import printable
from trueval.report.formats import PREAMBLE, distinct, float_table, latex, markdown, pipes, slug, tabular
from trueval.report.terminal import grid


class TextSheet(NamedTuple):
    """A table.

    Attributes:
        title: above it.
        head: headings; a line feed breaks one in a terminal.
        columns: as `trueval.report.terminal.grid` takes them.
        rows: cells.
        spare: headings that a narrow terminal may leave out.
        grouped: whether a terminal has the cells of the first column as lines above their rows.
        key: sentence after the title in the caption of LaTeX.
    """

    title: str
    head: tuple[str, ...]
    columns: str
    rows: tuple[tuple[str, ...], ...]
    spare: tuple[str, ...] = ()
    grouped: bool = False
    key: str = ""

    @property
    def words(self) -> list[str]:
        """Headings of one line."""
        return [title.replace("-\n", "").replace("\n", " ") for title in self.head]


def in_terminal(sheets: Sequence[TextSheet], sentences: Sequence[str]) -> Group:
    """The tables for a terminal, then the sentences.

    Args:
        sheets: tables in display order.
        sentences: sentences in display order.
    """
    parts: list[RenderableType] = []
    for sheet in sheets:
        shown = grid(sheet.head[sheet.grouped :], sheet.columns[sheet.grouped :], spare=sheet.spare)
        above = None
        for row in sheet.rows:
            if not sheet.grouped:
                shown.add_row(*row)
                continue
            if row[0] != above:
                shown.add_row(Text(above := row[0], style="bold"))
            shown.add_row(f" {row[1]}", *row[2:])
        parts += [Text(sheet.title, style="bold"), shown, Text()]
    return Group(*parts, *map(Text, sentences))


def as_markdown(sheets: Sequence[TextSheet], sentences: Sequence[str]) -> str:
    """The tables and sentences as Markdown.

    Args:
        sheets: tables in display order.
        sentences: sentences in display order.
    """
    parts = [
        f"### {markdown(sheet.title)}\n\n{pipes(sheet.words, sheet.rows, words=words_of(sheet))}\n" for sheet in sheets
    ]
    return "".join([*parts, *(f"- {markdown(line)}\n" for line in sentences)])


def as_latex(sheets: Sequence[TextSheet], sentences: Sequence[str]) -> str:
    """Tables for a paper, each with its caption and label; a comment names the package that they need.

    Args:
        sheets: in the order of reading.
        sentences: comments above the first one.
    """
    comments = "".join(f"% {printable(line)}\n" for line in [*sentences, PREAMBLE])
    return comments + "\n".join(
        float_table(tabular(_latex(sheet.words), map(_latex, sheet.rows), _letters(sheet)), _caption(sheet), label)
        for sheet, label in zip(sheets, distinct(slug(sheet.title) for sheet in sheets), strict=True)
    )


def _caption(sheet: TextSheet) -> str:
    return latex(f"{sheet.title}. {sheet.key}" if sheet.key else sheet.title)


def _latex(cells: Iterable[str]) -> list[str]:
    return [latex(cell) for cell in cells]


def _letters(sheet: TextSheet) -> str:
    """How LaTeX sets the columns."""
    return "".join("r" if each in "rR" else "l" for each in sheet.columns)


def words_of(sheet: TextSheet) -> int:
    """Columns of words before the first of numbers."""
    return next((place for place, each in enumerate(sheet.columns) if each in "rR"), len(sheet.columns))
