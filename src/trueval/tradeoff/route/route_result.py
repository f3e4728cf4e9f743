"""The entry `route` of sweep.json: what choosing the depth of the reranker query by query gains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trueval.report.json_fields import OMITTED
from trueval.tradeoff.quality.result_parts import MeanInterval


@dataclass(frozen=True)
class RoutedChange(MeanInterval):
    """A change of the quality, paired over queries; `better` is "yes", "no" or "cannot tell"."""

    better: str


@dataclass(frozen=True)
class RoutedRule:
    """A way to choose the depth of each query.

    Attributes:
        name: of the rule; "fewer", "more", "oracle" or "oracle within the budget".
        share: share of the queries that are escalated to the larger depth.
        cost: mean cost of a query, in the unit of the costs.
        quality: mean of the measure.
        thresholds: learned on all queries; None for a signal that the rule does not use.
        over: "fewer", "more" and "random", a router with the same share → change of the quality against it.
    """

    name: str
    share: float
    cost: float
    quality: MeanInterval
    thresholds: Mapping[str, float | None]
    over: Mapping[str, RoutedChange]


@dataclass(frozen=True)
class RoutedBudget:
    """The default rule at a budget.

    Attributes:
        budget: maximum share of queries to escalate.
        share: share of the queries that it escalates.
        quality: mean of the measure.
        random: mean of a random router with that share.
    """

    budget: float
    share: float
    quality: float
    random: float


@dataclass(frozen=True)
class RouterInputs:
    """What a router is certified on, query by query.

    Attributes:
        fewer: [query] quality with fewer candidates.
        more: [query] quality with more candidates.
        features: feature → [query] value.
        top: rank of the second score of the margin.
        scale: of the reranker's scores, "probability" or "logit".
        pipeline: "table.key" → value, of the settings that decide the scores.
    """

    fewer: tuple[float, ...]
    more: tuple[float, ...]
    features: Mapping[str, tuple[float, ...]]
    top: int
    scale: str
    pipeline: Mapping[str, object]


@dataclass(frozen=True)
class RoutedSystem:
    """The gain from choosing the depth of each query.

    Attributes:
        name: of the system.
        format: of this entry.
        measure: the quality.
        depths: smaller and larger number of candidates.
        unit: of the costs.
        budget: maximum share of queries to escalate; None for a price.
        price: quality worth one more unit of cost; None for a budget.
        charge: quality that an escalation must gain.
        queries: number of queries.
        left_out: number of queries without a value.
        folds: of the cross-validation.
        repeats: number of cross-validations.
        level: of the intervals.
        rule: name of the default rule.
        constants: always the smaller, and always the larger depth.
        rules: with thresholds from cross-validation.
        oracles: that know the gain of every query.
        curve: the default rule at other budgets.
        inputs: what a router is certified on; None in sweeps of earlier versions.
    """

    name: str
    format: int
    measure: str
    depths: tuple[int, int]
    unit: str
    budget: float | None
    price: float | None
    charge: float
    queries: int
    left_out: int
    folds: int
    repeats: int
    level: float
    rule: str
    constants: tuple[RoutedRule, ...]
    rules: tuple[RoutedRule, ...]
    oracles: tuple[RoutedRule, ...]
    curve: tuple[RoutedBudget, ...]
    inputs: RouterInputs | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class CertifiedRouter:
    """A router with its certificate: what `trueval frontier --route` writes.

    Attributes:
        system: name of the routed system.
        measure: the quality.
        rule: its name: a feature, or "linear".
        depths: smaller and larger number of candidates.
        weights: feature → weight.
        constant: added to the weighted features.
        threshold: least need of a hard query; None where none is.
        top: rank of the second score of the margin.
        scale: of the reranker's scores.
        method: "conformal risk control" or "learn then test".
        epsilon: loss that is promised not to be exceeded.
        level: of Learn then Test; None for a promise in expectation.
        queries: number of queries that it was certified on.
        chosen_on: number of other queries that the rule was chosen on.
        least_epsilon: least epsilon that this number allows.
        loss: mean positive part of the loss against always more, over the certified queries, as all below.
        net: mean loss, with what fewer candidates gain subtracted.
        share: share of queries with more candidates.
        cost: mean cost of a query.
        unit: of the cost.
        saved: share of the cost of always more that is saved.
        quality: mean of the measure.
        over: "fewer", "more" and "random" → change of the quality against it.
        seed: of the division into halves.
        needs: [query] need.
    """

    system: str
    measure: str
    rule: str
    depths: tuple[int, int]
    weights: Mapping[str, float]
    constant: float
    threshold: float | None
    top: int
    scale: str
    method: str
    epsilon: float
    level: float | None
    queries: int
    chosen_on: int
    least_epsilon: float
    loss: float
    net: float
    share: float
    cost: float
    unit: str
    saved: float
    quality: MeanInterval
    over: Mapping[str, RoutedChange]
    seed: int
    needs: tuple[float, ...]
