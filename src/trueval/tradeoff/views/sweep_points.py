"""Points: the configurations of a sweep or frontier for plots and tables, each number with its JSON path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueval.report.result_directory import pointer
from trueval.standings.standings import Floats
from trueval.tradeoff.quality.panels import panels
from trueval.tradeoff.quality.pareto import Objectives, on_frontier

Entry = Mapping[str, Any]
SURE = 0.9  # share of resamples on the frontier that is called sure
POSSIBLE = 0.1  # one that is still shown


class ConfigurationPoint(NamedTuple):
    """A configuration that has a quality.

    Attributes:
        place: in the list of its file.
        name: of the configuration.
        system: place of its system.
        method: "dense", "hybrid+rerank", ...
        k: contexts that a generator gets.
        measure: the measure of the quality.
        quality: expected over tie orders, the mean over queries.
        interval: confidence interval of the quality over queries; None where unknown.
        ties: its lowest and highest value over tie orders.
        latency: "p50", "p95" and "p99" → value, low, high in seconds; None where nothing was measured.
        cost: currency per 1,000 queries; None where no price is known.
        file: of its system, inside the directory of the sweep; "" where it is not known.
        at: where quality, latency and cost are: JSON pointers inside the file of the list.
        on: whether it is on the frontier of the measured values.
        chance: share of resamples in which it is on the frontier; None where not computed.
        number: in plots, of those on the frontier, from 1 and best first; 0 for all others.
    """

    place: int
    name: str
    system: int
    method: str
    k: int
    measure: str
    quality: float
    interval: tuple[float, float] | None
    ties: tuple[float, float] | None
    latency: Entry | None
    cost: float | None
    file: str
    at: Mapping[str, str]
    on: bool = False
    chance: float | None = None
    number: int = 0

    def seconds(self, percentile: str) -> float | None:
        """The latency at a percentile."""
        return None if self.latency is None else self.latency[percentile]["value"]

    @property
    def rank(self) -> str:
        """How it is drawn: "sure", "possible" or "not" on the frontier."""
        if self.chance is None:
            return "sure" if self.on else "not"
        return "sure" if self.chance >= SURE else "possible" if self.on or self.chance >= POSSIBLE else "not"


def points_of_sweep(sweep: Entry) -> list[ConfigurationPoint]:
    """The configurations with a quality, best first; grouped by K where only equal K are compared.

    Args:
        sweep: its JSON.
    """
    points = _in_order(list(_read_points(sweep)), percentile_of(sweep))
    return _number_points(_mark_frontier(points, percentile_of(sweep)))


def percentile_of(sweep: Entry) -> str:
    """The percentile of latency in use."""
    return str((sweep["limits"] or {}).get("percentile") or "p50")


def currency_of(sweep: Entry) -> str:
    """The currency of costs; "" without a price book."""
    return str((sweep["prices"] or {}).get("currency") or "")


def panels_of(points: Sequence[ConfigurationPoint]) -> list[tuple[int | None, list[ConfigurationPoint]]]:
    """The points of each panel with their common K; None where all K are compared.

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


def _mark_frontier(points: Sequence[ConfigurationPoint], percentile: str) -> list[ConfigurationPoint]:
    def known(values: Sequence[float | None]) -> Floats:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    found = []
    for _, some in panels_of(points):
        costs, seconds = known([each.cost for each in some]), known([each.seconds(percentile) for each in some])
        on = on_frontier(Objectives(costs, seconds, known([each.quality for each in some])))
        found += [each._replace(on=bool(there)) for each, there in zip(some, on, strict=True)]
    return found


def _read_points(sweep: Entry) -> Iterator[ConfigurationPoint]:
    for place, each in enumerate(sweep["configurations"]):
        value = each["measures"].get(each["quality"])
        if value is None or value["expected"] is None:
            continue
        system = sweep["systems"][each["system"]]
        measured = pointer("configurations", place, "measures", each["quality"])
        yield ConfigurationPoint(
            place,
            each["name"],
            each["system"],
            system["method"],
            each["K"],
            each["quality"],
            value["expected"],
            _pair(value, "low", "high"),
            _pair(value, "lowest", "highest"),
            system["latency"],
            (each["cost"] or {}).get("total"),
            system["file"],
            {
                "quality": measured,
                "value": f"{measured}/expected",
                "latency": pointer("systems", each["system"], "latency"),
                "cost": pointer("configurations", place, "cost", "total"),
            },
        )


def _pair(value: Entry, first: str, second: str) -> tuple[float, float] | None:
    low, high = value.get(first), value.get(second)
    return None if low is None or high is None else (low, high)


def _in_order(points: list[ConfigurationPoint], percentile: str) -> list[ConfigurationPoint]:
    """By panel and quality; ties by latency, then cost, unknown values last."""

    def known(value: float | None) -> float:
        return float("inf") if value is None else value

    def key(each: ConfigurationPoint) -> tuple[float, ...]:
        return -each.quality, known(each.seconds(percentile)), known(each.cost)

    return [each for _, some in panels_of(points) for each in sorted(some, key=key)]


def _number_points(points: Sequence[ConfigurationPoint]) -> list[ConfigurationPoint]:
    number, result = 0, []
    for each in points:
        number += each.on
        result.append(each._replace(number=number) if each.on else each)
    return result
