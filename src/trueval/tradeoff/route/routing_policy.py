"""Routing rules: from signals of a query to its escalation, with thresholds learned from observed gains.

    margin, entropy, ...   one signal alone
    either                 any of the joint signals says so: margin, entropy and drop (P-B section 5)
    linear                 the gain predicted from all signals, by ridge regression

Among all thresholds of a rule, the one with the largest sum of gain - charge over the escalated queries of a sample is
chosen, subject to a maximum number of escalations; ties go to the one that escalates fewest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.errors import PolicyError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Number of thresholds per signal that "either" tries jointly, in addition to none.
TRIED: Final = 12
# Ridge penalty in queries: equivalent to this many further queries with signals of one standard deviation and no gain.
RIDGE: Final = 10.0


@dataclass(frozen=True, eq=False)
class Signal:
    """A per-query signal that is available before escalation.

    Args:
        values: [query] values.
        low_is_hard: whether small values indicate a hard query, as for a margin.
        cost: cost of computing it for one query, in the unit of the routing costs; 0 if it is available anyway.
        joint: whether the rule "either" uses it; its thresholds are chosen jointly, which takes 13^signals sums.
    """

    name: str
    values: Floats
    low_is_hard: bool = False
    cost: float = 0.0
    joint: bool = True

    @property
    def need(self) -> Floats:
        """[query] the signal oriented so that harder queries have larger values."""
        values = np.asarray(self.values, dtype=np.float64)
        return -values if self.low_is_hard else values

    def own_threshold(self, need: float) -> float | None:
        """A threshold in the signal's own orientation; None where no query reaches it."""
        return (-need if self.low_is_hard else need) if np.isfinite(need) else None


class RoutingLimit(NamedTuple):
    """The constraint under which thresholds are chosen.

    Attributes:
        budget: maximum share of queries to escalate; None for a price.
        price: quality worth one more unit of cost; None for a budget.
        charge: quality equivalent of an escalation: price x the additional cost of more candidates.
    """

    budget: float | None
    price: float | None
    charge: float

    @classmethod
    def of(cls, budget: float | None, price: float | None, dearer: float) -> RoutingLimit:
        """Validate the constraint.

        Args:
            budget: maximum share of queries to escalate; None for a price.
            price: quality worth one more unit of cost; None for a budget.
            dearer: cost of more candidates - cost of fewer.

        Raises:
            PolicyError: both are given, or neither; or one is out of range.
        """
        if (budget is None) == (price is None):
            raise PolicyError("Routing needs a budget or a price, one of them. Set the other to None.")
        if budget is not None and not 0 <= budget <= 1:
            raise PolicyError(f"budget must be a share of queries from 0 to 1. Got {budget!r}.")
        if price is not None and not 0 <= price < np.inf:
            raise PolicyError(f"price must be a number of at least 0, quality for a unit of cost. Got {price!r}.")
        if dearer < 0:
            raise PolicyError(f"More candidates must not cost less than fewer. Got a difference of {dearer!r}.")
        return cls(budget, price, 0.0 if price is None else price * dearer)

    def most(self, queries: int) -> int:
        """Maximum number of queries that may be escalated."""
        # Guards against rounding: 0.3 x 10 must be 3.
        return queries if self.budget is None else int(self.budget * queries + 1e-9)


class FittedRule(ABC):
    """A rule with learned thresholds."""

    @abstractmethod
    def escalate(self, needs: Floats) -> Bools:
        """[query] whether it is escalated.

        Args:
            needs: [query, signal] signals, larger for harder queries.
        """

    @abstractmethod
    def thresholds(self, signals: Sequence[Signal]) -> dict[str, float | None]:
        """Thresholds by signal name, in the signals' own orientation; None for an unused one."""


@dataclass(frozen=True, eq=False)
class AnyOf(FittedRule):
    """Escalates a query if any signal reaches its threshold.

    Attributes:
        least: [signal] threshold; infinite for an unused signal.
    """

    least: Floats

    def escalate(self, needs: Floats) -> Bools:
        """[query] whether any signal reaches its threshold."""
        return np.asarray((needs >= self.least).any(axis=1))

    def thresholds(self, signals: Sequence[Signal]) -> dict[str, float | None]:
        """Thresholds by name; None for an unused one."""
        used = zip(signals, self.least.tolist(), strict=True)
        return {each.name: each.own_threshold(least) for each, least in used}


@dataclass(frozen=True, eq=False)
class PredictedGainRule(FittedRule):
    """Escalates a query if its predicted gain reaches a threshold.

    Attributes:
        weights: [signal] weights of needs.
        least: smallest predicted gain at which a query is escalated.
    """

    weights: Floats
    constant: float
    least: float

    def gains(self, needs: Floats) -> Floats:
        """[query] predicted gain."""
        found: Floats = needs @ self.weights + self.constant
        return found

    def escalate(self, needs: Floats) -> Bools:
        """[query] whether the predicted gain reaches the threshold."""
        return np.asarray(self.gains(needs) >= self.least)

    def thresholds(self, signals: Sequence[Signal]) -> dict[str, float | None]:
        """Weight of each signal in its own unit, the intercept, and the smallest predicted gain that escalates."""
        used = zip(signals, self.weights.tolist(), strict=True)
        weights = {each.name: -weight if each.low_is_hard else weight for each, weight in used}
        least = self.least if np.isfinite(self.least) else None
        return {**weights, "constant": self.constant, "least predicted gain": least}


class RoutingRule(ABC):
    """A rule that learns its thresholds from queries with known gain."""

    name: str

    def cost(self, signals: Sequence[Signal]) -> float:
        """Cost per query of computing the rule's signals, in the unit of the routing costs.

        Args:
            signals: all signals, in the order of needs.
        """
        return sum(each.cost for each in signals)

    @abstractmethod
    def fit(self, needs: Floats, gains: Floats, limit: RoutingLimit) -> FittedRule:
        """Learn thresholds.

        Args:
            needs: [query, signal] signals, larger for harder queries.
            gains: [query] quality with more candidates - quality with fewer.
            limit: the budget or price.
        """


@dataclass(frozen=True)
class SingleSignalRule(RoutingRule):
    """A rule of one signal."""

    name: str
    place: int

    def cost(self, signals: Sequence[Signal]) -> float:
        """Cost of its signal."""
        return signals[self.place].cost

    def fit(self, needs: Floats, gains: Floats, limit: RoutingLimit) -> AnyOf:
        """Learn its threshold; other signals are ignored."""
        least = np.full(needs.shape[1], np.inf)
        least[self.place] = best_threshold(needs[:, self.place], gains, limit)
        return AnyOf(least)


@dataclass(frozen=True)
class AnySignalRule(RoutingRule):
    """Escalates on any of some signals; thresholds are chosen jointly from quantiles of each.

    Attributes:
        places: of these signals; None for all.
    """

    name: str = "either"
    places: tuple[int, ...] | None = None

    def cost(self, signals: Sequence[Signal]) -> float:
        """Cost of its signals."""
        return sum(signals[place].cost for place in self.places or range(len(signals)))

    def fit(self, needs: Floats, gains: Floats, limit: RoutingLimit) -> AnyOf:
        """Learn the thresholds."""
        places = self.places or tuple(range(needs.shape[1]))
        queries, signals = len(needs), len(places)
        least = np.full(needs.shape[1], np.inf)
        needs, most = needs[:, places], limit.most(queries)
        counts = np.unique(np.linspace(0, most, TRIED + 1).round().astype(int))
        tried = [[_threshold_for_count(needs[:, place], count) for count in counts] for place in range(signals)]
        reached = [np.stack([needs[:, place] >= least for least in tried[place]]) for place in range(signals)]
        choices = np.array(list(product(range(len(counts)), repeat=signals)))
        masks = np.any([reached[place][choices[:, place]] for place in range(signals)], axis=0)
        sizes = masks.sum(axis=1)
        worth = np.where(sizes <= most, masks @ (gains - limit.charge), -np.inf)
        # Sums over the same queries differ in the last bit only if their order does, which it does not here.
        best = np.lexsort((sizes, -worth))[0]
        least[list(places)] = [tried[place][choices[best, place]] for place in range(signals)]
        return AnyOf(least)


@dataclass(frozen=True)
class Linear(RoutingRule):
    """Predicts the gain from all signals by ridge regression on standardized signals."""

    name: str = "linear"

    def fit(self, needs: Floats, gains: Floats, limit: RoutingLimit) -> PredictedGainRule:
        """Learn the weights, then the threshold."""
        middle, spread = needs.mean(axis=0), needs.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        standard = (needs - middle) / spread
        squares = standard.T @ standard + RIDGE * np.eye(needs.shape[1])
        weights = np.linalg.solve(squares, standard.T @ (gains - gains.mean())) / spread
        constant = float(gains.mean() - middle @ weights)
        drafted = PredictedGainRule(weights, constant, np.inf)
        return PredictedGainRule(weights, constant, best_threshold(drafted.gains(needs), gains, limit))


def rules_for(signals: Sequence[Signal]) -> tuple[RoutingRule, ...]:
    """The rules for some signals: "either" and "linear", and with several signals also each alone."""
    alone = tuple(SingleSignalRule(each.name, place) for place, each in enumerate(signals)) if len(signals) > 1 else ()
    joint = tuple(place for place, each in enumerate(signals) if each.joint)
    return (AnySignalRule(places=joint or None), *alone, Linear())


def best_threshold(need: Floats, gains: Floats, limit: RoutingLimit) -> float:
    """The need at or above which queries are escalated.

    The threshold is midway between two queries; -inf escalates all, inf none.

    Args:
        need: [query] signal, larger for harder queries.
        gains: [query] quality gain of escalation.
        limit: the budget or price.

    >>> best_threshold(np.array([3.0, 2.0, 1.0]), np.array([0.5, 0.1, -0.2]), RoutingLimit.of(1.0, None, 50))
    1.5
    >>> best_threshold(np.array([3.0, 2.0, 1.0]), np.array([0.5, 0.1, -0.2]), RoutingLimit.of(0.4, None, 50))
    2.5
    """
    order = np.argsort(-need, kind="stable")
    worth = np.concatenate(([0.0], np.cumsum(gains[order] - limit.charge)))
    ordered = need[order]
    allowed = np.concatenate(([True], ordered[:-1] > ordered[1:], [True]))
    allowed &= np.arange(len(worth)) <= limit.most(len(need))
    count = int(np.argmax(np.where(allowed, worth, -np.inf)))
    return _between(ordered, count)


def _threshold_for_count(need: Floats, count: int) -> float:
    """The threshold that at most this many queries reach, without splitting equal ones."""
    ordered = -np.sort(-need)
    while 0 < count < len(need) and ordered[count - 1] == ordered[count]:
        count -= 1
    return _between(ordered, count)


def _between(ordered: Floats, count: int) -> float:
    """Midpoint between the escalated queries and the others, by descending need."""
    if count in (0, len(ordered)):
        return float(np.inf if count == 0 else -np.inf)
    last, first = float(ordered[count - 1]), float(ordered[count])
    middle = (last + first) / 2
    return middle if middle > first else last  # adjacent float64 values have no midpoint
