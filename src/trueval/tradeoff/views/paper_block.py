"""The page section with P-B's tables under their names."""

from __future__ import annotations

from collections.abc import Iterator

from trueval.report import page_content
from trueval.report.number_texts import FRACTIONS
from trueval.report.page_content import Block, PageColumn, Row
from trueval.report.result_directory import ResultFile
from trueval.tradeoff.views.paper_cells import Cell, MissingTable, PaperTable, format_cell
from trueval.tradeoff.views.paper_tables import paper_tables


def paper_block(file: ResultFile) -> tuple[Block, ...]:
    """The tables that the sweep has data for, collapsed, and what the others lack.

    Args:
        file: the sweep.
    """
    made = paper_tables(file.data)
    tables = [each for each in made if isinstance(each, PaperTable)]
    facts = tuple((each.name, (f"{each.title}: {each.cure}",)) for each in made if isinstance(each, MissingTable))
    words = (
        "The tables of Practical RAG evaluation, with the numbers of this sweep: those of the tables above, where "
        "their intervals are. Markdown and LaTeX of them come by --format of trueval sweep. Of a table that is not "
        "here, it is said what to add to the sweep file.",
    )
    shown = tuple(_table(file, place, each) for place, each in enumerate(tables))
    return (Block("paper", "Tables of the paper", (words,), tables=shown, facts=facts, place="details"),)


def _table(file: ResultFile, place: int, table: PaperTable) -> page_content.Table:
    columns = tuple(
        PageColumn(title, numeric=at >= table.words, show=_format_number) for at, title in enumerate(table.head)
    )
    rows = tuple(Row("", tuple(_page_cells(row, table.words))) for row in table.rows)
    return page_content.Table(
        f"paper-{place}", (f"{table.caption}.",), file.name, columns, rows, table.notes, folded=True
    )


def _page_cells(row: tuple[Cell, ...], words: int) -> Iterator[page_content.Cell]:
    for at, cell in enumerate(row):
        text = format_cell(cell, FRACTIONS, uncertain=False)
        value = cell if isinstance(cell, str) else cell.value
        yield page_content.Cell(text, None if at >= words and isinstance(cell, str) else value)


def _format_number(value: float) -> str:
    """No format: the cells are texts already, each with the unit of its number."""
    return f"{value:g}"
