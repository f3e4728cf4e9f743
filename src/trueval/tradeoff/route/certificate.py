"""Certificates of routers: a promise that choosing fewer candidates loses little.

A rule escalates a query if its need reaches a threshold τ. Its loss against always more candidates, with gain
g = quality at more - quality at fewer, is l(τ) = max(g, 0) where it does not escalate, else 0: in [0, B], and falling
as τ falls. B = 1, the range of the measure.

    conformal risk control   the greatest τ with (n R̂(τ) + B) / (n + 1) <= ε, R̂ the mean loss over n queries: the
                             expected loss on a new query is at most ε, for any law of scores and qualities, if queries
                             are exchangeable (Angelopoulos, Bates, Fisch, Lei & Schuster, "Conformal Risk Control",
                             ICLR 2024, Theorem 1). In expectation over the certified queries too: single certificates
                             may exceed ε. The least ε is B / (n + 1).
    Learn then Test          thresholds from -inf up are tested in this order until the first is not significant, by the
                             p-value of Hoeffding and Bentkus: with probability `level` over the certified queries, the
                             loss on new ones is at most ε (Angelopoulos, Bates, Candès, Jordan & Lei 2021, "Learn then
                             Test"; Bates et al. 2021, "Distribution-free, risk-controlling prediction sets").

The rule, one feature or the gain that ridge regression predicts from several, is chosen on one half of the queries: the
one that escalates fewest at the threshold that conformal risk control finds there. The other half certifies it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from trueval.errors import InputError, PolicyError
from trueval.retrieval.pipeline.router import FEATURES, Router, check_features
from trueval.standings.standings import Floats, Ints
from trueval.tradeoff.quality.changes import Bootstrap, MeanEstimate
from trueval.tradeoff.quality.result_parts import MeanInterval
from trueval.tradeoff.route.route_result import CertifiedRouter, RoutedChange, RoutedSystem, RouterInputs
from trueval.tradeoff.route.routing_policy import Linear, RoutingLimit

EPSILON: Final = 0.02
# Largest loss: measures lie between 0 and 1.
BOUND: Final = 1.0
CONFORMAL, TESTED = "conformal risk control", "learn then test"
LINEAR: Final = "linear"
# Features whose small values mark a hard query.
LOW_IS_HARD: Final = ("margin", "gap", "nqc")


class Need(NamedTuple):
    """A rule without its threshold: need = constant + sum of weight x feature."""

    name: str
    weights: Mapping[str, float]
    constant: float = 0.0

    def values(self, features: Mapping[str, Floats]) -> Floats:
        """[query] need, added up in the order in which `Router` does."""
        found = np.full(len(next(iter(features.values()))), self.constant)
        for name, weight in self.weights.items():
            found = found + weight * features[name]
        return found


@dataclass(frozen=True)
class RouterChoice:
    """The promise of a router, and what it may read.

    Args:
        epsilon: largest loss against always more candidates.
        level: probability of the promise, by Learn then Test; None for conformal risk control.
        features: features that the rule may read.

    Raises:
        PolicyError: one is out of range.
    """

    epsilon: float = EPSILON
    level: float | None = None
    features: Sequence[str] = FEATURES

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < BOUND:
            raise PolicyError(f"epsilon must be a loss between 0 and 1. Got {self.epsilon!r}.")
        check_features(self.features)
        if self.level is not None and not 0 < self.level < 1:
            raise PolicyError(f"level must be a number between 0 and 1. Got {self.level!r}.")

    @property
    def queries(self) -> int:
        """Least number of certified queries that allow this promise, with no loss at all.

        >>> RouterChoice(0.05).queries, RouterChoice(0.05, 0.9).queries
        (19, 45)
        """
        if self.level is None:
            return math.ceil(BOUND / self.epsilon - 1 - 1e-9)
        return math.ceil(math.log1p(-self.level) / math.log1p(-self.epsilon / BOUND) - 1e-9)

    def least(self, queries: int) -> float:
        """Least epsilon that this many certified queries allow.

        >>> round(RouterChoice(0.05).least(25), 4)
        0.0385
        """
        if self.level is None:
            return BOUND / (queries + 1)
        return float(-math.expm1(math.log1p(-self.level) / queries)) * BOUND

    def threshold(self, needs: Floats, losses: Floats) -> float | None:
        """The greatest threshold that keeps the promise; inf where no query need be escalated, None where none does.

        Args:
            needs: [query] need.
            losses: [query] loss if it is not escalated, from 0 to 1.

        >>> RouterChoice(0.5).threshold(np.array([3.0, 2.0, 1.0]), np.array([1.0, 0.0, 0.0]))
        inf
        >>> RouterChoice(0.4).threshold(np.array([3.0, 2.0, 1.0]), np.array([1.0, 0.0, 0.0]))
        3.0
        """
        queries = len(needs)
        order = np.argsort(needs, kind="stable")
        ordered, total = needs[order], np.concatenate(([0.0], np.cumsum(losses[order])))
        # At threshold ordered[i] those below it are not escalated: of equal needs, all or none.
        first = np.concatenate(([True], ordered[1:] > ordered[:-1], [True]))
        counts = np.flatnonzero(first)
        kept = self._keeps_promise(total[counts], queries)
        if not kept[0]:
            return None
        last = int(counts[len(kept) - 1 if kept.all() else int(np.argmin(kept)) - 1])
        return float(ordered[last]) if last < queries else math.inf

    def _keeps_promise(self, sums: Floats, queries: int) -> Any:
        """[threshold, ascending] whether the promise holds for a sum of losses."""
        if self.level is None:
            return (sums + BOUND) / (queries + 1) <= self.epsilon * (1 + 1e-12)
        return np.array([p_value(each / queries, self.epsilon, queries) <= 1 - self.level for each in sums.tolist()])


def p_value(risk: float, epsilon: float, queries: int) -> float:
    """The p-value of Hoeffding and Bentkus for the hypothesis that the mean of losses in [0, 1] is above epsilon.

    min(exp(-n h(min(R̂, ε), ε)), e P(Bin(n, ε) <= ⌈n R̂⌉)), h the relative entropy of two coins.

    >>> round(p_value(0.0, 0.05, 45), 4)
    0.0994
    """
    from scipy.stats import binom

    at = min(risk, epsilon)
    entropy = (at * math.log(at / epsilon) if at else 0.0) + (1 - at) * math.log((1 - at) / (1 - epsilon))
    bentkus = math.e * float(binom.cdf(math.ceil(queries * risk - 1e-9), queries, epsilon))
    return min(math.exp(-queries * entropy), bentkus)


def certify(
    route: RoutedSystem,
    limit: RouterChoice | None = None,
    *,
    seed: int = 0,
    bootstrap: Bootstrap | None = None,
) -> CertifiedRouter:
    """Choose a rule on one half of the queries and certify its threshold on the other.

    Args:
        route: the routing of a sweep.
        limit: the promise; a loss of .02 in expectation by default.
        seed: of the division into halves.
        bootstrap: of the intervals.

    Raises:
        InputError: the sweep keeps no features of its queries, or its measure is not between 0 and 1.
        PolicyError: there are too few queries for this promise; it says how many it takes.
    """
    limit, bootstrap = limit or RouterChoice(), bootstrap or Bootstrap(route.level, seed=seed)
    if route.inputs is None:
        raise InputError("This sweep keeps no features of its queries. Run the same trueval sweep again.")
    names = [name for name in limit.features if name in route.inputs.features]
    given = RouterData.of(route.inputs, names, route.measure)
    chosen_on, certified_on = halves(len(given.gains), seed)
    if limit.least(len(certified_on)) > limit.epsilon * (1 + 1e-12):
        least = math.ceil(limit.least(len(certified_on)) * 1e4) / 1e4
        raise PolicyError(
            f"A loss of at most {limit.epsilon:g} takes {2 * limit.queries} queries, half of them to certify on, and "
            f"this sweep has {len(given.gains)}: ask for --epsilon {least:g} or more, or judge more queries."
        )
    need = choose_need(given.take(chosen_on), limit)
    on = given.take(certified_on)
    needs = need.values(on.features)
    threshold = limit.threshold(needs, on.losses)
    if threshold is None:  # `least` excludes it
        raise PolicyError("No threshold keeps the promise. Ask for a larger --epsilon.")
    more = needs >= threshold
    return _certify(route, need, limit, threshold, on, more, needs, len(chosen_on), seed, bootstrap)


class RouterData(NamedTuple):
    """What a router is certified on.

    Attributes:
        fewer: [query] quality with fewer candidates.
        gains: [query] quality with more candidates - quality with fewer.
        features: feature → [query] value.
    """

    fewer: Floats
    gains: Floats
    features: Mapping[str, Floats]

    @classmethod
    def of(cls, inputs: RouterInputs, names: Sequence[str], measure: str) -> RouterData:
        """The arrays of a sweep.

        Raises:
            InputError: none of the features is there, or a quality is outside 0 and 1.
        """
        fewer, more = np.array(inputs.fewer), np.array(inputs.more)
        if not names:
            raise InputError(f"This sweep has none of these features. It has {', '.join(inputs.features)}.")
        if not (np.all((fewer >= 0) & (fewer <= 1)) and np.all((more >= 0) & (more <= 1))):
            raise InputError(f"A certificate needs a measure between 0 and 1, and {measure} is not. Sweep by another.")
        return cls(fewer, more - fewer, {name: np.array(inputs.features[name]) for name in names})

    @property
    def losses(self) -> Floats:
        """[query] loss against more candidates where it is not escalated."""
        return np.maximum(self.gains, 0.0)

    def take(self, places: Ints) -> RouterData:
        """Some of the queries."""
        own = {name: values[places] for name, values in self.features.items()}
        return RouterData(self.fewer[places], self.gains[places], own)


def halves(queries: int, seed: int) -> tuple[Ints, Ints]:
    """Two random halves of the queries, to choose on and to certify on; the second has the odd one."""
    order = np.random.default_rng(seed).permutation(queries)
    return order[: queries // 2], order[queries // 2 :]


def choose_need(given: RouterData, limit: RouterChoice) -> Need:
    """The rule that escalates fewest of these queries at the threshold that conformal risk control finds on them.

    Where they are too few for the promise, the threshold is that of the least promise they allow.
    """
    rules = [Need(name, {name: -1.0 if name in LOW_IS_HARD else 1.0}) for name in given.features]
    if len(given.features) > 1:
        columns = np.stack(list(given.features.values()), axis=1)
        fitted = Linear().fit(columns, given.gains, RoutingLimit.of(1.0, None, 0.0))
        rules.append(Need(LINEAR, dict(zip(given.features, fitted.weights.tolist(), strict=True)), fitted.constant))
    here = RouterChoice(max(limit.epsilon, min(BOUND / (len(given.gains) + 1) * (1 + 1e-9), 0.999)))

    def share(need: Need) -> float:
        needs = need.values(given.features)
        threshold = here.threshold(needs, given.losses)
        return 1.0 if threshold is None else float((needs >= threshold).mean())

    return min(rules, key=share)


def _certify(
    route: RoutedSystem,
    need: Need,
    limit: RouterChoice,
    threshold: float,
    on: RouterData,
    more: Any,
    needs: Floats,
    chosen_on: int,
    seed: int,
    bootstrap: Bootstrap,
) -> CertifiedRouter:
    share, gains = float(more.mean()), on.gains
    routed = on.fewer + more * gains
    over = {
        "fewer": bootstrap.mean(more * gains),
        "more": bootstrap.mean((more - 1.0) * gains),
        "random": bootstrap.mean((more - share) * (gains - gains.mean())),
    }
    always = route.constants
    cost = always[0].cost + share * (always[1].cost - always[0].cost)
    return CertifiedRouter(
        system=route.name,
        measure=route.measure,
        rule=need.name,
        depths=route.depths,
        weights=need.weights,
        constant=need.constant,
        threshold=threshold if math.isfinite(threshold) else None,
        top=route.inputs.top if route.inputs else 0,
        scale=route.inputs.scale if route.inputs else "",
        method=CONFORMAL if limit.level is None else TESTED,
        epsilon=limit.epsilon,
        level=limit.level,
        queries=len(gains),
        chosen_on=chosen_on,
        least_epsilon=limit.least(len(gains)),
        loss=float(np.where(more, 0.0, on.losses).mean()),
        net=float(np.where(more, 0.0, gains).mean()),
        share=share,
        cost=cost,
        unit=route.unit,
        saved=1.0 - (cost / always[1].cost if always[1].cost else 1.0),
        quality=MeanInterval(*bootstrap.mean(routed)),
        over={name: RoutedChange(*change, _verdict(change)) for name, change in over.items()},
        seed=seed,
        needs=tuple(needs.tolist()),
    )


def _verdict(change: MeanEstimate) -> str:
    if change.low > 0:
        return "yes"
    return "no" if change.high < 0 else "cannot tell"


def router_of(found: CertifiedRouter) -> Router:
    """The router that serves a certificate."""
    threshold = math.inf if found.threshold is None else found.threshold
    return Router(*found.depths, threshold, found.weights, found.constant, found.top, found.scale)


def router_tables(found: CertifiedRouter, route: RoutedSystem, sweep: Mapping[str, object]) -> dict[str, object]:
    """The tables of router.toml.

    Args:
        sweep: name and SHA-256 of the sweep.
    """
    router = router_of(found)
    return {
        "format": 1,
        "router": {
            "rule": found.rule,
            "fewer": router.fewer,
            "more": router.more,
            "threshold": router.threshold,
            "constant": router.constant,
            "top": router.top,
            "scale": router.scale,
        },
        "weights": dict(router.weights),
        "certificate": {
            name: getattr(found, name)
            for name in (
                "measure",
                "method",
                "epsilon",
                "level",
                "queries",
                "chosen_on",
                "loss",
                "net",
                "share",
                "seed",
            )
        }
        | {"needs": list(found.needs)},
        "sweep": {**sweep, "system": found.system},
        "pipeline": dict(route.inputs.pipeline) if route.inputs else {},
    }
