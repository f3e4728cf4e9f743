"""The result of a cut audit: what `trueval cuts` writes, and `cut_audit.py` computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from trueval.report.json_fields import json_key
from trueval.report.result import Result


@dataclass(frozen=True)
class TieEnds:
    """A measure over all choices among equal scores; None where it has no value.

    Attributes:
        expected: mean over all choices.
        low: lowest value.
        high: highest value.
    """

    expected: float | None
    low: float | None = field(metadata=json_key("lowest"))
    high: float | None = field(metadata=json_key("highest"))


@dataclass(frozen=True)
class MeanEnds(TieEnds):
    """The mean of a measure under one source of ties.

    Attributes:
        range: high - low.
        queries: number of queries in the mean.
    """

    range: float | None
    queries: int


@dataclass(frozen=True)
class MeasureAtCut(TieEnds):
    """The mean of a measure over queries.

    Attributes:
        range: high - low.
        sd: standard deviation of the mean over choices.
        queries: number of queries in the mean.
        cut: the mean under the choice at the cutoff alone.
        inside: the mean under the other ties alone, of documents that are in the context anyway.
        calls: [call] mean of each call as listed.
        calls_low: lowest of these; None without calls.
        calls_high: highest of these.
    """

    range: float | None
    sd: float | None
    queries: int
    cut: MeanEnds
    inside: MeanEnds
    calls: tuple[float | None, ...]
    calls_low: float | None = field(metadata=json_key("calls_lowest"))
    calls_high: float | None = field(metadata=json_key("calls_highest"))


@dataclass(frozen=True)
class QueryAtCut(TieEnds):
    """The value of a measure for a query.

    Attributes:
        cut: the value under the choice at the cutoff alone.
        inside: the value under the other ties alone.
    """

    cut: TieEnds
    inside: TieEnds


@dataclass(frozen=True)
class CutSummary:
    """All cuts together.

    Attributes:
        queries: number of queries asked.
        cut: queries whose cutoff falls inside a group.
        open: queries whose list ends inside the group at the cutoff.
        largest_group: documents of the largest group that is cut.
        at_stake: mean over cut queries of the share of the context that comes from the group.
        overlap: mean over cut queries of the expected share of the context that two random calls have in common.
        depth_needed: documents to fetch so that every group ends.
    """

    queries: int
    cut: int
    open: int
    largest_group: int
    at_stake: float
    overlap: float
    depth_needed: int


@dataclass(frozen=True)
class CauseCounts:
    """Why the documents of cut groups tie.

    Attributes:
        cuts: cause → number of cuts.
        decided_by_exact_scores: cuts that products in float64 decide; None without embeddings.
    """

    cuts: Mapping[str, int]
    decided_by_exact_scores: int | None


@dataclass(frozen=True)
class CallCounts:
    """How repeated calls differ from the first one, in queries.

    Attributes:
        number: number of calls.
        differed_by_ties: queries whose documents differ only by the choice among equal scores.
        differed_otherwise: queries whose documents differ in another way.
        reordered: queries with the same documents in another order.
        rescored: queries with other scores for the same documents.
        largest_change: largest change of a score; None where it is not finite.
        deeper: queries with documents that a deeper call does not put there; None without one.
        expected_to_differ: expected number of queries that would differ if the engine chose at random.
    """

    number: int
    differed_by_ties: int
    differed_otherwise: int
    reordered: int
    rescored: int
    largest_change: float | None
    deeper: int | None
    expected_to_differ: float


@dataclass(frozen=True)
class StageTies:
    """How far the ties of a stage of a pipeline travel.

    Attributes:
        name: name of the stage, or "all".
        depth: depth at which it cuts; None for all stages.
        cut: queries whose list it cuts inside a group; None for all stages.
        open: queries whose list ends inside the group there.
        largest_group: documents of the largest group that it cuts; None for all stages.
        calls: comparison of repeated calls of a retriever; None without.
        changed: queries whose context some order of its ties changes.
        replaced: mean share of a context that is replaced.
        enumerated: queries whose orders are all tried.
        sampled: queries whose orders are drawn at random.
        measures: measure → mean over queries of each query's mean, lowest and highest value over the orders.
    """

    name: str
    depth: int | None
    cut: int | None
    open: int
    largest_group: int | None
    calls: CallCounts | None
    changed: int
    replaced: float
    enumerated: int
    sampled: int
    measures: Mapping[str, TieEnds]


@dataclass(frozen=True)
class PipelineTies:
    """How far ties travel through a pipeline.

    Attributes:
        draws: maximum number of orders tried per query.
        seed: of the orders that are drawn.
        stages: one entry per stage, the last of all stages together.
        measures: names of the measures.
    """

    draws: int
    seed: int
    stages: tuple[StageTies, ...]
    measures: tuple[str, ...]


@dataclass(frozen=True)
class QueryCalls:
    """Repeated calls of a query: distinct contexts, and calls that differ from the first one."""

    contexts: int
    differed_by_ties: int
    differed_otherwise: int


@dataclass(frozen=True)
class QueryCut:
    """The cut of a query.

    Attributes:
        query: id of the query.
        above: number of documents scored higher than the group at the cutoff.
        group: number of documents in the group.
        slots: number of them that enter the context.
        chance: probability that one of them enters.
        score: score of the group; "inf" or "-inf" as a text.
        open: whether the list ends inside the group.
        contexts: number of possible contexts; None above 2^53.
        log10_contexts: its logarithm.
        overlap: expected share of the context that two random calls have in common.
        cause: why they tie; None where texts are not known.
        texts: number of distinct texts.
        vectors: number of distinct embeddings.
        decided_by_exact_scores: whether products in float64 decide the cut.
        calls: repeated calls; None for a single call.
        measures: by name; empty where the query is not judged.
    """

    query: str
    above: int
    group: int
    slots: int
    chance: float
    score: float | str
    open: bool
    contexts: int | None
    log10_contexts: float
    overlap: float
    cause: str | None = None
    texts: int | None = None
    vectors: int | None = None
    decided_by_exact_scores: bool | None = None
    calls: QueryCalls | None = None
    measures: Mapping[str, QueryAtCut] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class CutAudit(Result):
    """What a cut at k leaves to the choice among equal scores.

    Attributes:
        name: name of the searched index or run.
        k: number of documents in a context.
        about: description of what was searched.
        policy: choices behind the measures; None without judgments.
        summary: all cuts together.
        causes: why documents tie; None where texts are not known, or nothing is cut.
        calls: comparison of repeated calls; None for a single call.
        measures: by name; empty without judgments.
        stages: how far ties travel through a pipeline; None if there is none.
        cuts: queries whose cutoff falls inside a group, or whose list ends in one.
        notes: one line per thing a reader must know.
    """

    KIND: ClassVar = "cuts"
    FORMAT: ClassVar = 1

    name: str
    k: int
    about: Mapping[str, object]
    policy: Mapping[str, object] | None
    summary: CutSummary
    causes: CauseCounts | None
    calls: CallCounts | None
    measures: Mapping[str, MeasureAtCut]
    stages: PipelineTies | None
    cuts: tuple[QueryCut, ...]
    notes: tuple[str, ...]
