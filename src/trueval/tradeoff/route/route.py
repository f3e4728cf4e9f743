"""Routing: choose per query how many candidates the reranker gets, from signals available beforehand.

P-B section 5 advises 50 candidates for most queries and 100 where a signal indicates a hard query: a small cosine
margin at the top of the dense list, or a high entropy of the reranker's scores. Whether that pays depends on the data,
and is estimated here by cross-validation over queries: the thresholds for a query are learned on other queries only,
and routing is compared with always fewer, always more, a random router that escalates as many, and an oracle.

With gain g = quality at more candidates - quality at fewer, and p a query's share of repeats in which it is escalated:

    quality = mean(fewer + p g)       over fewer: mean(p g)      over more: mean((p - 1) g)
    over a random router of the same share of escalations: mean(p g) - mean(p) mean(g), the covariance of p and g

The random router is not simulated: this is its mean over all draws. The intervals resample queries, with p fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError, PolicyError
from trueval.retrieval.pipeline.router import FEATURES, LOGIT, PROBABILITY
from trueval.retrieval.pipeline.router_file import served_settings
from trueval.tradeoff.quality.changes import Bootstrap, MeanEstimate
from trueval.tradeoff.route.route_result import RouterInputs
from trueval.tradeoff.route.routing_policy import RoutingLimit, RoutingRule, Signal, rules_for

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# 1: first version.
FORMAT: Final = 1
# The rule of P-B: escalate on any signal.
DEFAULT: Final = "either"
LEAST: Final = 4
BUDGET: Final = 0.3
FOLDS: Final = 10
REPEATS: Final = 20
CURVE: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class RouterOutcome(NamedTuple):
    """Cost and quality of one router.

    Attributes:
        name: name of the rule; "fewer", "more", "oracle" or "oracle within the budget".
        share: share of the queries that are escalated.
        cost: mean cost per query, in the unit of the costs.
        quality: mean of the measure.
        thresholds: thresholds learned on all queries, for deployment; None for a signal that the rule does not use.
            Empty without a rule.
        over: change in quality from "fewer", "more" and a "random" router with the same share, paired over queries.
    """

    name: str
    share: float
    cost: float
    quality: MeanEstimate
    thresholds: Mapping[str, float | None]
    over: Mapping[str, MeanEstimate]

    @property
    def beats_random(self) -> str:
        """Whether its signals beat random routing: "yes", "no" if they mislead, else "cannot tell"."""
        return _verdict(self.over["random"])

    def to_dict(self) -> dict[str, object]:
        """The JSON form in result files."""
        return {
            "name": self.name,
            "share": self.share,
            "cost": self.cost,
            "quality": self.quality.to_dict(),
            "thresholds": dict(self.thresholds),
            "over": {name: change.to_dict() | {"better": _verdict(change)} for name, change in self.over.items()},
        }


class BudgetPoint(NamedTuple):
    """The default rule at one budget.

    Attributes:
        budget: maximum share of queries to escalate.
        quality: mean of the measure.
        random: mean of a random router with that share.
    """

    budget: float
    share: float
    quality: float
    random: float


@dataclass(frozen=True, eq=False)
class RoutingResult:
    """The gain from choosing the number of candidates per query.

    Attributes:
        depths: smaller and larger number of candidates.
        limit: constraint under which thresholds were chosen.
        left_out: number of queries without a value.
        repeats: number of cross-validations, each with other folds.
        constants: routers that always use fewer, or more, candidates.
        rules: one router per rule, with thresholds from cross-validation.
        oracles: routers that know every gain, without and within the budget.
        curve: the default rule at other budgets.
        inputs: what a router is certified on; None where no pipeline was routed.
    """

    measure: str
    depths: tuple[int, int]
    unit: str
    limit: RoutingLimit
    queries: int
    left_out: int
    folds: int
    repeats: int
    level: float
    constants: tuple[RouterOutcome, RouterOutcome]
    rules: tuple[RouterOutcome, ...]
    oracles: tuple[RouterOutcome, ...]
    curve: tuple[BudgetPoint, ...]
    inputs: RouterInputs | None = None

    def __getitem__(self, rule: str) -> RouterOutcome:
        """The router of this name."""
        return {each.name: each for each in (*self.constants, *self.rules, *self.oracles)}[rule]

    def to_dict(self) -> dict[str, object]:
        """The entry `route` of sweep.json."""
        return {
            "format": FORMAT,
            "measure": self.measure,
            "depths": list(self.depths),
            "unit": self.unit,
            **self.limit._asdict(),
            "queries": self.queries,
            "left_out": self.left_out,
            "folds": self.folds,
            "repeats": self.repeats,
            "level": self.level,
            "rule": DEFAULT,
            "constants": [each.to_dict() for each in self.constants],
            "rules": [each.to_dict() for each in self.rules],
            "oracles": [each.to_dict() for each in self.oracles],
            "curve": [point._asdict() for point in self.curve],
            **({} if self.inputs is None else {"inputs": asdict(self.inputs)}),
        }


def router_inputs(
    values: tuple[Floats, Floats],
    signals: Sequence[Signal],
    top: int,
    *,
    odds: bool,
    settings: Mapping[str, Mapping[str, object]],
) -> RouterInputs:
    """What a router is certified on: the queries that have both values, and the features that scores give.

    Args:
        values: [query] quality with fewer and with more candidates.
        signals: signals; those that need more than scores are left out.
        top: depth of the margin.
        odds: whether the reranker gives probabilities.
        settings: of the pipeline.
    """
    known = ~(np.isnan(values[0]) | np.isnan(values[1]))
    return RouterInputs(
        fewer=tuple(values[0][known].tolist()),
        more=tuple(values[1][known].tolist()),
        features={each.name: tuple(each.values[known].tolist()) for each in signals if each.name in FEATURES},
        top=top,
        scale=PROBABILITY if odds else LOGIT,
        pipeline=served_settings(settings),
    )


def learn_routing(
    fewer: Floats,
    more: Floats,
    signals: Sequence[Signal],
    *,
    rng: np.random.Generator,
    measure: str = "quality",
    depths: tuple[int, int] = (50, 100),
    costs: tuple[float, float] | None = None,
    unit: str = "pairs a query",
    budget: float | None = BUDGET,
    price: float | None = None,
    folds: int = FOLDS,
    repeats: int = REPEATS,
    curve: Sequence[float] = CURVE,
    bootstrap: Bootstrap | None = None,
) -> RoutingResult:
    """Learn thresholds on some queries, route held-out queries by them, and compute cost and quality.

    The default is a budget: thresholds with the best quality while at most this share of queries is escalated. A budget
    is what people usually have (a bill, a mean latency); a price requires the value of a unit of quality, which few can
    state. With a price, thresholds maximize the mean of quality - price x cost.

    Args:
        fewer: [query] quality with fewer candidates; NaN if not available.
        more: [query] quality with more candidates.
        signals: signals of each query that are known before escalation.
        measure: name of the quality.
        depths: smaller and larger number of candidates.
        costs: mean total cost per query with fewer and with more candidates; the depths if None.
        budget: maximum share of queries to escalate, for learning thresholds; None for a price.
        price: quality worth one more unit of cost; None for a budget.
        folds: number of folds, at most one per query.
        curve: further budgets at which to evaluate the default rule.

    Raises:
        InputError: fewer than 4 queries have a value, a signal is not finite, or lengths differ.
        PolicyError: both budget and price are given, or neither; or one is out of range.

    >>> gain, margin = np.array([0.0, 0.4] * 10), np.array([0.9, 0.1] * 10)
    >>> found = learn_routing(
    ...     np.full(20, 0.5), 0.5 + gain, [Signal("margin", margin, low_is_hard=True)],
    ...     rng=np.random.default_rng(0), budget=0.5, repeats=1, curve=(),
    ... )
    >>> found["either"].share, round(found["either"].quality.value, 3), found["either"].beats_random
    (0.5, 0.7, 'yes')
    """
    given = _RoutingData.validate(fewer, more, signals)
    costs = costs or (float(depths[0]), float(depths[1]))
    limit = RoutingLimit.of(budget, price, costs[1] - costs[0])
    priced = _RouteCosts(given, costs, bootstrap or Bootstrap())
    parts = partitions(len(given.gains), folds, repeats, rng)
    routers = tuple(
        priced.router(
            rule.name,
            escalation_shares(rule, given.needs, given.gains, limit, parts),
            _thresholds(rule, given, limit),
            rule.cost(signals),
        )
        for rule in rules_for(signals)
    )
    return RoutingResult(
        measure,
        depths,
        unit,
        limit,
        len(given.gains),
        len(fewer) - len(given.gains),
        len(parts[0]),
        repeats,
        priced.bootstrap.level,
        (priced.router("fewer", np.zeros(len(given.gains))), priced.router("more", np.ones(len(given.gains)))),
        routers,
        _oracles(priced, limit),
        tuple(priced.point(each, parts) for each in curve),
    )


def partitions(queries: int, folds: int, repeats: int, rng: np.random.Generator) -> list[list[Ints]]:
    """Repeated random partitions of the queries.

    Args:
        folds: number of folds, at most one per query.
        repeats: divisions.

    Returns:
        [repeat] → [fold] → places of queries.

    Raises:
        PolicyError: fewer than two folds, or no repeat.
    """
    if folds < 2 or repeats < 1:
        raise PolicyError(f"folds must be an integer >= 2, and repeats an integer >= 1. Got {folds!r} and {repeats!r}.")
    return [np.array_split(rng.permutation(queries), min(folds, queries)) for _ in range(repeats)]


def escalation_shares(
    rule: RoutingRule, needs: Floats, gains: Floats, limit: RoutingLimit, parts: Sequence[Sequence[Ints]]
) -> Floats:
    """[query] share of the repeats that escalate it, with thresholds learned on the other folds.

    Args:
        needs: [query, signal] signals, larger for harder queries.
        gains: [query] quality gain of escalation.
        limit: constraint under which thresholds are chosen.
        parts: partitions from `partitions`.
    """
    times = np.zeros(len(gains))
    for folds in parts:
        for fold in folds:
            others = np.ones(len(gains), dtype=bool)
            others[fold] = False
            times[fold] += rule.fit(needs[others], gains[others], limit).escalate(needs[fold])
    shares: Floats = times / len(parts)
    return shares


class _RoutingData(NamedTuple):
    """The data of the queries that have a value.

    Attributes:
        fewer: [query] quality with fewer candidates.
        gains: [query] quality gain of more candidates.
        needs: [query, signal] signals, larger for harder queries.
    """

    fewer: Floats
    gains: Floats
    needs: Floats
    signals: Sequence[Signal]

    @classmethod
    def validate(cls, fewer: Floats, more: Floats, signals: Sequence[Signal]) -> _RoutingData:
        low, high = np.asarray(fewer, dtype=np.float64), np.asarray(more, dtype=np.float64)
        names = [each.name for each in signals]
        if not names or len(set(names)) < len(names):
            raise InputError(f"Routing needs one or more signals of different names. Got {', '.join(names) or 'none'}.")
        sizes = {"fewer": len(low), "more": len(high), **{each.name: len(each.values) for each in signals}}
        if len(set(sizes.values())) > 1:
            told = ", ".join(f"{name} {size}" for name, size in sizes.items())
            raise InputError(f"Qualities and signals must be of the same queries. Got {told}.")
        known = ~(np.isnan(low) | np.isnan(high))
        needs = np.stack([each.need for each in signals], axis=1)[known]
        broken = [name for name, column in zip(names, needs.T, strict=True) if not np.isfinite(column).all()]
        if broken:
            raise InputError(
                f"Signal {broken[0]} is not finite for every query. Leave such queries out, or give it a value."
            )
        if len(needs) < LEAST:
            raise InputError(
                f"Routing needs {LEAST} queries with a value, to choose on some and route others. Got {len(needs)}."
            )
        return cls(low[known], (high - low)[known], needs, signals)


class _RouteCosts(NamedTuple):
    """Computes cost and quality from escalation shares.

    Attributes:
        given: the queries.
        costs: mean cost per query with fewer and with more candidates.
    """

    given: _RoutingData
    costs: tuple[float, float]
    bootstrap: Bootstrap

    def router(
        self, name: str, shares: Floats, thresholds: Mapping[str, float | None] | None = None, signals: float = 0.0
    ) -> RouterOutcome:
        """Cost and quality of one router.

        Args:
            shares: [query] share of repeats in which it is escalated.
            signals: cost per query of the signals that the rule uses.
        """
        gains, nothing = self.given.gains, np.zeros(len(shares))
        share = float(shares.mean())
        over = {
            "fewer": self.bootstrap.mean(shares * gains),
            "more": self.bootstrap.change(shares * gains, gains),
            # The mean is the covariance; the other terms of a resampled covariance are of order 1 / queries.
            "random": self.bootstrap.change((shares - share) * (gains - gains.mean()), nothing),
        }
        quality = self.bootstrap.mean(self.given.fewer + shares * gains)
        cost = self.costs[0] + share * (self.costs[1] - self.costs[0]) + signals
        return RouterOutcome(name, share, cost, quality, thresholds or {}, over)

    def point(self, budget: float, parts: Sequence[Sequence[Ints]]) -> BudgetPoint:
        """The default rule at another budget."""
        given = self.given
        rule, limit = rules_for(given.signals)[0], RoutingLimit.of(budget, None, 0.0)
        shares = escalation_shares(rule, given.needs, given.gains, limit, parts)
        fewer, share = float(given.fewer.mean()), float(shares.mean())
        quality = fewer + float((shares * given.gains).mean())
        return BudgetPoint(budget, share, quality, fewer + share * float(given.gains.mean()))


def _thresholds(rule: RoutingRule, given: _RoutingData, limit: RoutingLimit) -> dict[str, float | None]:
    """The thresholds learned on all queries: the ones to deploy."""
    return rule.fit(given.needs, given.gains, limit).thresholds(given.signals)


def _oracles(priced: _RouteCosts, limit: RoutingLimit) -> tuple[RouterOutcome, ...]:
    """Oracles that know every gain: one escalates each gain above the charge, one the largest within the budget."""
    gains = priced.given.gains
    worth = gains > limit.charge
    free = priced.router("oracle", worth.astype(np.float64))
    if limit.budget is None:
        return (free,)
    order = np.argsort(-gains, kind="stable")[: limit.most(len(gains))]
    within = np.zeros(len(gains))
    within[order] = worth[order]
    return free, priced.router("oracle within the budget", within)


def _verdict(change: MeanEstimate) -> str:
    if change.low > 0:
        return "yes"
    return "no" if change.high < 0 else "cannot tell"
