"""The section with P-B's tables: those that a sweep has data for, and what the others lack."""

from __future__ import annotations

from typing import Final

from trueval.report.view import AnySheet, Column, Section, Sheet
from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views.paper_cells import MissingTable, PaperTable
from trueval.tradeoff.views.paper_tables import paper_tables

MISSING: Final[tuple[Column[MissingTable], ...]] = (
    Column("table", lambda row: row.name),
    Column("shows", lambda row: row.title),
    Column("needs", lambda row: row.cure),
)


def paper_section(result: SweepResult) -> Section:
    """The tables of the paper for a sweep, on the page, in Markdown and in LaTeX.

    Args:
        result: of the command.
    """
    made = paper_tables(result)
    tables = [each for each in made if isinstance(each, PaperTable)]
    missing = [each for each in made if isinstance(each, MissingTable)]
    sheets: list[AnySheet] = [each.sheet(place) for place, each in enumerate(tables)]
    if missing:
        sheets.append(Sheet("Tables that need more data", missing, MISSING, only="document", id="paper-missing"))
    level = f"{100 * result.level:g}"
    words = (
        "The tables of Practical RAG evaluation, with the numbers of this sweep: those of the tables above, where "
        f"their intervals are. In Markdown and LaTeX brackets hold {level} % intervals over queries and, after the "
        "word ties, the values that the order of equal scores allows."
    )
    return Section("Tables of the paper", sheets, words, id="paper")
