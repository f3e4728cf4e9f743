"""The frontier and its rules against a twin that enumerates and resamples one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats
from tests.tradeoff.swept import write_arrays

import trueval as tv
from trueval.comparison.resampling.resampled_sums import CHUNK, RESAMPLES, generator
from trueval.tradeoff.quality.resamples import TIMES

DRAWS = 60
SIGN = {"cost": 1, "latency": 1, "quality": -1}
EQUAL = 1e-12  # values that differ by no more are the same


class Made(NamedTuple):
    """A random sweep.

    Attributes:
        methods: [system].
        times: [system, query, repeat] seconds.
        system: [configuration].
        k: [configuration].
        cost: [configuration]; NaN where not known.
        values: [query, configuration].
        measure: of the quality, without its cutoff.
        limits: of latency in ms, cost and quality; None where there is none.
        sure: share of resamples.
        band: ms, or None.
    """

    methods: list[str]
    times: np.ndarray
    system: list[int]
    k: list[int]
    cost: list[float]
    values: np.ndarray
    measure: str
    limits: tuple[float | None, float | None, float | None]
    sure: float
    band: float | None


def make(rng: np.random.Generator) -> Made:
    """Values on a coarse grid, so that much is equal; one repeat or several; a machine that is busy or not."""
    systems, queries, repeats = int(rng.integers(1, 5)), int(rng.integers(2, 13)), int(rng.integers(1, 5))
    cutoffs = rng.choice([5, 10, 20], int(rng.integers(1, 3)), replace=False).tolist()
    pairs = list(product(range(systems), cutoffs))
    busy = rng.choice([0.01, 0.3, 1.0])
    middle = np.exp(rng.normal(-3, 2, (systems, 1, 1)))
    times = (
        middle * np.exp(rng.normal(0, busy, (systems, 1, repeats))) * np.exp(rng.normal(0, 0.1, (1, queries, repeats)))
    )
    values = np.clip(rng.integers(0, 5, (queries, 1)) + rng.integers(-1, 2, (queries, len(pairs))), 0, 4) / 4
    cost = rng.integers(1, 4, len(pairs)).astype(float)
    cost[rng.random(len(pairs)) < rng.choice([0.0, 0.2, 1.0])] = math.nan
    limits = (
        float(np.quantile(times, 0.6) * 1000) if rng.random() < 0.5 else None,
        2.0 if rng.random() < 0.5 and not np.isnan(cost).all() else None,
        float(rng.choice([0.3, 0.5, 0.6])) if rng.random() < 0.5 else None,
    )
    return Made(
        rng.choice(["dense", "sparse"], systems).tolist(),
        times,
        [system for system, _ in pairs],
        [k for _, k in pairs],
        cost.tolist(),
        values,
        str(rng.choice(["P", "RA-nWG"])),
        limits,
        float(rng.choice([0.0, 0.5, 0.9])),
        float(rng.choice([1.0, 50.0])) if rng.random() < 0.3 else None,
    )


def make_gaps(rng: np.random.Generator) -> Made:
    """The same with queries, and configurations, that have no value, with values below 0, and with N-Recall."""
    made = make(rng)
    values = made.values - rng.choice([0.0, 0.5, 2.0])
    values[rng.random(values.shape) < rng.choice([0.1, 0.4])] = math.nan
    values[:, rng.random(values.shape[1]) < 0.1] = math.nan
    limits = made.limits[:2] + ((None,) if np.isnan(values).all() else made.limits[2:])
    return made._replace(values=values, measure=str(rng.choice(["P", "N-Recall4+"])), limits=limits)


def mean_of(values: list[float]) -> float:
    """Of those that are known; NaN where none is."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


class Twin:
    """All that is said of a sweep, one number after another."""

    def __init__(self, made: Made) -> None:
        self.made, self.count = made, len(made.k)
        self.latency = [float(np.median(made.times[system])) for system in made.system]
        self.quality = [mean_of(column.tolist()) for column in made.values.T]
        self.measured = {"cost": made.cost, "latency": self.latency, "quality": self.quality}
        self.drawn = [self.resample(number) for number in range(DRAWS)]

    def resample(self, number: int) -> dict[str, list[float]]:
        """Cost, latency and quality of every configuration in a plain resample."""
        made, chunk, row = self.made, number // CHUNK, number % CHUNK
        queries, repeats = made.times.shape[1:]
        picked = generator(0, RESAMPLES, chunk).integers(0, queries, (CHUNK, queries))[row]
        quality = []
        for mean, column in zip(self.quality, made.values.T, strict=True):
            drawn, known = mean_of([float(column[query]) for query in picked]), int((~np.isnan(column)).sum())
            # A resample without any of the queries that have a value says nothing of it.
            error = 0.0 if math.isnan(drawn) else drawn - mean
            quality.append(mean + error * math.sqrt(known / max(known - 1, 1)))
        rng = generator(0, TIMES, chunk)
        asked = rng.integers(0, queries, (CHUNK, queries))[row]
        again = rng.integers(0, repeats, (CHUNK, repeats))[row]
        median = [
            float(np.median([times[query, repeat] for query in asked for repeat in again])) for times in made.times
        ]
        return {"cost": made.cost, "latency": [median[system] for system in made.system], "quality": quality}

    def logs(self, place: int) -> list[float]:
        return [math.log(float(np.median(column))) for column in self.made.times[self.made.system[place]].T]

    def spread(self, place: int) -> tuple[float, int]:
        """Variance of the logs of a repeat and its degrees of freedom, pooled over the systems of a method."""
        made, total, degrees = self.made, 0.0, 0
        for system, method in enumerate(made.methods):
            if method == made.methods[made.system[place]]:
                logs = [math.log(float(np.median(column))) for column in made.times[system].T]
                total += sum((each - sum(logs) / len(logs)) ** 2 for each in logs)
                degrees += len(logs) - 1
        return (total / degrees if degrees else math.nan), degrees

    def differ(self, one: int, other: int) -> bool:
        """Whether two latencies do not tie."""
        gap = self.latency[one] - self.latency[other]
        if self.made.band is not None:
            return abs(gap) * 1000 > self.made.band
        (s_one, d_one), (s_other, d_other) = self.spread(one), self.spread(other)
        if not d_one or not d_other:
            return False
        logs = self.logs(one), self.logs(other)
        apart = sum(logs[0]) / len(logs[0]) - sum(logs[1]) / len(logs[1])
        errors = s_one / len(logs[0]), s_other / len(logs[1])
        methods = [self.made.methods[self.made.system[place]] for place in (one, other)]
        welch = sum(errors) ** 2 / (errors[0] ** 2 / d_one + errors[1] ** 2 / d_other) if sum(errors) else 1.0
        degrees = d_one if methods[0] == methods[1] else welch
        return apart * gap > 0 and abs(apart) > stats.t.ppf(0.975, degrees) * math.sqrt(sum(errors))

    def removes(self, one: int, other: int, some: list[int]) -> bool:
        """The rule of Pareto word by word, on the objectives that some of them know."""
        better = False
        for name, sign in SIGN.items():
            values = self.measured[name]
            if all(math.isnan(values[place]) for place in some):
                continue
            a, b = sign * values[one], sign * values[other]
            if math.isnan(a) or math.isnan(b):
                return False
            tie = name == "latency" and not self.differ(one, other)
            if a > b and not tie:
                return False
            better |= a < b and not tie
        return better

    def frontier(self, some: list[int]) -> list[int]:
        return [place for place in some if not any(self.removes(each, place, some) for each in some if each != place)]

    def share(self, seeks: str, one: int, other: int) -> float | None:
        if seeks == "cost":
            return None
        sign, total = SIGN[seeks], 0.0
        for draw in self.drawn:
            a, b = sign * draw[seeks][one], sign * draw[seeks][other]
            total += 0.5 if abs(a - b) <= EQUAL else 1.0 if a < b else 0.0
        return total / DRAWS

    def kept(self, values: dict[str, list[float]], place: int, limits: dict[str, float]) -> bool:
        """Whether one keeps the limits."""
        return all(SIGN[name] * values[name][place] <= SIGN[name] * limit + EQUAL for name, limit in limits.items())

    def chance(self, place: int, limits: dict[str, float]) -> float | None:
        return sum(self.kept(draw, place, limits) for draw in self.drawn) / DRAWS if limits else None

    def ties(self, seeks: str, best: int, other: int) -> bool:
        share = self.share(seeks, best, other)
        if seeks == "quality":
            return share is not None and share < 0.95
        equal = self.measured[seeks][best] == self.measured[seeks][other]
        if seeks == "cost":
            return equal
        return equal or not self.differ(best, other) or (share is not None and share < 0.5)

    def choose(self, seeks: str, limits: dict[str, float], panel: list[int]) -> dict[str, Any]:
        """What the words of docs/evidence/notes/tradeoff.md choose."""
        inside = [
            place
            for place in panel
            if self.kept(self.measured, place, limits)
            and not math.isnan(self.measured[seeks][place])
            and ((self.chance(place, limits) or 0.0) >= self.made.sure if limits else True)
        ]
        if not inside:
            return {"answer": None, "runner_up": None, "better": None}
        there = self.frontier(inside)
        rest = {"quality": ("cost", "latency"), "latency": ("cost", "quality"), "cost": ("latency", "quality")}[seeks]

        def key(place: int) -> tuple[float, ...]:
            values = [SIGN[name] * self.measured[name][place] for name in (seeks, *rest)]
            return *(math.inf if math.isnan(value) else value for value in values), place

        def whole(place: int) -> tuple[float, ...]:
            return SIGN[seeks] * self.measured[seeks][place], self.made.k[place], *key(place)

        order = sorted(there, key=whole)
        best, k = order[0], self.made.k
        tied = [place for place in there if place == best or self.ties(seeks, best, place)]
        least = min(k[place] for place in tied)
        small = sorted((place for place in tied if k[place] == least), key=key)
        answer = small[0]
        runner_up = next((place for place in order if place != answer), None)
        better = None
        by_value = answer == best and (
            runner_up not in tied
            or (runner_up in small and self.measured[seeks][answer] != self.measured[seeks][runner_up])
        )
        if runner_up is not None and by_value:
            better = self.share(seeks, answer, runner_up)
            if better is not None and better < 0.5:
                answer, runner_up, better = runner_up, answer, 1 - better
        return {
            "answer": answer,
            "runner_up": runner_up,
            "better": better,
            "feasible_chance": self.chance(answer, limits),
            "within_noise": tied,
        }

    def panels(self) -> list[tuple[int | None, list[int]]]:
        every = list(range(self.count))
        ks = sorted(set(self.made.k))
        if self.made.measure in ("RA-nWG", "N-Recall4+") or len(ks) == 1:
            return [(None, every)]
        return [(k, [place for place in every if self.made.k[place] == k]) for k in ks]


def check(folder: Path, made: Made) -> int:
    """Compare all that is said; how many answers there are."""
    rows = [
        (
            system,
            k,
            f"{made.measure}@{k}",
            made.values[:, place],
            None if math.isnan(made.cost[place]) else made.cost[place],
        )
        for place, (system, k) in enumerate(zip(made.system, made.k, strict=True))
    ]
    write_arrays(
        folder, times=list(zip(made.methods, made.times, strict=True)), configurations=rows, quality=f"{made.measure}@K"
    )
    latency, cost, quality = made.limits
    found = tv.frontier(
        folder,
        max_latency_ms=latency,
        max_cost=cost,
        min_quality=quality,
        sure=made.sure,
        band_ms=made.band,
        resamples=DRAWS,
    ).to_dict()
    twin = Twin(made)
    on = {place for _, panel in twin.panels() for place in twin.frontier(panel)}
    assert {at for at, point in enumerate(found["points"]) if point["on_frontier"]} == on, made
    answers = 0
    for rule in found["rules"]:
        panel = next(some for k, some in twin.panels() if k == rule["K"])
        names = {"latency_ms": "latency", "cost": "cost", "quality": "quality"}
        limits = {names[name]: value for name, value in rule["limits"].items() if name in names}
        if "latency" in limits:
            limits["latency"] = latency / 1000
        expected = twin.choose(rule["seeks"], limits, panel)
        for name, value in expected.items():
            told = rule[name] if not isinstance(value, float) else pytest.approx(rule[name], abs=1e-12)
            assert value == told, (name, value, rule, made)
        answers += rule["answer"] is not None
        # An answer that is not on the frontier of all is removed only by those that are outside the limits.
        if rule["answer"] is not None and rule["answer"] not in on:
            assert "outside the limits, removes it from the frontier of all" in rule["sentence"]
            assert not any(twin.removes(each, rule["answer"], panel) for each in rule["feasible"])
        assert rule["better"] is None or rule["better"] >= 0.5
    return answers


@pytest.mark.slow
@pytest.mark.parametrize("made", [make, make_gaps])
def test_rules_are_those_of_the_twin(tmp_path: Path, made: Callable[[np.random.Generator], Made]) -> None:
    rng = np.random.default_rng(28)
    answers = [check(tmp_path / str(number), made(rng)) for number in range(60)]
    assert sum(answers) > 100
    assert any(one != other for one, other in pairwise(answers))
