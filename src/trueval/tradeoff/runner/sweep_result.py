"""The result of `trueval sweep`, in the form of sweep.json (docs/design/tradeoff.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from trueval.report.json_fields import OMITTED, json_key
from trueval.report.result import Result
from trueval.tradeoff.diagnosis.diagnosis_results import GrownSystem, LossLadder, TunedGraph
from trueval.tradeoff.quality.result_parts import IntervalEstimate, MeasureMean, OmittedConfiguration, PoolCeiling
from trueval.tradeoff.route.route_result import RoutedSystem


@dataclass(frozen=True)
class SweptCollection:
    """The collection of a sweep.

    Attributes:
        name: its name.
        source: where it was read from.
        documents: number of documents.
        queries: number of queries.
        judged: number of judgments.
        sha256: hashes of its parts.
    """

    name: str
    source: str
    documents: int
    queries: int
    judged: int
    sha256: Mapping[str, str]


@dataclass(frozen=True)
class PriceSummary:
    """Prices behind the costs.

    Attributes:
        date: of the price book.
        currency: of the costs.
        source: of the prices.
        rerank: name in the book of a reranker that runs here; None for none.
        embed: the same of an embedder.
        generator: the same of a generator.
        candidate_tokens: tokens of a candidate; None where they were counted.
        answer_tokens: tokens of an answer; None where [prices] states none.
    """

    date: str | None
    currency: str | None
    source: str | None
    rerank: str | None
    embed: str | None
    generator: str | None
    candidate_tokens: float | None
    answer_tokens: float | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class SweptAxis:
    """A key of the sweep file with several values."""

    key: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class SearchRecall:
    """Recall against exact float32 search.

    Attributes:
        of: index that is exact.
        depth: documents of its list.
        value: mean share of them that is found.
        low: lower end of its interval.
        high: upper end.
    """

    of: str
    depth: int
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class IndexBytes:
    """Bytes of the search structures of a system: by formula, None of an engine, and as measured.

    Attributes:
        vectors: codes of vectors.
        graph: links between them.
        tables: what codes are read by.
        words: postings and vocabulary.
        measured: of the indexes.
        millions: millions of documents → bytes by formula.
    """

    vectors: float | None
    graph: float | None
    tables: float | None
    words: float | None
    measured: float
    millions: Mapping[str, float] | None


@dataclass(frozen=True)
class MeanTokens:
    """Mean tokens; None where nothing was counted. A candidate is counted with its query."""

    query: float | None
    candidate: float | None
    context: float | None


@dataclass(frozen=True)
class StageLatency:
    """Seconds of a stage of a query, at percentiles over queries and repeats."""

    name: str
    p50: IntervalEstimate
    p95: IntervalEstimate
    p99: IntervalEstimate
    samples: int


@dataclass(frozen=True)
class SystemLatency:
    """Seconds of all stages of a query, one query at a time.

    Attributes:
        p50: median over queries and repeats.
        p95: 95th percentile.
        p99: 99th percentile.
        samples: number of timed calls.
        jitter: log ratio by which two measurements of the system differ at most, in 95 % of cases; None with one
            repeat.
    """

    p50: IntervalEstimate
    p95: IntervalEstimate
    p99: IntervalEstimate
    samples: int
    jitter: float | None


@dataclass(frozen=True)
class LoadLatency:
    """Seconds of a query under load.

    Attributes:
        loop: "closed", or "open".
        workers: that ask at once.
        rate: queries a second that come; None of closed loops.
        p50: median.
        p95: 95th percentile.
        p99: 99th percentile.
        samples: number of queries.
        achieved: queries a second that were answered.
    """

    loop: str
    workers: int | None
    rate: float | None
    p50: float
    p95: float
    p99: float
    samples: int
    achieved: float


@dataclass(frozen=True)
class NameChange:
    """What a change of a name does to its margin; `of_means` is the ratio of mean margins less 1."""

    absolute: Mapping[str, float | None]
    relative: Mapping[str, float | None]
    relative_bundles: int
    of_means: float | None


@dataclass(frozen=True)
class NameMargins:
    """The probe of names.

    Attributes:
        name: of the scorer.
        unit: of its scores.
        language: of the texts.
        queries: number of queries of a run.
        runs: number of runs.
        delta_name: margin of the right author.
        delta_topic: margin of the right work.
        name_over_topic: ratio of the two.
        kept_apart: share of pairs that are told apart.
        changes: change of the name → what it does.
    """

    name: str
    unit: str
    language: str
    queries: int
    runs: int
    delta_name: Mapping[str, float | None]
    delta_topic: Mapping[str, float | None]
    name_over_topic: float | None
    kept_apart: float | None
    changes: Mapping[str, NameChange]


@dataclass(frozen=True)
class ChatterEffect:
    """The probe of chatter around queries.

    Attributes:
        language: of the chatter.
        level: of the chatter.
        queries: number of queries.
        drop: 1 - cosine of a query and the query with chatter.
        overlap: share of the first 10 documents that both find.
        change: measure → mean change.
    """

    language: str
    level: int
    queries: int
    drop: float | None
    overlap: float | None
    change: Mapping[str, float | None]


@dataclass(frozen=True)
class SystemProbes:
    """Probes of a system; None where one was not asked for, or failed."""

    names: NameMargins | None
    noise: ChatterEffect | None


@dataclass(frozen=True)
class FirstToken:
    """Seconds from a query to the first token of its answer, at percentiles over queries and repeats."""

    p50: IntervalEstimate
    p95: IntervalEstimate
    p99: IntervalEstimate
    samples: int


@dataclass(frozen=True)
class SystemAnswers:
    """Answers of a generator from the first K documents of a system.

    Attributes:
        retrieval: key of the system.
        generator: hash of all that decides its answers but the documents.
        model: name of the generator.
        k: documents in a prompt.
        file: log of the answers, inside the directory of the sweep.
        table: what the judge said of them, inside the same; None without one.
        questions: number of questions.
        answers: number of answers, with those of other orders of ties and repetitions.
        unknown: number of answers that are not known.
        abstained: share of the known ones that abstain; None without any.
        tokens_in: mean tokens of a prompt; None if not known.
        tokens_out: mean tokens of an answer; None if not known.
        first: latency of the first token, with that of retrieval; None where not timed, or not streamed.
    """

    retrieval: str
    generator: str
    model: str
    k: int = field(metadata=json_key("K"))
    file: str
    table: str | None
    questions: int
    answers: int
    unknown: int
    abstained: float | None
    tokens_in: float | None
    tokens_out: float | None
    first: FirstToken | None


@dataclass(frozen=True)
class SweptSystem:
    """A pipeline with one value for every key.

    Attributes:
        name: its name.
        key: hash of all that decides its run.
        file: its file, inside the directory of the sweep.
        method: its stages, such as "dense+rerank".
        values: key → value on each axis but K.
        settings: stage → all its keys.
        seconds: of making its run.
        cached: whether it was built by an earlier call.
        pool: maximum number of candidates of a query.
        queries: number of queries.
        recall: against exact search; None where it searches no vectors.
        memory: bytes of its indexes.
        tokens: of its texts.
        stages: latency of each; empty where not timed.
        latency: of all stages; None where not timed.
        loads: latency under load.
        ties: ties of its run.
        notes: what a reader must know of it.
        probes: what probes found; None without [probes].
        answers: of its generator; None where nobody answers.
        timed_on: name of the machine that its latencies are of; None where not timed.
    """

    name: str
    key: str
    file: str
    method: str
    values: Mapping[str, Any]
    settings: Mapping[str, Mapping[str, Any]]
    seconds: float
    cached: bool
    pool: int
    queries: int
    recall: SearchRecall | None
    memory: IndexBytes | None
    tokens: MeanTokens | None
    stages: tuple[StageLatency, ...]
    latency: SystemLatency | None
    loads: tuple[LoadLatency, ...]
    ties: Mapping[str, Any]
    notes: tuple[str, ...]
    probes: SystemProbes | None = field(default=None, metadata=OMITTED)
    answers: SystemAnswers | None = field(default=None, metadata=OMITTED)
    timed_on: str | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class CostComponents:
    """Currency of 1,000 queries by what is paid for; None without a price.

    Attributes:
        rewrite: the forms of the queries that a language model writes; None where it writes none.
    """

    rerank: float | None
    embed: float | None
    generator: float | None
    total: float | None
    rewrite: float | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class SweptConfiguration:
    """A system and K.

    Attributes:
        name: its name.
        system: index of its system.
        k: contexts of a generator.
        measures: all measures, at K.
        quality: name of the quality among them.
        ceiling: of its pool; None for measures without one.
        judged: share of the contexts that are judged.
        unjudged_highest: quality if every unjudged document were best; None without such a bound.
        cost: of 1,000 queries; None where no price is known.
        prompt_tokens: mean tokens of the contexts of a query; None where not counted.
    """

    name: str
    system: int
    k: int = field(metadata=json_key("K"))
    measures: Mapping[str, MeasureMean]
    quality: str
    ceiling: PoolCeiling | None
    judged: float | None
    unjudged_highest: float | None
    cost: CostComponents | None
    prompt_tokens: float | None


@dataclass(frozen=True, kw_only=True, repr=False)
class SweepResult(Result):
    """A sweep.

    Attributes:
        name: of the sweep file.
        collection: what was searched.
        policy: how it was measured.
        measures: names of the measures, the quality first.
        quality: the quality.
        level: of intervals.
        resamples: number of resamples.
        seed: of all random numbers.
        machine: that it ran on.
        latency: settings of [latency].
        prices: behind the costs; None where nobody asked for one.
        limits: settings of [limits].
        axes: keys with several values.
        systems: that were built.
        configurations: systems at each K.
        ladder: losses step by step.
        tuned: tuned graphs.
        route: routing of queries to a depth; None without [route].
        judge: judge of unjudged documents; None without one.
        probes: settings of [probes]; None without.
        growth: pipelines on thinned corpora; None without [grow].
        left_out: impossible configurations.
        failed: systems that failed.
        notes: what a reader must know.
    """

    KIND: ClassVar[str] = "sweep"
    FORMAT: ClassVar[int] = 1  # 1: first version.

    name: str
    collection: SweptCollection
    policy: Mapping[str, Any]
    measures: tuple[str, ...]
    quality: str
    level: float
    resamples: int
    seed: int
    machine: Mapping[str, Any]
    latency: Mapping[str, Any]
    prices: PriceSummary | None
    limits: Mapping[str, Any]
    axes: tuple[SweptAxis, ...]
    systems: tuple[SweptSystem, ...]
    configurations: tuple[SweptConfiguration, ...]
    ladder: tuple[LossLadder, ...]
    tuned: tuple[TunedGraph, ...]
    route: RoutedSystem | None
    judge: Mapping[str, Any] | None = field(default=None, metadata=OMITTED)
    probes: Mapping[str, Any] | None = field(default=None, metadata=OMITTED)
    growth: tuple[GrownSystem, ...] | None = field(default=None, metadata=OMITTED)
    left_out: tuple[OmittedConfiguration, ...]
    failed: tuple[OmittedConfiguration, ...]
    notes: tuple[str, ...]
