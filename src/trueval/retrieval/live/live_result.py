"""The result of live retrieval: how a retriever answered, and what it leaves to chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from trueval.report.result import Result


@dataclass(frozen=True)
class LiveTiming:
    """How the calls went.

    Attributes:
        p50: seconds of an answer, median.
        p95: seconds of an answer, 95 in 100 take no more.
        retried: attempts that failed and were made again.
        resumed: answers of an interrupted job.
    """

    p50: float
    p95: float
    retried: int
    resumed: int


@dataclass(frozen=True)
class LiveLists:
    """The lists of the first call.

    Attributes:
        documents: in all lists.
        empty: queries that found nothing.
        short: lists with fewer documents than were asked for, but not empty.
        tied_fraction: share of the documents that have the score of another one of their list.
        may_end_inside: lists of k documents that end with several of one score, of which there may be more.
        unknown: documents that are not in the corpus; None without one.
    """

    documents: int
    empty: int
    short: int
    tied_fraction: float
    may_end_inside: int
    unknown: int | None


@dataclass(frozen=True)
class LiveChanges:
    """How later calls differ from the first one, in queries.

    Attributes:
        by_ties: other documents, and only in place of others with the score of the last one.
        otherwise: other documents in another way.
        reordered: the same documents in another order, in at least one call.
        rescored: another score of a document, in at least one call.
        largest_change: of a score; None if infinite.
        cut: k falls inside a group of equal scores, more of which another call lists.
    """

    by_ties: int
    otherwise: int
    reordered: int
    rescored: int
    largest_change: float | None
    cut: int


@dataclass(frozen=True)
class LiveMeasure:
    """The values of a measure.

    Attributes:
        expected: over all orders of equal scores, of what all calls list.
        lowest: of all such orders.
        highest: of all such orders.
        calls: of each call, in the order that it lists.
    """

    expected: float
    lowest: float
    highest: float
    calls: tuple[float, ...]


@dataclass(frozen=True)
class LiveQuery:
    """A query whose calls differ.

    Attributes:
        query: id.
        lists: different sets of documents among the calls.
        by_ties: calls that differ from the first by the choice among equal scores.
        otherwise: calls that differ in another way.
        group: documents seen with the score at k.
        slots: how many of them fit.
    """

    query: str
    lists: int
    by_ties: int
    otherwise: int
    group: int
    slots: int


@dataclass(frozen=True, repr=False)
class LiveResult(Result):
    """How a live retriever answered.

    Attributes:
        retriever: its name.
        queries: asked.
        k: documents asked for.
        repeats: calls for each query.
        at_once: calls at once.
        changes: between the calls; None for a single one.
        measures: by name; empty without judgments.
        cases: queries whose calls differ.
        policy: choices behind the measures; None without judgments.
        notes: what a reader must know.
    """

    KIND: ClassVar[str] = "live"
    FORMAT: ClassVar[int] = 1  # 1: first version

    retriever: str
    queries: int
    k: int
    repeats: int
    at_once: int
    timing: LiveTiming
    lists: LiveLists
    changes: LiveChanges | None
    measures: Mapping[str, LiveMeasure]
    cases: Sequence[LiveQuery]
    policy: Mapping[str, object] | None
    notes: Sequence[str]
