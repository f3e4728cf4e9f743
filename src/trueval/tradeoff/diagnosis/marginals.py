"""Marginal quality: the gain from more contexts or a deeper pool, per millisecond and per cost (P-B section 5.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from trueval.numerics import or_null
from trueval.standings.standings import Floats
from trueval.tradeoff.diagnosis.diagnosis_results import MarginalGain, SystemEfficiency
from trueval.tradeoff.quality.efficiency import efficiency
from trueval.tradeoff.quality.resamples import QualityResamples
from trueval.tradeoff.quality.result_parts import IntervalEstimate
from trueval.tradeoff.quality.sweep_loader import SweepArrays

K: Final = "K"
# Axes along which work grows; only numeric values form steps.
DEPTHS: Final = ("rerank.depth", "index.depth", "sparse.depth", "fuse.depth", "embed.dimension")


class MarginalStep(NamedTuple):
    """Two configurations that differ in one parameter.

    Attributes:
        axis: "K", or a key of the pipeline.
        first: index of the configuration with the smaller value.
        second: index of the configuration with the larger value.
        begin: smaller value.
        end: larger value.
    """

    axis: str
    first: int
    second: int
    begin: float
    end: float


def steps(measured: SweepArrays) -> Iterator[MarginalStep]:
    """Neighbors along K within a system, and along each depth between otherwise equal systems.

    Where configurations with different K are not comparable, the gain of a K step is undefined.
    """
    ladders: dict[tuple[Any, ...], list[tuple[float, int]]] = {}
    for place, each in enumerate(measured.configurations):
        system = measured.systems[each["system"]]
        if each["K"] is not None and len(measured.panels) == 1:  # measures at different K are not comparable
            answers = system.get("answers") or {}  # answers to each K are a system of their own
            same = (answers["retrieval"], answers["generator"]) if answers else each["system"]
            ladders.setdefault((K, same), []).append((each["K"], place))
        values = system.get("values", {})
        for axis in DEPTHS:
            if isinstance(values.get(axis), int | float):
                rest = tuple(sorted((key, str(value)) for key, value in values.items() if key != axis))
                ladders.setdefault((axis, each["K"], rest), []).append((values[axis], place))
    for (axis, *_), ladder in ladders.items():
        for (begin, first), (end, second) in pairwise(sorted(ladder)):
            if end > begin:
                yield MarginalStep(axis, first, second, float(begin), float(end))


def marginals(
    measured: SweepArrays, qualities: QualityResamples, latencies: Floats, level: float, percentile: str = "p50"
) -> tuple[MarginalGain, ...]:
    """The marginal gains: quality, milliseconds, cost, and quality per millisecond and per cost.

    A ratio is given where the step makes the pipeline slower, by the lower end of the interval, or more expensive:
    elsewhere it is meaningless, and a reason is given. Intervals are over the resamples of queries and of times.

    Args:
        qualities: resampled qualities of the configurations.
        latencies: [configuration, resample] latency in seconds.
    """
    return tuple(_marginal(measured, step, qualities, latencies, level, percentile) for step in steps(measured))


def _marginal(
    measured: SweepArrays,
    step: MarginalStep,
    qualities: QualityResamples,
    latencies: Floats,
    level: float,
    percentile: str,
) -> MarginalGain:
    first, second = step.first, step.second
    same = measured.system[first] == measured.system[second]
    gains = qualities.plain[second] - qualities.plain[first]
    gain = float(qualities.measured[second] - qualities.measured[first])
    apart = 1000 * (latencies[second] - latencies[first])
    exact = measured.latency(percentile)
    wait = None if same else interval(1000 * float(exact[second] - exact[first]), apart, level)
    cost = float(measured.cost[second] - measured.cost[first])
    slower = wait is not None and (wait.value or 0) > 0 and (wait.low or 0) > 0
    reasons = []
    if same:
        reasons.append(f"{step.axis} does not change the latency of retrieval")
    elif not slower:
        reasons.append("no time was measured" if wait is None else "it is not slower beyond noise")
    if not cost > 0:
        reasons.append("no price is known" if np.isnan(cost) else "it does not cost more")
    return MarginalGain(
        axis=step.axis,
        system=int(measured.system[first]),
        other_system=int(measured.system[second]),
        begin=step.begin,
        end=step.end,
        points=(first, second),
        quality=interval(gain, gains, level),
        milliseconds=wait,
        cost=or_null(cost),
        per_millisecond=_per_millisecond(gain, gains, apart, wait, level) if wait and slower else None,
        per_currency=interval(gain / cost, gains / cost, level) if cost > 0 else None,
        reason="; ".join(reasons) or None,
    )


def _per_millisecond(
    gain: float, gains: Floats, apart: Floats, wait: IntervalEstimate, level: float
) -> IntervalEstimate | None:
    """The ratio over resamples in which the step is slower; in the few others the ratio is meaningless."""
    slower = apart > 0
    return interval(gain / (wait.value or np.nan), gains[slower] / apart[slower], level)


def interval(value: float, draws: Floats, level: float) -> IntervalEstimate | None:
    """A value with its bootstrap interval; None without a value.

    Args:
        value: measured value; None without one.
        draws: [resample] resampled values.

    Example:
        >>> interval(0.5, np.array([0.0, 1.0]), 0.5)
        IntervalEstimate(value=0.5, low=0.25, high=0.75)
    """
    if np.isnan(value):
        return None
    known = draws[~np.isnan(draws)]
    if not len(known):
        return IntervalEstimate(value, None, None)
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return IntervalEstimate(value, float(low), float(high))


def efficiencies(measured: SweepArrays, percentile: str) -> tuple[SystemEfficiency, ...]:
    """Mean quality divided by latency for each system, best first: for screening only (P-B section 3.3, Table 9).

    Performance is the mean of those of N-Recall4+@10, RA-nWG@10, N-Recall4+@30 and RA-nWG@30 that the sweep measured;
    without any of them, of the quality at every K. P-B's Table 9: 0.817 / 0.3329 s = 2.454.
    """
    found = []
    seconds = measured.latency(percentile)
    for number, system in enumerate(measured.systems):
        places = np.flatnonzero(measured.system == number)
        if not len(places) or not seconds[places[0]] > 0:
            continue
        known = _performance([measured.configurations[int(place)] for place in places])
        if known:
            values, latency = list(known.values()), float(seconds[places[0]])
            mean, score = float(np.mean(values)), efficiency(values, latency)
            found.append(SystemEfficiency(number, system["name"], tuple(known), mean, latency, score))
    return tuple(sorted(found, key=lambda each: -each.efficiency))


SCREENED: Final = ("N-Recall4+@10", "RA-nWG@10", "N-Recall4+@30", "RA-nWG@30")


def _performance(configurations: list[Mapping[str, Any]]) -> dict[str, float]:
    """Values by measure: those of P-B, else the quality at every K."""
    values = {name: each["expected"] for one in configurations for name, each in one["measures"].items()}
    wanted = [name for name in SCREENED if values.get(name) is not None]
    wanted = wanted or [one["quality"] for one in configurations if values.get(one["quality"]) is not None]
    return {name: values[name] for name in wanted}
