"""The entry `route` of sweep.json: what choosing the depth of the reranker query by query gains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
