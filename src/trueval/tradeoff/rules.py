"""Rules that choose one configuration: under a latency limit, under a budget, at a quality target (P-B section 3.3).

    latency-bound   max quality such that latency <= limit
    cost-bound      max quality such that cost <= limit
    quality-bound   min latency, and min cost, such that quality >= target
    all limits      max quality inside all limits that are given

What is not separated from the best one is a tie, and the smaller prompt decides it, as in P-B, one up to 5 % larger
being the same; then the value itself, cost, latency, and the order of the sweep. A configuration that does not know
what a limit is about is outside of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from trueval.standings.standings import Bools, Floats
from trueval.tradeoff.pareto import Objectives, band_to

QUALITY: Final = "quality"
LATENCY: Final = "latency"
COST: Final = "cost"
SMALLER_PROMPT: Final = "smaller prompt"
ORDER: Final = "order"
# Prompts up to so many times the smallest one are of its size: tokens of the same number of contexts differ a little.
SAME_PROMPT: Final = 1.05
LOWER: Final = {LATENCY: "lower latency", COST: "lower cost", QUALITY: "higher quality"}


class Limits(NamedTuple):
    """What a configuration must keep; None where it need not.

    Attributes:
        latency: seconds, at most.
        cost: of 1,000 queries, at most.
        quality: at least.
        measure: of that quality; None for the quality of the sweep.
    """

    latency: float | None = None
    cost: float | None = None
    quality: float | None = None
    measure: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Those that are given, as JSON."""
        named = {
            "latency_ms": None if self.latency is None else self.latency * 1000,
            "cost": self.cost,
            "quality": self.quality,
            "measure": None if self.quality is None else self.measure,
        }
        return {name: value for name, value in named.items() if value is not None}


class Known(NamedTuple):
    """What the rules look at.

    Attributes:
        points: [configuration] measured values.
        draws: cost [configuration], latency and quality [configuration, resample] of true values; None takes the
            measured ones as exact.
        prompt: [configuration] tokens, or contexts; NaN where not known.
        target: [configuration] what a limit of quality looks at, where that is another measure than the quality.
        level: chance from which one is separated from another.
        band: of latencies, as in `on_frontier`.
    """

    points: Objectives
    draws: Objectives | None
    prompt: Floats
    target: Floats | None = None
    level: float = 0.95
    band: float | Floats = 0.0


class Choice(NamedTuple):
    """What a rule chose.

    Attributes:
        rule: its name.
        seeks: "quality", "latency" or "cost".
        limits: those that bind.
        feasible: [configuration] inside the limits.
        answer: place of the configuration; None where none is inside.
        runner_up: the best of the others in what is sought; None where there is none.
        better: chance that the answer is really better than the runner-up; None without resamples or runner-up.
        feasible_chance: chance that the answer is really inside the limits; None likewise.
        within_noise: places not separated from the best one.
        best: the best one by the measured values.
        decided_by: what put the answer first.
    """

    rule: str
    seeks: str
    limits: Limits
    feasible: Bools
    answer: int | None = None
    runner_up: int | None = None
    better: float | None = None
    feasible_chance: float | None = None
    within_noise: tuple[int, ...] = ()
    best: int | None = None
    decided_by: str | None = None


def apply_rules(known: Known, limits: Limits) -> Iterator[Choice]:
    """Every rule whose limit is given, all limits together where there are several, and the best quality without any.

    Args:
        known: of the configurations.
        limits: those of the user.
    """
    if limits.latency is not None:
        yield choose(known, "latency-bound", QUALITY, Limits(latency=limits.latency))
    if limits.cost is not None:
        yield choose(known, "cost-bound", QUALITY, Limits(cost=limits.cost))
    if limits.quality is not None:
        for seeks in (LATENCY, COST):
            if seeks in known.points.known:
                only = Limits(quality=limits.quality, measure=limits.measure)
                yield choose(known, "quality-bound", seeks, only)
    if sum(each is not None for each in limits[:3]) > 1:
        yield choose(known, "all limits", QUALITY, limits)
    yield choose(known, "best quality", QUALITY, Limits())


def choose(known: Known, rule: str, seeks: str, limits: Limits) -> Choice:
    """Choose one configuration.

    Args:
        known: of the configurations.
        rule: its name, for the record.
        seeks: "quality", "latency" or "cost": which is to be best inside the limits.
        limits: that bind.

    Example:
        >>> points = Objectives(np.array([1.0, 2.0]), np.array([0.1, 0.4]), np.array([0.6, 0.7]))
        >>> known = Known(points, None, np.array([500.0, 5000.0]))
        >>> [choose(known, "latency-bound", "quality", Limits(latency=limit)).answer for limit in (0.5, 0.2, 0.05)]
        [1, 0, None]
    """
    worth = _worth(known.points, seeks)
    target = known.points.quality if known.target is None else known.target
    feasible = _inside(known.points, target, limits) & ~np.isnan(worth)
    places = np.flatnonzero(feasible)
    if not len(places):
        return Choice(rule, seeks, limits, feasible)
    keys = _keys(known, seeks)
    best = min(places, key=lambda place: (-worth[place], *keys[place]))
    within = [int(place) for place in places if place == best or not _separated(known, seeks, int(best), int(place))]
    answer, decided = _tied(known, seeks, within, int(best), keys)
    others = [int(place) for place in places if place != answer]
    runner_up = min(others, key=lambda place: (-worth[place], *keys[place]), default=None)
    return Choice(
        rule,
        seeks,
        limits,
        feasible,
        answer,
        runner_up,
        None if runner_up is None else _better(known, seeks, answer, runner_up),
        _feasible_chance(known, limits, answer),
        tuple(within),
        int(best),
        decided,
    )


def _worth(points: Objectives, seeks: str) -> Floats:
    """What is sought, more of it better."""
    values: Floats = getattr(points, seeks)
    return values if seeks == QUALITY else -values


def _inside(points: Objectives, target: Floats, limits: Limits) -> Bools:
    """[configuration], or [configuration, resample], inside all limits."""
    found = np.ones(len(points.cost), dtype=bool).reshape(-1, *[1] * (max(each.ndim for each in points) - 1))
    if limits.latency is not None:
        found = found & (points.latency <= limits.latency)
    if limits.cost is not None:
        found = found & (points.cost <= limits.cost).reshape(-1, *[1] * (found.ndim - 1))
    if limits.quality is not None:
        found = found & (target >= limits.quality)
    inside: Bools = found
    return inside


def _keys(known: Known, seeks: str) -> list[tuple[float, ...]]:
    """What decides ties, less of each first: the prompt, what is sought, and the other two; unknown ones last."""
    order = {
        QUALITY: (-known.points.quality, known.points.cost, known.points.latency),
        LATENCY: (known.points.latency, known.points.cost, -known.points.quality),
        COST: (known.points.cost, known.points.latency, -known.points.quality),
    }[seeks]
    columns = [np.nan_to_num(each, nan=np.inf) for each in (known.prompt, *order)]
    return [(*map(float, row), place) for place, row in enumerate(np.stack(columns, axis=1))]


def _tied(known: Known, seeks: str, within: list[int], best: int, keys: list[tuple[float, ...]]) -> tuple[int, str]:
    """The one of those inside noise that the tie-breaks put first, and what put it before the best or the next one."""
    sizes = np.nan_to_num(known.prompt, nan=np.inf)
    least = min(sizes[place] for place in within)
    small = sorted(
        (place for place in within if sizes[place] <= SAME_PROMPT * least), key=lambda place: keys[place][1:]
    )
    answer = small[0]
    if len(within) == 1:
        return answer, seeks
    rival = best if answer != best else next(iter(small[1:]), None)
    if rival is None or rival not in small:
        return answer, SMALLER_PROMPT
    return answer, _first_difference(seeks, keys[answer][1:], keys[rival][1:])


def _first_difference(seeks: str, first: tuple[float, ...], second: tuple[float, ...]) -> str:
    others = {QUALITY: (COST, LATENCY), LATENCY: (COST, QUALITY), COST: (LATENCY, QUALITY)}[seeks]
    names = (seeks, *(LOWER[name] for name in others), ORDER)
    return next(name for name, one, other in zip(names, first, second, strict=True) if one != other)


def _separated(known: Known, seeks: str, best: int, other: int) -> bool:
    """Whether the best one is better than another beyond noise, and beyond the band of latencies."""
    between = band_to(known.band, best)
    wide = float(between[other]) if isinstance(between, np.ndarray) else between
    band = wide if seeks == LATENCY else 0.0
    worth = _worth(known.points, seeks)
    if known.draws is None or seeks == COST:
        return bool(worth[best] - worth[other] > band)
    draws = _worth(known.draws, seeks)
    return bool(np.mean(draws[best] - draws[other] > band) >= known.level)


def _better(known: Known, seeks: str, answer: int, runner_up: int) -> float | None:
    if known.draws is None:
        return None
    draws = _worth(known.draws, seeks)
    return float(np.mean(draws[answer] > draws[runner_up]))


def _feasible_chance(known: Known, limits: Limits, answer: int) -> float | None:
    if known.draws is None or (limits.quality is not None and known.target is not None):
        return None
    one = Objectives(*(np.atleast_2d(values[answer : answer + 1].T).T for values in known.draws))
    return float(_inside(one, one.quality, limits).mean())
