"""The view of a repair: how few documents must be scored again, and whether that restores the exact first K."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from trueval.precision.repair_result import PrecisionRepair, QueryRepair, RestoredSets
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


def _cure(found: RestoredSets, queries: int) -> str:
    """Which of the two cures the last stage needs."""
    if found.before == queries:
        return "It needs no cure: low precision moves no first document here."
    if found.high == queries:
        return (
            'Scoring in float32 is enough, without a second pass: scoring = "float32" in the table of the last scores.'
        )
    if found.after == queries:
        return (
            "Scoring in float32 is not enough, since the outputs drift; the repair is: [repair] in the pipeline's file."
        )
    return "Neither float32 scoring nor this repair is enough: widen --within, or run the model in float32."


def _title(few: Sequence[QueryRepair], doubtful: Sequence[QueryRepair]) -> str:
    more = f", the first {len(few)} of {len(doubtful)}" if len(few) < len(doubtful) else ""
    return f"Queries with most documents to score again{more}"


def _answer(result: PrecisionRepair, doubtful: int) -> Answer:
    queries = count_phrase(len(result.queries), "query", "queries")
    took = result.pipeline
    must = "must be scored again" if took is None else "were scored again in float32"
    first = f"the {'order of the ' if result.order else ''}first {result.k}"
    if not result.rescored:
        sentence = f"Nothing to score again: {first} of all {queries} are sure within {result.within}."
    else:
        sentence = (
            f"{count_phrase(result.rescored, 'pair', 'pairs')} of {result.pairs:,} ({percent(result.share)}) {must} "
            f"for the exact {first.removeprefix('the ')} of {result.run}, in {doubtful:,} of {queries}"
        ) + ("." if took is None else f", in {took.seconds:.2g} s.")
    sure = f"Exact, if no exact score differs from the run's by more than {result.within}."
    after = "precision repair RUN --reference EXACT_RUN"
    if took is not None:
        after = "retrieve COLLECTION --pipeline FILE --out DIR"
        if result.restored is None:
            after = "precision repair COLLECTION --pipeline FILE --check"
    return Answer(sentence, QUESTION, sure, "", f"trueval {after}")


def _findings(result: PrecisionRepair) -> Iterator[Sentence]:
    found, took = result.restored, result.pipeline
    if took is not None:
        first = f"the first {result.k}"
        yield f"{first.capitalize()} changed in {count_phrase(took.changed, 'query', 'queries')}."
        if took.reach:
            yield (
                f"In {count_phrase(took.reach, 'query', 'queries')} documents below the last one listed could be among "
                f"{first}. Search deeper: set depth of [index]."
            )
        if took.beyond and found is None:
            yield (
                f"{count_phrase(took.beyond, 'of them differs', 'of them differ')} from float32 by more than "
                f"{result.within}, at most by {took.most:.3g} {took.unit}".rstrip()
                + ": outputs drift. Only a width that covers this is sure."
            )
    if found is None:
        return
    queries = count_phrase(len(result.queries), "query", "queries")
    reference = "the reference" if took is None else "float32"
    scored = "" if found.high is None else f"with float32 scoring of the same outputs in {found.high:,}, "
    yield (
        f"By its own scores {result.run} has the first {result.k} of {reference} in {found.before:,} of {queries}, "
        f"{scored}after the repair in {found.after:,}."
    )
    if found.high is not None:
        yield _cure(found, len(result.queries))
    if found.beyond:
        yield (
            f"{count_phrase(found.beyond, 'score differs', 'scores differ')} from the reference by more than "
            f"{result.within}, at most by {found.most:.3g} {found.unit}".rstrip()
            + ": that is drift of the model, not rounding of scores. A repair is sure within a width that covers it."
        )
