"""Points: the configurations of a sweep or frontier as charts and tables order and number them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from trueval.standings.standings import Floats
from trueval.tradeoff.frontier.frontier_result import FrontierResult
from trueval.tradeoff.quality.panels import panels
from trueval.tradeoff.quality.pareto import Objectives, on_frontier
from trueval.tradeoff.quality.result_parts import IntervalEstimate
from trueval.tradeoff.runner.sweep_result import SweepResult

SURE = 0.9  # share of resamples on the frontier that is called sure
POSSIBLE = 0.1  # one that is still shown


class ConfigurationPoint(NamedTuple):
    """A configuration that has a quality.

    Attributes:
        place: in the list of its result.
        name: of the configuration.
        system: place of its system.
        method: "dense", "hybrid+rerank", ...
        k: contexts that a generator gets.
        measure: the measure of the quality.
        quality: expected over tie orders, the mean over queries.
        interval: confidence interval of the quality over queries; None if unknown.
        ties: its lowest and highest value over tie orders.
        latency: seconds at the percentile in use; None if nothing was measured.
        cost: currency per 1,000 queries; None if no price is known.
        file: of its system, inside the directory of the sweep; "" if unknown.
        on: whether it is on the frontier of the measured values.
        chance: share of resamples in which it is on the frontier; None if not computed.
        number: in plots, of those on the frontier, from 1 and best first; 0 for all others.
    """

    place: int
    name: str
    system: int
    method: str
    k: int | None
    measure: str
    quality: float
    interval: tuple[float, float] | None
    ties: tuple[float, float] | None
    latency: IntervalEstimate | None
    cost: float | None
    file: str
    on: bool = False
    chance: float | None = None
    number: int = 0

    @property
    def seconds(self) -> float | None:
        """The latency; None if nothing was measured."""
        return None if self.latency is None else self.latency.value

    @property
    def rank(self) -> str:
        """How it is drawn: "sure", "possible" or "not" on the frontier."""
        if self.chance is None:
            return "sure" if self.on else "not"
        return "sure" if self.chance >= SURE else "possible" if self.on or self.chance >= POSSIBLE else "not"


def points_of_sweep(sweep: SweepResult) -> list[ConfigurationPoint]:
    """The configurations with a quality, best first; grouped by K if only equal K are compared.

    The frontier is that of the measured values, by the rule of Pareto without a band.
    """
    return _number_points(_mark_frontier(_in_order(list(_read_points(sweep)))))


def points_of_frontier(frontier: FrontierResult) -> list[ConfigurationPoint]:
    """The points of a frontier that have a quality, in the order of `points_of_sweep`."""
    found = [
        ConfigurationPoint(
            place,
            each.name,
            each.system,
            each.method or "",
            each.k,
            each.quality.measure,
            each.quality.value,
            _pair(each.quality.low, each.quality.high),
            _pair(each.quality.lowest, each.quality.highest),
            None if each.latency is None else each.latency[frontier.percentile],
            each.cost,
            "",
            each.on_frontier,
            each.probability,
        )
        for place, each in enumerate(frontier.points)
        if each.quality.value is not None
    ]
    return _number_points(_in_order(found))


def percentile_of(sweep: SweepResult) -> str:
    """The percentile of latency in use."""
    return str(sweep.limits.get("percentile") or "p50")


def currency_of(sweep: SweepResult) -> str:
    """The currency of costs; "" without a price book."""
    return "" if sweep.prices is None else sweep.prices.currency or ""


def panels_of(points: Sequence[ConfigurationPoint]) -> list[tuple[int | None, list[ConfigurationPoint]]]:
    """The points of each panel with their common K; None if all K are compared.

    Args:
        points: of a sweep or a frontier.
    """
    found = panels([each.k for each in points], [each.measure for each in points])
    return [(k, [points[place] for place in places]) for k, places in found if len(places)]


def best_first(points: Sequence[ConfigurationPoint]) -> str:
    """The order of the points, in words.

    Args:
        points: in their order.
    """
    return "best quality first" if len(panels_of(points)) < 2 else "by K, best quality first"


def best_of_systems(points: Sequence[ConfigurationPoint], most: int) -> list[ConfigurationPoint]:
    """The best configuration of each system; those of the frontier first.

    Args:
        points: best first.
        most: maximum number of systems.
    """
    first: dict[int, ConfigurationPoint] = {}
    for each in sorted(points, key=lambda point: not point.on):
        first.setdefault(each.system, each)
    return list(first.values())[:most]


def _mark_frontier(points: Sequence[ConfigurationPoint]) -> list[ConfigurationPoint]:
    def none_as_nan(values: Sequence[float | None]) -> Floats:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    found = []
    for _, some in panels_of(points):
        costs, seconds = none_as_nan([each.cost for each in some]), none_as_nan([each.seconds for each in some])
        on = on_frontier(Objectives(costs, seconds, none_as_nan([each.quality for each in some])))
        found += [each._replace(on=bool(there)) for each, there in zip(some, on, strict=True)]
    return found


def _read_points(sweep: SweepResult) -> Iterator[ConfigurationPoint]:
    percentile = percentile_of(sweep)
    for place, each in enumerate(sweep.configurations):
        value, system = each.measures.get(each.quality), sweep.systems[each.system]
        if value is not None and value.expected is not None:
            yield ConfigurationPoint(
                place,
                each.name,
                each.system,
                system.method,
                each.k,
                each.quality,
                value.expected,
                _pair(value.low, value.high),
                _pair(value.lowest, value.highest),
                None if system.latency is None else getattr(system.latency, percentile),
                None if each.cost is None else each.cost.total,
                system.file,
            )


def _pair(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def _in_order(points: list[ConfigurationPoint]) -> list[ConfigurationPoint]:
    """By panel and quality; ties by latency, then cost, unknown values last."""

    def none_as_infinite(value: float | None) -> float:
        return float("inf") if value is None else value

    def key(each: ConfigurationPoint) -> tuple[float, ...]:
        return -each.quality, none_as_infinite(each.seconds), none_as_infinite(each.cost)

    return [each for _, some in panels_of(points) for each in sorted(some, key=key)]


def _number_points(points: Sequence[ConfigurationPoint]) -> list[ConfigurationPoint]:
    number, result = 0, []
    for each in points:
        number += each.on
        result.append(each._replace(number=number) if each.on else each)
    return result
