"""What the diagnoses of a sweep and of its frontier found, in the form of their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trueval.report.json_fields import json_key
from trueval.tradeoff.quality.result_parts import IntervalEstimate, MeanInterval


@dataclass(frozen=True)
class MarginalGain:
    """What a step of one setting gains, between two configurations that are otherwise equal.

    Attributes:
        axis: "K", or a key of the pipeline such as "rerank.depth".
        system: index of the system of the smaller setting.
        other_system: index of that of the larger one.
        begin: smaller setting.
        end: larger setting.
        points: indices of the two configurations.
        quality: difference of the quality; None where it is not known of one of them.
        milliseconds: difference of the latency; None within one system, and without times.
        cost: difference of the cost of 1,000 queries; None without a price.
        per_millisecond: gain per millisecond; None where the step is not slower beyond noise.
        per_currency: gain per unit of currency; None where the step costs no more.
        reason: why a ratio is None.
    """

    axis: str
    system: int
    other_system: int
    begin: float = field(metadata=json_key("from"))
    end: float = field(metadata=json_key("to"))
    points: tuple[int, int]
    quality: IntervalEstimate | None
    milliseconds: IntervalEstimate | None
    cost: float | None
    per_millisecond: IntervalEstimate | None
    per_currency: IntervalEstimate | None
    reason: str | None


@dataclass(frozen=True)
class SystemEfficiency:
    """The mean quality of a system per second of latency.

    Attributes:
        system: its index.
        name: its name.
        measures: measures whose mean is the performance.
        performance: their mean.
        latency: seconds of a query, at the percentile of the frontier.
        efficiency: performance / latency.
    """

    system: int
    name: str
    measures: tuple[str, ...]
    performance: float
    latency: float
    efficiency: float


@dataclass(frozen=True)
class FamilyAtRecall:
    """The latency and memory that a family of systems needs to reach a recall.

    Attributes:
        name: of the family, whose systems differ in search effort alone.
        system: index of the system that reaches it, or comes nearest.
        other: index of the next system, where latency and memory are interpolated; else None.
        reached: its recall.
        latency: seconds of a query; None if unknown.
        memory: bytes; None if unknown.
        how: "at or above", "interpolated" or "not reached".
    """

    name: str
    system: int
    other: int | None
    reached: float
    latency: float | None
    memory: float | None
    how: str


@dataclass(frozen=True)
class RecallMatch:
    """Families of systems at one recall."""

    recall: float
    families: tuple[FamilyAtRecall, ...]


@dataclass(frozen=True)
class ImprovementAdvice:
    """Whether pool or order of a configuration leaves more to gain.

    Attributes:
        sentence: the advice.
        verdict: "widen the pool", "mend the order", "either", "neither" or "unknown".
        point: index of the configuration.
        retrieval_headroom: what its pool lacks.
        ordering_headroom: what the order of its pool loses.
        difference: first - second.
        noise: half the width of the interval of the quality; None without values of queries.
        share: quality / PROC; None where PROC is 0.
        queries: number of queries in the means.
    """

    sentence: str
    verdict: str
    point: int
    retrieval_headroom: IntervalEstimate | None
    ordering_headroom: IntervalEstimate | None
    difference: IntervalEstimate | None
    noise: float | None
    share: float | None
    queries: int


@dataclass(frozen=True)
class PickedPoint:
    """How often the folds of a cross-fit chose a configuration."""

    point: int
    share: float


@dataclass(frozen=True)
class CrossFit:
    """The quality of the chosen configuration on queries that had no part in the choice.

    Attributes:
        value: mean over queries, each evaluated with the configuration that the other folds chose.
        chosen_on_all: mean of the configuration chosen on all queries, over the same queries.
        optimism: selection bias, chosen_on_all - value.
        folds: number of folds.
        repeats: number of random partitions into folds.
        picks: configurations that folds chose, most frequent first.
    """

    value: float
    chosen_on_all: float
    optimism: float
    folds: int
    repeats: int
    picks: tuple[PickedPoint, ...]


@dataclass(frozen=True)
class StepMeasure(MeanInterval):
    """A measure after a step.

    Attributes:
        change: from the step before; None of the first.
        loss: from the first step.
    """

    change: MeanInterval | None
    loss: MeanInterval | None


@dataclass(frozen=True)
class LadderStep:
    """A step from exact float32 search to the served pipeline.

    Attributes:
        name: such as "exact float32", "hnsw" or "reranked".
        spec: of the searched index; None of a stage after the search.
        depth: maximum number of documents of a list.
        recall: share of the exact list that is found; None once another search is fused in.
        quality: mean of the quality, with its interval in `low` and `high`.
        low: lower end.
        high: upper end.
        change: of the quality, from the step before; None of the first.
        measures: all measures.
    """

    name: str
    spec: str | None
    depth: int
    recall: MeanInterval | None
    quality: float | None
    low: float | None
    high: float | None
    change: MeanInterval | None
    measures: Mapping[str, StepMeasure]


@dataclass(frozen=True)
class LossLadder:
    """The losses of a system step by step.

    Attributes:
        name: of the system.
        quality: measure of the steps.
        level: of the intervals.
        steps: from exact search to the last stage.
        notes: what a reader must know of it.
    """

    name: str
    quality: str
    level: float
    steps: tuple[LadderStep, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ExactSearch:
    """The quality of exact search, and its median seconds per query."""

    quality: MeanInterval
    seconds: float


@dataclass(frozen=True)
class TriedGraph:
    """A graph searched with one efSearch.

    Attributes:
        ef_search: number of candidates that the search keeps.
        recall: share of the exact list that is found.
        quality: mean of the quality.
        measures: all measures.
        loss: recall and measure → loss against exact search.
        suffices: whether each loss is within the limit.
        seconds: median seconds per query.
    """

    ef_search: int = field(metadata=json_key("efSearch"))
    recall: MeanInterval
    quality: MeanInterval
    measures: Mapping[str, MeanInterval]
    loss: Mapping[str, IntervalEstimate]
    suffices: bool
    seconds: float


@dataclass(frozen=True)
class TunedGraph:
    """The least efSearch of a graph that loses little of exact search.

    Attributes:
        name: of the system.
        spec: of the index.
        depth: number of documents of a list.
        quality: its measure.
        within: maximum loss.
        by: "bound" or "value": whether the upper end of the loss or the loss itself must be within.
        ef_search: the least one; None where none suffices.
        least: recall and measure → the least one for it.
        exact: exact search.
        storage: recall and measure → loss by the storage alone.
        tried: by increasing efSearch.
        advice: what to change where none suffices.
    """

    name: str
    spec: str
    depth: int
    quality: str
    within: float
    by: str
    ef_search: int | None = field(metadata=json_key("efSearch"))
    least: Mapping[str, int | None]
    exact: ExactSearch
    storage: Mapping[str, IntervalEstimate]
    tried: tuple[TriedGraph, ...]
    advice: str | None


@dataclass(frozen=True)
class GrowthMeasurement:
    """What a pipeline gives on a thinned corpus (corpus_growth.py).

    Attributes:
        share: of the unjudged documents that it has.
        replicate: 0 for the first draw of its share.
        documents: number of its documents.
        quality: mean of the quality, expected over orders of ties.
        cut: share of the queries whose first K documents are a matter of ties.
        recall: of the dense index against exact search; None of exact search.
        bytes: of the indexes.
        seconds: median of a search for one query, without its embedding.
    """

    share: float
    replicate: int
    documents: int
    quality: float
    cut: float
    recall: float | None
    bytes: float
    seconds: float


@dataclass(frozen=True)
class GrownSystem:
    """A pipeline on thinned corpora.

    Attributes:
        name: of the system, without a reranker.
        measure: the quality, at the least K.
        k: number of documents of a context.
        measured: one for each thinned corpus, the smallest first.
    """

    name: str
    measure: str
    k: int = field(metadata=json_key("K"))
    measured: tuple[GrowthMeasurement, ...]


@dataclass(frozen=True)
class GrowthForecast:
    """A quantity of a larger corpus (growth_forecast.py).

    Attributes:
        quantity: "quality", "cut", "recall", "bytes" or "seconds".
        now: its value on the whole corpus.
        law: "logarithm" or "power law".
        documents: of the larger corpus.
        value: forecast.
        low: lower end of its interval.
        high: upper end.
        doubt: why the law is not to be believed beyond what was searched; None where nothing speaks against it.
    """

    quantity: str
    now: float
    law: str
    documents: int
    value: float
    low: float
    high: float
    doubt: str | None


@dataclass(frozen=True)
class SystemGrowth:
    """Forecasts for a pipeline on a larger corpus.

    Attributes:
        name: of the system, without a reranker.
        measure: the quality.
        k: number of documents of a context.
        factor: documents of the larger corpus by those of the one that was searched.
        level: of the intervals.
        forecasts: of each quantity that was measured, the quality first.
        measured: on thinned corpora, the smallest first.
    """

    name: str
    measure: str
    k: int = field(metadata=json_key("K"))
    factor: float
    level: float
    forecasts: tuple[GrowthForecast, ...]
    measured: tuple[GrowthMeasurement, ...]

    def of(self, quantity: str) -> GrowthForecast | None:
        """The forecast of a quantity; None where it was not measured."""
        return next((each for each in self.forecasts if each.quantity == quantity), None)


@dataclass(frozen=True)
class MeasurePrediction:
    """What a measure of lists says of the answers of a generator.

    Attributes:
        measure: with @K where it is taken at each K.
        explained: the share of what differs between answers that it explains (answer_prediction.py).
        agreement: share of pairs of configurations that it orders as the answers to a question, of pairs of different
            answers; None without any.
        behind: share of the best measure minus that of this one; None for the best one.
    """

    measure: str
    explained: IntervalEstimate
    agreement: IntervalEstimate | None
    behind: IntervalEstimate | None


@dataclass(frozen=True)
class GeneratorPrediction:
    """Which measures predict the answers of a generator, the best one first.

    Attributes:
        generator: what differs between it and others, such as its model.
        answers: measure of the answers.
        questions: number of questions.
        pairs: number of questions and configurations.
        measures: those of which every value is known there.
    """

    generator: str
    answers: str
    questions: int
    pairs: int
    measures: tuple[MeasurePrediction, ...]

    @property
    def best(self) -> str | None:
        """The measure that predicts answers better than each other one; None where the questions do not tell."""
        first, *others = self.measures
        sure = first.explained.low is not None and first.explained.low > 0
        apart = all(each.behind is not None and (each.behind.low or 0.0) > 0 for each in others)
        return first.measure if sure and apart else None
