"""The result of `trueval frontier`, in the form of its JSON (docs/design/tradeoff.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from trueval.precision.stages_result import RegimeStage
from trueval.report.json_fields import OMITTED, json_key
from trueval.report.result import Result
from trueval.tradeoff.diagnosis.diagnosis_results import (
    CrossFit,
    GeneratorPrediction,
    ImprovementAdvice,
    MarginalGain,
    RecallMatch,
    SystemEfficiency,
    SystemGrowth,
)
from trueval.tradeoff.quality.result_parts import IntervalEstimate, OmittedConfiguration
from trueval.tradeoff.route.route_result import CertifiedRouter


@dataclass(frozen=True)
class SweepSource:
    """The sweep that was read.

    Attributes:
        name: its name.
        file: name of its file.
        sha256: hash of that file.
        trueval: version that wrote it.
    """

    name: str | None
    file: str
    sha256: str
    trueval: str | None


@dataclass(frozen=True)
class ComparedPoints:
    """Points that are compared with each other: all of them, with K None, or those of one K."""

    k: int | None = field(metadata=json_key("K"))
    points: tuple[int, ...]


@dataclass(frozen=True)
class LatencyBand:
    """Why latencies tie.

    Attributes:
        of: "jitter", "band_ms", or "none" where no jitter is known, so that all tie.
        seconds: width of the band; None without one.
        ratio: ratio of two latencies from which their jitter separates half of all pairs of systems.
    """

    of: str
    seconds: float | None
    ratio: float | None


@dataclass(frozen=True)
class ShrinkageModel:
    """How resamples became probabilities: standard deviations of docs/tradeoff.md, None where there was too little.

    Attributes:
        plain: whether the resamples were taken as they are.
        noise: of the noise of queries.
        own: of what is a configuration's own.
        surface: of what cost, latency and K predict.
    """

    plain: bool
    noise: float | None
    own: float | None
    surface: float | None


@dataclass(frozen=True)
class PointQuality:
    """The quality of a configuration.

    Attributes:
        measure: at its K.
        value: mean over queries, expected over tie orders.
        low: lower end of the bootstrap interval over queries.
        high: its upper end.
        lowest: value under the worst order of ties.
        highest: value under the best one.
        queries: number of queries.
    """

    measure: str
    value: float | None
    low: float | None
    high: float | None
    lowest: float | None
    highest: float | None
    queries: int


@dataclass(frozen=True)
class FrontierPoint:
    """A configuration of the sweep.

    Attributes:
        name: its name.
        system: index of its system in the sweep.
        system_name: name of its system.
        method: stages of its system, such as "dense+rerank".
        k: contexts of a generator.
        values: values of its system on the axes of the sweep.
        cost: currency per 1,000 queries; None without a price.
        latency: "p50", "p95" and "p99" → seconds of a query; None where not timed.
        quality: its quality.
        prompt_tokens: mean tokens of its contexts; None where not counted.
        recall: recall against exact search; None where nothing was approximated.
        on_frontier: whether it is on the frontier of the measured values.
        probability: share of resamples, with shrinkage, in which it is on the frontier; None with one query.
        plain: the same without shrinkage.
        dominated_by: a point of the measured frontier that removes it.
        group: index of its group.
    """

    name: str
    system: int
    system_name: str
    method: str | None
    k: int | None = field(metadata=json_key("K"))
    values: Mapping[str, object]
    cost: float | None
    latency: Mapping[str, IntervalEstimate] | None
    quality: PointQuality
    prompt_tokens: float | None
    recall: float | None
    on_frontier: bool
    probability: float | None
    plain: float | None
    dominated_by: int | None
    group: int | None

    def seconds(self, percentile: str) -> float | None:
        """The latency at a percentile; None where not timed."""
        return None if self.latency is None else self.latency[percentile].value


@dataclass(frozen=True)
class PointGroup:
    """Points that differ inside noise.

    Attributes:
        leader: the one most probably on the frontier.
        members: all of them.
        probability: share of resamples in which at least one is on the frontier.
    """

    leader: int
    members: tuple[int, ...]
    probability: float


@dataclass(frozen=True)
class RuleBounds:
    """The limits of a rule, those that it has.

    Attributes:
        latency_ms: maximum milliseconds of a query.
        cost: maximum cost of 1,000 queries.
        quality: minimum quality.
        measure: measure of the quality limit.
    """

    latency_ms: float | None = field(default=None, metadata=OMITTED)
    cost: float | None = field(default=None, metadata=OMITTED)
    quality: float | None = field(default=None, metadata=OMITTED)
    measure: str | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class RuleAnswer:
    """The choice of a rule; points by their indices.

    Attributes:
        rule: "latency-bound", "cost-bound", "quality-bound", "all limits" or "best quality".
        k: of the points that are compared; None for all.
        seeks: "quality", "latency" or "cost".
        limits: those that it has.
        feasible: points inside the limits, in as many resamples as `sure` asks for.
        answer: the choice; None where none is feasible.
        runner_up: the next one on the frontier of the feasible ones; None where there is none.
        value: what is sought, of the answer.
        runner_up_value: the same of the runner-up.
        better: share of plain resamples in which the answer is better than the runner-up; None of costs, and where
            something else decided.
        feasible_chance: share of plain resamples in which the answer, or `surest`, is inside the limits.
        surest: where none is inside often enough, the point that is most often.
        within_noise: points that tie with the best one.
        best: the best one by the measured values.
        decided_by: criterion that ranked the answer first.
        cross_fitted: quality of the choice on other queries; None for other objectives.
        sentence: the choice in words.
    """

    rule: str
    k: int | None = field(metadata=json_key("K"))
    seeks: str
    limits: RuleBounds
    feasible: tuple[int, ...]
    answer: int | None
    runner_up: int | None
    value: float | None
    runner_up_value: float | None
    better: float | None
    feasible_chance: float | None
    surest: int | None
    within_noise: tuple[int, ...]
    best: int | None
    decided_by: str | None
    cross_fitted: CrossFit | None
    sentence: str


@dataclass(frozen=True)
class LimitFrontier:
    """The frontier inside a limit of latency.

    Attributes:
        latency_ms: the limit.
        percentile: of the latency.
        k: of the points that are compared; None for all.
        points: on this frontier.
        best: the best of them; None where none is inside.
        feasible: number of points inside.
    """

    latency_ms: float
    percentile: str
    k: int | None = field(metadata=json_key("K"))
    points: tuple[int, ...]
    best: int | None
    feasible: int


@dataclass(frozen=True)
class SystemPrecision:
    """What number formats do to a pipeline of the sweep, from its audit.

    Attributes:
        systems: names of the systems that are this pipeline, each in formats of its own.
        pipeline: its name in the audit.
        queries: number of queries of the audit.
        measures: names of the measures of the audit.
        ladder: each stage of the whole pipeline in float32, as its file says, and in low precision.
    """

    systems: tuple[str, ...]
    pipeline: str
    queries: int
    measures: tuple[str, ...]
    ladder: tuple[RegimeStage, ...]


@dataclass(frozen=True, repr=False)
class FrontierResult(Result):
    """The frontier of a sweep.

    Attributes:
        sweep: what was read.
        quality: quality measure of the sweep.
        rule: "pareto" or "paper".
        percentile: of the latency.
        level: of intervals, and share of resamples at which one quality is separated from another.
        sure: share of resamples in which limits must be kept.
        resamples: number of resamples.
        seed: of all random numbers.
        currency: of the costs; None without prices.
        queries: number of queries.
        panels: points that are compared with each other.
        objectives: those that at least one point knows: "cost", "latency", "quality".
        band: why latencies tie.
        model: how resamples became probabilities.
        points: configurations, in the order of the sweep.
        groups: points that differ inside noise; empty with one query.
        rules: choices.
        slo: frontiers inside limits of latency.
        matched_recall: systems at the same recall.
        recall_of: what recall is measured against.
        efficiency: systems by quality per second, best first.
        marginals: what steps of a setting gain.
        advice: what to improve; None without a ceiling.
        left_out: impossible configurations.
        failed: systems that failed.
        notes: what a reader must know of the inputs.
        router: certified router, where one was asked for.
        growth: forecasts for a larger corpus, where they were asked for.
        predictions: which measures of lists predict the answers of each generator; None where nobody answers.
        precision: what number formats do to pipelines, where audits of these were given.
    """

    KIND: ClassVar[str] = "frontier"
    FORMAT: ClassVar[int] = 1  # 1: first version.

    sweep: SweepSource
    quality: str
    rule: str
    percentile: str
    level: float
    sure: float
    resamples: int
    seed: int
    currency: str | None
    queries: int
    panels: tuple[ComparedPoints, ...]
    objectives: tuple[str, ...]
    band: LatencyBand
    model: ShrinkageModel
    points: tuple[FrontierPoint, ...]
    groups: tuple[PointGroup, ...]
    rules: tuple[RuleAnswer, ...]
    slo: tuple[LimitFrontier, ...]
    matched_recall: tuple[RecallMatch, ...]
    recall_of: str | None
    efficiency: tuple[SystemEfficiency, ...]
    marginals: tuple[MarginalGain, ...]
    advice: ImprovementAdvice | None
    left_out: tuple[OmittedConfiguration, ...]
    failed: tuple[OmittedConfiguration, ...]
    notes: tuple[str, ...]
    router: CertifiedRouter | None = field(default=None, metadata=OMITTED)
    growth: tuple[SystemGrowth, ...] | None = field(default=None, metadata=OMITTED)
    predictions: tuple[GeneratorPrediction, ...] | None = field(default=None, metadata=OMITTED)
    precision: tuple[SystemPrecision, ...] | None = field(default=None, metadata=OMITTED)
