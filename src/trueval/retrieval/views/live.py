"""The view of live retrieval: what a retriever leaves to chance, what that does to measures, and how it answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from trueval.report.number_texts import count_phrase, percent
from trueval.report.units import COUNT, FRACTION, NAME, PERCENT, number
from trueval.report.view import Answer, AnySheet, Column, Quantity, Section, Sentence, Sheet, View
from trueval.retrieval.live.live_result import LiveMeasure, LiveQuery, LiveResult

MILLISECONDS: Final = number(",.1f")


class _MeasureRow(NamedTuple):
    """A measure by its name."""

    name: str
    value: LiveMeasure


class _Fact(NamedTuple):
    """A line of the table of calls and lists."""

    name: str
    value: str


def view(result: LiveResult) -> View:
    """What `trueval retrieve --live` shows.

    Args:
        result: of the command.
    """
    measured = [_MeasureRow(*each) for each in result.measures.items()]
    sections = [
        *([Section("Measures", [Sheet("Measures", measured, _columns(result))], open=True)] if measured else []),
        Section("Calls and lists", [Sheet("Calls and lists", [*_facts(result)], FACTS)], open=True),
        *([Section("Queries whose calls differ", [_cases(result)])] if result.cases else []),
    ]
    return View(
        title="Live retrieval",
        answer=Answer(_sentence(result), _question(result), _sure(result), next=_next(result)),
        sections=sections,
        csv=Sheet("", measured, CSV),
        findings=[*_findings(result)],
        legend=LEGEND if measured else (),
        notes=result.notes,
    )


def _question(result: LiveResult) -> str:
    return f"{result.retriever}, asked for {count_phrase(result.k, 'document', 'documents')}"


def _sentence(result: LiveResult) -> Sentence:
    changes, lists = result.changes, result.lists
    if changes is None:
        return (
            f"{result.retriever} listed ",
            Quantity(lists, "documents", COUNT),
            f" documents for {count_phrase(result.queries, 'query', 'queries')}; ",
            Quantity(lists, "tied_fraction", PERCENT),
            " of them have the score of another one of their list.",
        )
    differ = changes.by_ties + changes.otherwise
    if not differ and not changes.reordered and not changes.rescored:
        return f"All {result.repeats} calls of {result.retriever} gave the same lists for {_queries(result.queries)}."
    if not differ:
        what = "with other scores" if changes.rescored else "in another order"
        count = _queries(changes.rescored or changes.reordered)
        return f"The {result.repeats} calls of {result.retriever} listed the same documents, {what} for {count}."
    parts = [f"only among equal scores in {changes.by_ties}"] * bool(changes.by_ties)
    parts += [f"otherwise in {changes.otherwise}"] * bool(changes.otherwise)
    return (
        f"The {result.repeats} calls of {result.retriever} listed different documents for {differ} of "
        f"{_queries(result.queries)}: {', '.join(parts)}."
    )


def _queries(count: int) -> str:
    return count_phrase(count, "query", "queries")


def _sure(result: LiveResult) -> str:
    if result.changes is None:
        return "Each query was asked once: what the engine leaves to chance is not known. --repeats 3 shows it."
    return f"Each query was asked {result.repeats} times; more calls may differ more."


def _next(result: LiveResult) -> str:
    return "" if result.measures else "trueval evaluate run.trec QRELS"


def _findings(result: LiveResult) -> Iterator[Sentence]:
    for name, value in result.measures.items():
        if result.changes is not None and min(value.calls) < max(value.calls):
            yield f"{name} as listed is from {min(value.calls):.4f} to {max(value.calls):.4f}, by the call."
    if result.changes is not None and result.changes.cut:
        yield (
            f"k = {result.k} cuts a group of equal scores in {_queries(result.changes.cut)}, of which other calls list "
            "more. Sort by id after the score where the engine can, or ask for more."
        )
    elif result.lists.may_end_inside:
        yield (
            f"{count_phrase(result.lists.may_end_inside, 'list ends', 'lists end')} with several documents of one "
            "score, so k may cut a group."
        )


def _columns(result: LiveResult) -> list[Column[_MeasureRow]]:
    several = result.changes is not None
    return [
        Column("measure", lambda row: row.name, NAME),
        Column("expected", lambda row: row.value.expected, FRACTION, strong=True),
        Column("lowest", lambda row: row.value.lowest, FRACTION),
        Column("highest", lambda row: row.value.highest, FRACTION),
        Column("as listed,\nlowest" if several else "as listed", lambda row: min(row.value.calls), FRACTION),
        *([Column("as listed,\nhighest", _highest_call, FRACTION)] if several else []),
    ]


def _highest_call(row: _MeasureRow) -> float:
    return max(row.value.calls)


def _facts(result: LiveResult) -> Iterator[_Fact]:
    timing, lists, changes = result.timing, result.lists, result.changes
    yield _Fact("queries", f"{result.queries:,}")
    yield _Fact("calls for each", f"{result.repeats}, {result.at_once} at once")
    yield _Fact("answer, p50 and p95", f"{timing.p50 * 1e3:,.1f} ms, {timing.p95 * 1e3:,.1f} ms")
    if timing.retried:
        yield _Fact("attempts made again", f"{timing.retried:,}")
    yield _Fact("documents of the first call", f"{lists.documents:,}")
    for name, count in (
        ("queries that found nothing", lists.empty),
        (f"lists shorter than {result.k}", lists.short),
        ("documents in no corpus", lists.unknown or 0),
    ):
        if count:
            yield _Fact(name, f"{count:,}")
    yield _Fact("documents that tie", percent(lists.tied_fraction))
    if changes is not None:
        for name, count in (
            ("queries with other documents, among equal scores", changes.by_ties),
            ("queries with other documents, otherwise", changes.otherwise),
            ("queries in another order", changes.reordered),
            ("queries with other scores", changes.rescored),
            ("queries where k cuts a group", changes.cut),
        ):
            yield _Fact(name, f"{count:,}")


FACTS: Final[tuple[Column[_Fact], ...]] = (
    Column("what", lambda row: row.name),
    Column("value", lambda row: row.value),
)
CSV: Final[tuple[Column[_MeasureRow], ...]] = (
    Column("measure", lambda row: row.name, NAME),
    Column("expected", lambda row: row.value.expected),
    Column("lowest", lambda row: row.value.lowest),
    Column("highest", lambda row: row.value.highest),
    Column("calls_lowest", lambda row: min(row.value.calls)),
    Column("calls_highest", _highest_call),
)
LEGEND: Final = (
    "expected, lowest, highest: over all orders of equal scores, also of documents of the group at k that other calls "
    "list.",
    "as listed: in the order that the retriever gave.",
)


def _cases(result: LiveResult) -> AnySheet:
    columns: list[Column[LiveQuery]] = [
        Column("query", lambda row: row.query, NAME),
        Column("different lists", lambda row: row.lists, COUNT),
        Column("calls that differ\namong equal scores", lambda row: row.by_ties, COUNT),
        Column("otherwise", lambda row: row.otherwise, COUNT),
        Column("group at k", lambda row: row.group, COUNT),
        Column("of it fit", lambda row: row.slots, COUNT),
    ]
    return Sheet("Queries whose calls differ", result.cases, columns, folded=len(result.cases) > 20, only="page")
