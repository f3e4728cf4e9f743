"""The result of a prediction: how well what a probe says of queries correlates with what they lose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from trueval.report.result import Result


@dataclass(frozen=True)
class CorrelationEntry:
    """A rank correlation with its interval; NaN where undefined."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SignalEntry:
    """A signal of one model under one condition, as `trueval.probes.prediction.SignalCorrelation`.

    Attributes:
        spearman: Spearman's correlation; NaN where undefined.
        low: lower end of its interval.
        high: upper end of its interval.
        queries: number of queries with signal and loss.
        reason: why a value or an interval is missing; None if none is.
        lost: share of the queries whose value fell.
        gained: share of the queries whose value rose.
        danger: mean of the signal.
        loss: mean of the loss.
    """

    name: str
    condition: str
    signal: str
    measure: str
    spearman: float
    low: float
    high: float
    kendall: CorrelationEntry
    queries: int
    reason: str | None
    lost: float
    gained: float
    danger: float
    loss: float


@dataclass(frozen=True)
class PooledEntry:
    """A signal over models and conditions, as `trueval.probes.prediction.PooledCorrelation`.

    Attributes:
        condition: "all", or one condition.
        models: names of the models.
        strata: number of pairs of a model and a condition in which both vary.
        of_strata: number of all pairs.
        spearman, low, high, kendall, queries, reason: as in `SignalEntry`.
        across: with all ranks in one list.
    """

    condition: str
    signal: str
    measure: str
    models: tuple[str, ...]
    strata: int
    of_strata: int
    spearman: float
    low: float
    high: float
    kendall: CorrelationEntry
    queries: int
    reason: str | None
    across: CorrelationEntry


@dataclass(frozen=True)
class ModelOrder:
    """Whether a probe ranks models by their loss.

    Attributes:
        condition: "all", or one condition.
        models: number of models.
        tau: Kendall's tau-b of the models' means; NaN if one of the two is constant.
        p: share of all orders of the models with at least this |tau|; NaN where there are too many to enumerate, or
            without tau.
        told: the conclusion in one sentence.
    """

    condition: str
    signal: str
    measure: str
    models: int
    tau: float
    p: float
    told: str


@dataclass(frozen=True)
class JoinedCollection:
    """The collection: documents, queries that were asked, and hashes of what was read by name."""

    name: str
    source: str
    documents: int
    queries: int
    sha256: Mapping[str, str]


@dataclass(frozen=True)
class JoinedSystem:
    """A system that searched.

    Attributes:
        signals: that apply to it.
        margin_of: stage whose scores the margin is of.
        clean: measure → mean of the queries as they are.
    """

    name: str
    signals: tuple[str, ...]
    margin_of: str
    clean: Mapping[str, float | None]


@dataclass(frozen=True)
class JoinedCondition:
    """A change of the queries: what it does, and the number of queries that it changes."""

    name: str
    about: str
    changed: int


@dataclass(frozen=True, repr=False)
class PredictionSummary(Result):
    """The JSON of `trueval probe join`.

    Attributes:
        collection: its documents and queries.
        policy: every choice that changes a value.
        measures: text forms of the measures of the loss.
        k: documents that the overlap compares.
        systems: systems that searched.
        conditions: changes of the queries.
        queries: number of queries.
        level: of all intervals.
        resamples: of queries.
        seed: of everything random.
        models: one per system, condition, signal and measure.
        pooled: one per signal and measure, over all conditions and for each.
        orders: whether each signal orders the systems by their losses.
        notes: one line per thing a reader must know.
    """

    KIND: ClassVar = "probe-prediction"
    FORMAT: ClassVar = 1  # first version

    collection: JoinedCollection
    policy: Mapping[str, object]
    measures: tuple[str, ...]
    k: int
    systems: tuple[JoinedSystem, ...]
    conditions: tuple[JoinedCondition, ...]
    queries: int
    level: float
    resamples: int
    seed: int
    models: tuple[SignalEntry, ...]
    pooled: tuple[PooledEntry, ...]
    orders: tuple[ModelOrder, ...]
    notes: tuple[str, ...]
