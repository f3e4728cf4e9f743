"""The view of codes of stored vectors: what each storage loses, and what scoring again brings back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from trueval.precision.codes_result import CodesReport, CodesRow, MeasureRange, RescoreLevel
from trueval.report.number_texts import count_phrase
from trueval.report.units import COUNT, FRACTION, NAME, PERCENT, number
from trueval.report.view import Answer, Column, Quantity, Section, Sentence, Sheet, View, choices_section

KEPT: Final = 0.99  # recall that counts as kept
LEGEND: Final = (
    "recall: documents of the float32 result that are found; one equal to its last document counts. Expected over the "
    "orders of equal code scores, with lowest and highest.",
    "again: how many of the first documents are scored again with the float32 vectors, which have to be kept too; 0: "
    "the codes' own scores.",
    "cut: share of queries in which K, or the number to score again, falls inside a group of equal code scores.",
    "tied: share of the first documents whose score another document of the corpus has.",
)
SMALLER: Final = number(".1f")


class _Level(NamedTuple):
    """A storage, and a number of documents to score again."""

    row: CodesRow
    level: RescoreLevel
    smaller: float

    @property
    def first(self) -> MeasureRange:
        """The measure that was asked for first."""
        return self.level.measures[0]


def view(result: CodesReport) -> View:
    """What `trueval precision codes` shows.

    Args:
        result: of the command.
    """
    levels = [
        _Level(row, level, result.storages[0].bytes / max(row.bytes, 1))
        for row in result.storages
        for level in row.rescored
    ]
    lists = Sheet("Ties in the lists of codes", result.storages, list(_lists(result)), id="code-lists")
    kept = Sheet("What is found, and found again", levels, list(_levels(result)), id="code-levels")
    return View(
        title="Codes of stored vectors",
        answer=_answer(result, levels),
        sections=[
            Section("Codes", [kept, lists], open=True),
            choices_section("precision codes", {"first K": result.k, "model": result.model, **result.policy}),
        ],
        csv=Sheet("", levels, list(_csv(result))),
        findings=list(_findings(result)),
        legend=LEGEND,
        notes=result.notes,
    )


def _answer(result: CodesReport, levels: list[_Level]) -> Answer:
    coded = [each for each in levels if each.row is not result.storages[0]]
    # Of storages of one size, the one that has the fewest documents to score again.
    enough = sorted(
        (each for each in coded if each.level.recall.lowest >= KEPT),
        key=lambda each: (each.row.bytes, each.level.documents),
    )
    where = f"of {count_phrase(result.queries, 'query', 'queries')} over {result.documents:,} documents"
    asked = f"What do codes of the vectors of {result.model} cost?"
    if not coded:
        sentence: Sentence = "No code was named: float32 vectors alone lose nothing."
    elif enough:
        best = enough[0]
        again = f" with the first {best.level.documents} scored again" if best.level.documents else ""
        kept = ", with the float32 vectors on disk" if best.level.documents else ""
        sentence = (
            f"{best.row.storage}{again} keeps ",
            Quantity(best.level.recall, "expected", PERCENT),
            f" of the first {result.k} at {best.smaller:.1f} times less memory{kept}: the smallest that keeps "
            f"{KEPT:.0%}.",
        )
    else:
        best = max(coded, key=lambda each: each.level.recall.lowest)
        again = f" with the first {best.level.documents} scored again" if best.level.documents else ""
        sentence = (
            f"No code keeps {KEPT:.0%} of the first {result.k}; {best.row.storage}{again} keeps most, ",
            Quantity(best.level.recall, "expected", PERCENT),
            ". Score more documents again (--rescore).",
        )
    sure = f"Every document was scored by every code, {where}; an index that visits some finds no more."
    return Answer(sentence, asked, sure, "", "trueval sweep sweep.toml --out sweep")


def _findings(result: CodesReport) -> Iterator[Sentence]:
    for row in result.storages[1:]:
        if row.rescored[0].cut >= 0.1:
            yield (
                f"{row.storage}: equal scores at K = {result.k} leave the result to chance in ",
                Quantity(row.rescored[0], "cut", PERCENT),
                " of queries.",
            )


def _lists(result: CodesReport) -> Iterator[Column[CodesRow]]:
    yield Column("storage", lambda row: row.storage, NAME)
    yield Column("bytes", lambda row: row.bytes, COUNT)
    yield Column(f"distinct\nof {result.length}", lambda row: row.distinct, SMALLER)
    yield Column("tied", lambda row: row.tied, PERCENT)
    yield Column(f"cut at\n{result.k}", lambda row: row.rescored[0].cut, PERCENT)
    yield Column("tau-b", lambda row: row.tau_b, FRACTION)
    yield Column("RBO", lambda row: row.rbo, FRACTION)


def _measure(at: int, name: str, each: _Level) -> float | None:
    found: float | None = getattr(each.level.measures[at], name)
    return found


def _levels(result: CodesReport) -> Iterator[Column[_Level]]:
    yield Column("storage", lambda each: each.row.storage, NAME)
    yield Column("smaller", lambda each: each.smaller, SMALLER, leaves=3)
    yield Column("again", lambda each: each.level.documents, COUNT)
    yield Column(f"recall\nat {result.k}", lambda each: each.level.recall.expected, FRACTION, strong=True)
    yield Column("lowest", lambda each: each.level.recall.lowest, FRACTION, leaves=1)
    yield Column("highest", lambda each: each.level.recall.highest, FRACTION, leaves=1)
    yield Column("cut", lambda each: each.level.cut, PERCENT, leaves=2)
    for at, measure in enumerate(result.storages[0].rescored[0].measures):
        yield Column(measure.measure, partial(_measure, at, "expected"), FRACTION, strong=True)


def _csv(result: CodesReport) -> Iterator[Column[_Level]]:
    yield Column("storage", lambda each: each.row.storage)
    yield Column("bytes", lambda each: each.row.bytes)
    yield Column("rescored", lambda each: each.level.documents)
    for name in ("expected", "lowest", "highest"):
        yield Column(f"recall_{name}", partial(_recall, name))
    yield Column("cut", lambda each: each.level.cut)
    for at, measure in enumerate(result.storages[0].rescored[0].measures):
        for name in ("expected", "lowest", "highest"):
            yield Column(f"{measure.measure} {name}", partial(_measure, at, name))


def _recall(name: str, each: _Level) -> float:
    found: float = getattr(each.level.recall, name)
    return found
