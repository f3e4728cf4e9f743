"""The view of a repair: how few documents must be scored again, and whether that restores the exact first K."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from trueval.precision.repair_result import PrecisionRepair, QueryRepair
from trueval.report.number_texts import count_phrase, percent
from trueval.report.units import COUNT, NAME
from trueval.report.view import Answer, Column, Section, Sentence, Sheet, View, choices_section

QUESTION: Final = "Which documents must be scored again for the exact first K?"
SHOWN: Final = 20
LEGEND: Final = (
    "sure: documents that are among the first K whatever the exact scores within the width are. again: documents whose "
    "exact scores decide the rest; the best of them complete the first K. Others need no other score.",
)


class _Pair(NamedTuple):
    """A document to score again."""

    query: str
    document: str


COLUMNS: Final[tuple[Column[QueryRepair], ...]] = (
    Column("query", lambda row: row.query, NAME),
    Column("sure", lambda row: row.sure, COUNT),
    Column("again", lambda row: len(row.documents), COUNT, strong=True),
    Column("documents", lambda row: " ".join(row.documents[:SHOWN]), NAME, leaves=1),
)


def view(result: PrecisionRepair) -> View:
    """What `trueval precision repair` shows.

    Args:
        result: of the command.
    """
    doubtful = sorted((each for each in result.queries if each.documents), key=lambda each: -len(each.documents))
    pairs = [_Pair(each.query, document) for each in result.queries for document in each.documents]
    few = doubtful[:SHOWN]
    sheets: list[Sheet[QueryRepair]] = [
        Sheet(_title(few, doubtful), few, COLUMNS, only="text"),
        Sheet(
            "Queries with documents to score again", doubtful, COLUMNS, only="page", folded=True, id="repair-queries"
        ),
    ]
    choices = {"first K": result.k, "exact scores differ by at most": result.within}
    return View(
        title="Repair",
        answer=_answer(result, len(doubtful)),
        sections=[Section("Queries", sheets if doubtful else [], open=True), choices_section("repair", choices)],
        csv=Sheet("", pairs, [Column("query", lambda row: row.query), Column("document", lambda row: row.document)]),
        findings=list(_findings(result)),
        legend=LEGEND,
    )


def _title(few: Sequence[QueryRepair], doubtful: Sequence[QueryRepair]) -> str:
    more = f", the first {len(few)} of {len(doubtful)}" if len(few) < len(doubtful) else ""
    return f"Queries with most documents to score again{more}"


def _answer(result: PrecisionRepair, doubtful: int) -> Answer:
    queries = count_phrase(len(result.queries), "query", "queries")
    if not result.rescored:
        sentence = f"Nothing to score again: the first {result.k} of all {queries} are sure within {result.within}."
    else:
        sentence = (
            f"{count_phrase(result.rescored, 'pair', 'pairs')} of {result.pairs:,} ({percent(result.share)}) must "
            f"be scored again for the exact first {result.k} of {result.run}, in {doubtful:,} of {queries}."
        )
    sure = f"Exact, if no exact score differs from the run's by more than {result.within}."
    return Answer(sentence, QUESTION, sure, "", "trueval precision repair RUN --reference EXACT_RUN")


def _findings(result: PrecisionRepair) -> Iterator[Sentence]:
    found = result.restored
    if found is None:
        return
    queries = count_phrase(len(result.queries), "query", "queries")
    yield (
        f"By its own scores {result.run} has the first {result.k} of the reference in {found.before:,} of {queries}, "
        f"after the repair in {found.after:,}."
    )
    if found.beyond:
        yield (
            f"{count_phrase(found.beyond, 'score differs', 'scores differ')} from the reference by more than "
            f"{result.within}, at most by {found.most:.3g} {found.unit}".rstrip()
            + ": that is drift of the model, not rounding of scores. A repair is sure within a width that covers it."
        )
