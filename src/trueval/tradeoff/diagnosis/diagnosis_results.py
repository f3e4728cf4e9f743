"""What the diagnoses of a frontier found, in the form of its JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

from trueval.report.json_fields import renamed
from trueval.tradeoff.quality.interval_estimate import IntervalEstimate


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
    begin: float = field(metadata=renamed("from"))
    end: float = field(metadata=renamed("to"))
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
