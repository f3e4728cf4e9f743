"""Rules that choose a configuration: under a latency limit, a budget, or a quality target (P-B section 3.3).

    latency-bound   max quality such that latency <= limit
    cost-bound      max quality such that cost <= limit
    quality-bound   min latency, and min cost, such that quality >= target
    all limits      max quality inside all limits that are given

A configuration is within the limits if its measured values are, and so are those of a share of plain resamples of
queries and times, half of them by default. One with an unknown limited quantity is outside. The choice is on the
frontier of the configurations within the limits: none of these dominates it, under the same latency ties as on the full
frontier.

Latencies tie as `jitter.separated` or a band says, costs where they are equal, qualities where less than a share of
plain resamples, .95, prefers the best one. Among those that tie with the best one the smallest prompt is chosen, as in
P-B, with prompts up to 5 % larger counted as equal; then the value itself, cost, latency, and the order of the sweep
decide. Where they are equally good in every resample and costs count prompts, cost decides before the prompt. Where the
value itself decides a tie, and more than half of the resamples prefer the next one, that one is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.limits import rounding_tolerance
from trueval.standings.standings import Bools, Floats
from trueval.tradeoff.quality.panels import Panel
from trueval.tradeoff.quality.pareto import PARETO, Objectives, on_frontier

QUALITY: Final = "quality"
LATENCY: Final = "latency"
COST: Final = "cost"
SMALLER_PROMPT: Final = "smaller prompt"
MOST_RESAMPLES: Final = "most resamples"
ORDER: Final = "order"
# Prompts up to this multiple of the smallest count as equal, since token counts of the same number of contexts differ a
# little.
SAME_PROMPT: Final = 1.05
LOWER: Final = {LATENCY: "lower latency", COST: "lower cost", QUALITY: "higher quality"}


class RuleLimits(NamedTuple):
    """The limits of a rule; None if there is no limit.

    Attributes:
        latency: maximum seconds.
        cost: maximum cost of 1,000 queries.
        quality: minimum quality.
        measure: measure of the quality limit; None for the quality of the sweep.
    """

    latency: float | None = None
    cost: float | None = None
    quality: float | None = None
    measure: str | None = None


class Target(NamedTuple):
    """A measure other than the main quality, for a quality limit.

    Attributes:
        values: [configuration] measured values; NaN where missing.
        draws: [configuration, resample] plain resamples of the queries that have the quality.
    """

    values: Floats
    draws: Floats


class RuleInputs(NamedTuple):
    """The inputs of the rules.

    Attributes:
        points: [configuration] measured values.
        draws: plain resamples: cost [configuration], latency and quality [configuration, resample]; None without any.
        prompt: [configuration] prompt size in tokens or contexts; NaN if unknown.
        apart: [configuration, configuration] whether two latencies differ; None if all do.
        target: the measure of a quality limit, where it is not the main quality.
        rule: "pareto" or "paper", the definition of the frontier.
        level: share of resamples at which one quality is separated from another.
        sure: minimum share of resamples in which the answer is within the limits.
        paid: whether costs count prompts.
    """

    points: Objectives
    draws: Objectives | None
    prompt: Floats
    apart: Bools | None = None
    target: Target | None = None
    rule: str = PARETO
    level: float = 0.95
    sure: float = 0.5
    paid: bool = False


class RuleChoice(NamedTuple):
    """The choice of a rule.

    Attributes:
        seeks: objective: "quality", "latency" or "cost".
        feasible: [configuration] whether it is within the limits with the required share of resamples.
        answer: index of the chosen configuration; None if none is feasible.
        runner_up: the best of the other configurations on the frontier of the feasible ones, by the objective; None if
            there is none.
        better: share of resamples in which the answer is better than the runner-up, ties counted half; None without
            resamples or runner-up, for costs, and where another criterion decided a tie.
        feasible_chance: share of resamples in which the answer is within the limits; without an answer, that of
            `surest`; None without resamples or limits.
        surest: the configuration within the limits by its measured values that is most often within them, where none is
            feasible.
        within_noise: indices of the configurations tied with the best one.
        best: index of the best configuration by measured values.
        decided_by: criterion that ranked the answer first.
        k: K of the compared configurations; None if configurations of every K are compared.
    """

    rule: str
    seeks: str
    limits: RuleLimits
    feasible: Bools
    answer: int | None = None
    runner_up: int | None = None
    better: float | None = None
    feasible_chance: float | None = None
    surest: int | None = None
    within_noise: tuple[int, ...] = ()
    best: int | None = None
    decided_by: str | None = None
    k: int | None = None


def apply_rules(known: RuleInputs, limits: RuleLimits, panels: Sequence[Panel] | None = None) -> Iterator[RuleChoice]:
    """Apply every rule whose limit is given, several limits also jointly, and the best quality without limits.

    Args:
        panels: groups of configurations, each with its own answer to a rule; None to compare all.
    """
    equal = None if known.draws is None else known.draws.merged
    known = known._replace(points=known.points.merged, draws=equal)
    for rule, seeks, own in _list_rules(known, limits):
        for panel in panels or (None,):
            yield choose(known, rule, seeks, own, panel)


def _list_rules(known: RuleInputs, limits: RuleLimits) -> Iterator[tuple[str, str, RuleLimits]]:
    """Name, objective and limits of each rule."""
    if limits.latency is not None:
        yield "latency-bound", QUALITY, RuleLimits(latency=limits.latency)
    if limits.cost is not None:
        yield "cost-bound", QUALITY, RuleLimits(cost=limits.cost)
    if limits.quality is not None:
        for seeks in (LATENCY, COST):
            if seeks in known.points.known:
                yield "quality-bound", seeks, RuleLimits(quality=limits.quality, measure=limits.measure)
    if sum(each is not None for each in limits[:3]) > 1:
        yield "all limits", QUALITY, limits
    yield "best quality", QUALITY, RuleLimits()


def choose(known: RuleInputs, rule: str, seeks: str, limits: RuleLimits, panel: Panel | None = None) -> RuleChoice:
    """Choose one configuration.

    Args:
        rule: name of the rule, for the record.
        seeks: objective within the limits: "quality", "latency" or "cost".
        panel: configurations to compare; None for all.

    Example:
        >>> points = Objectives(np.array([1.0, 2.0]), np.array([0.1, 0.4]), np.array([0.6, 0.7]))
        >>> known = RuleInputs(points, None, np.array([500.0, 5000.0]))
        >>> [choose(known, "latency-bound", "quality", RuleLimits(latency=limit)).answer for limit in (0.5, 0.2, 0.05)]
        [1, 0, None]
    """
    worth = _objective_values(known.points, seeks)
    inside = _inside(known.points, None if known.target is None else known.target.values, limits) & ~np.isnan(worth)
    if panel is not None:
        inside &= np.isin(np.arange(len(inside)), panel.places)
    k = None if panel is None else panel.k
    chances = _chances(known, limits, inside)
    feasible = inside if chances is None else inside & (chances >= known.sure)
    if not feasible.any():
        surest = None if chances is None or not inside.any() else int(np.where(inside, chances, -1.0).argmax())
        chance = None if surest is None or chances is None else float(chances[surest])
        return RuleChoice(rule, seeks, limits, feasible, surest=surest, feasible_chance=chance, k=k)
    found = _first(known, seeks, feasible)
    sure = None if chances is None else float(chances[found.answer])
    return RuleChoice(rule, seeks, limits, feasible, feasible_chance=sure, k=k, **found._asdict())


class _RankedChoice(NamedTuple):
    """The parts of a choice that do not depend on limits."""

    answer: int
    runner_up: int | None
    better: float | None
    within_noise: tuple[int, ...]
    best: int
    decided_by: str


def _first(known: RuleInputs, seeks: str, feasible: Bools) -> _RankedChoice:
    """The best feasible member of the frontier."""
    apart = None if known.apart is None else known.apart[np.ix_(feasible, feasible)]
    there = on_frontier(known.points.select(feasible), rule=known.rule, apart=apart)
    worth, keys = _objective_values(known.points, seeks), _keys(known, seeks)
    some = sorted(map(int, np.flatnonzero(feasible)[there]), key=lambda place: (-worth[place], *keys[place]))
    best = some[0]
    within = tuple(sorted(each for each in some if each == best or not _is_separated(known, seeks, best, each)))
    small = _smallest(known, within, keys)
    cheapest = _cheapest_of_equals(known, seeks, within, keys)
    answer = small[0] if cheapest is None else cheapest
    runner_up = next((each for each in some if each != answer), None)
    rival = best if best != answer else runner_up
    decided = LOWER[COST] if cheapest is not None else _find_deciding_criterion(seeks, within, small, rival, keys)
    better = None if decided != seeks or runner_up is None else _share(known, seeks, answer, runner_up)
    if better is not None and better < 0.5 and runner_up is not None:
        answer, runner_up, better, decided = runner_up, answer, 1 - better, MOST_RESAMPLES
    return _RankedChoice(answer, runner_up, better, within, best, decided)


def _objective_values(points: Objectives, seeks: str) -> Floats:
    """The objective; larger is better."""
    values: Floats = getattr(points, seeks)
    return values if seeks == QUALITY else -values


def _inside(points: Objectives, target: Floats | None, limits: RuleLimits) -> Bools:
    """[configuration] or [configuration, resample] whether within all limits, up to rounding."""
    found = np.ones((len(points.cost), *[1] * (points.quality.ndim - 1)), dtype=bool)
    if limits.latency is not None:
        found = found & (points.latency <= limits.latency + rounding_tolerance(limits.latency))
    if limits.cost is not None:
        cheap = points.cost <= limits.cost + rounding_tolerance(limits.cost)
        found = found & cheap.reshape(found.shape[0], *[1] * (found.ndim - 1))
    if limits.quality is not None:
        found = found & (
            (points.quality if target is None else target) >= limits.quality - rounding_tolerance(limits.quality)
        )
    inside: Bools = found
    return inside


def _chances(known: RuleInputs, limits: RuleLimits, some: Bools) -> Floats | None:
    """[configuration] share of resamples within the limits, for some configurations; 0 for others; None: no limit."""
    if known.draws is None or limits == RuleLimits():
        return None
    found = np.zeros(len(some))
    target = None if known.target is None else known.target.draws[some]
    found[some] = _inside(known.draws.select(some), target, limits).mean(axis=1)
    return found


def _keys(known: RuleInputs, seeks: str) -> list[tuple[float, ...]]:
    """Tie-break keys, smaller first: prompt size, the objective, then the other two; unknown values last."""
    order = {
        QUALITY: (-known.points.quality, known.points.cost, known.points.latency),
        LATENCY: (known.points.latency, known.points.cost, -known.points.quality),
        COST: (known.points.cost, known.points.latency, -known.points.quality),
    }[seeks]
    columns = [np.nan_to_num(each, nan=np.inf) for each in (known.prompt, *order)]
    return [(*map(float, row), place) for place, row in enumerate(np.stack(columns, axis=1))]


def _cheapest_of_equals(
    known: RuleInputs, seeks: str, within: tuple[int, ...], keys: list[tuple[float, ...]]
) -> int | None:
    """The cheapest of configurations that are equally good in every resample; None where cost does not decide."""
    some, costs = list(within), known.points.cost[list(within)]
    if not known.paid or seeks != QUALITY or np.isnan(costs).any() or len(set(costs.tolist())) < 2:
        return None
    qualities = [known.points.quality[some]] + ([] if known.draws is None else [known.draws.quality[some]])
    if any((each != each[:1]).any() for each in qualities):
        return None
    return min(within, key=lambda place: (known.points.cost[place], *keys[place]))


def _smallest(known: RuleInputs, within: tuple[int, ...], keys: list[tuple[float, ...]]) -> list[int]:
    """Configurations with about the smallest prompt, by the remaining tie-break keys."""
    sizes = np.nan_to_num(known.prompt, nan=np.inf)
    most = SAME_PROMPT * min(sizes[place] for place in within)
    return sorted((place for place in within if sizes[place] <= most), key=lambda place: keys[place][1:])


def _find_deciding_criterion(
    seeks: str, within: tuple[int, ...], small: list[int], rival: int | None, keys: list[tuple[float, ...]]
) -> str:
    """The criterion that ranks the first of `small` above a rival, the best one or its runner-up."""
    if rival is None or rival not in within:
        return seeks
    if rival not in small:
        return SMALLER_PROMPT
    others = {QUALITY: (COST, LATENCY), LATENCY: (COST, QUALITY), COST: (LATENCY, QUALITY)}[seeks]
    names = (seeks, *(LOWER[name] for name in others), ORDER)
    both = zip(names, keys[small[0]][1:], keys[rival][1:], strict=True)
    return next(name for name, one, other in both if one != other)


def _is_separated(known: RuleInputs, seeks: str, best: int, other: int) -> bool:
    """Whether the best configuration is separated from another one in the objective."""
    worth, share = _objective_values(known.points, seeks), _share(known, seeks, best, other)
    if seeks == QUALITY and share is not None:
        return share >= max(known.level, 0.5)
    differ = seeks != LATENCY or known.apart is None or bool(known.apart[best, other])
    return bool(worth[best] > worth[other]) and differ and (share is None or share >= 0.5)


def _share(known: RuleInputs, seeks: str, one: int, other: int) -> float | None:
    """Share of resamples in which one is better than another, equal ones counted half; None for costs."""
    if known.draws is None or seeks == COST:
        return None
    draws = _objective_values(known.draws, seeks)
    twice = 2 * (draws[one] > draws[other]).sum() + (draws[one] == draws[other]).sum()
    return float(twice / (2 * draws.shape[1]))
