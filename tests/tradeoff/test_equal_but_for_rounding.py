"""What is equal but for rounding is equal: at limits, between configurations, and in resamples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.tradeoff.swept import write_arrays

import trueval as tv
from trueval.tradeoff.frontier.frontier import Frontier
from trueval.tradeoff.quality.resamples import resample_means

SLOW = ("dense", np.full((6, 3), 0.3))


def given(folder: Path, *configurations: tuple[list[float], float], **choices: float) -> Frontier:
    """The frontier of configurations of one latency, each with values and a cost."""
    told = [(at, 5, "nDCG@10", values, cost) for at, (values, cost) in enumerate(configurations)]
    write_arrays(folder, times=[SLOW] * len(told), configurations=told)
    return tv.frontier(folder, threads=1, **choices)


@pytest.mark.parametrize(
    ("choices", "rule"),
    [
        ({"min_quality": 0.1}, "quality-bound"),  # the mean of six .1 is .09999999999999999
        ({"max_cost": 0.3}, "cost-bound"),  # .1 + .2 is .30000000000000004
        ({"max_latency_ms": 300.0}, "latency-bound"),
        ({"min_quality": 0.1, "max_cost": 0.3, "max_latency_ms": 300.0}, "all limits"),
        ({"min_quality": 0.1, "sure": 1.0}, "quality-bound"),
    ],
)
def test_a_value_that_is_its_limit_keeps_it(tmp_path: Path, choices: dict[str, float], rule: str) -> None:
    found = given(tmp_path, ([0.1] * 6, 0.1 + 0.2), **choices)
    chosen = [each for each in found.rules if each.rule == rule]
    assert chosen
    for each in chosen:
        assert (each.answer, each.feasible_chance) == (0, 1.0)


@pytest.mark.parametrize("choices", [{"min_quality": 0.100001}, {"max_cost": 0.299999}, {"max_latency_ms": 299.999}])
def test_a_value_beyond_its_limit_does_not(tmp_path: Path, choices: dict[str, float]) -> None:
    assert given(tmp_path, ([0.1] * 6, 0.1 + 0.2), **choices).rules[0].answer is None


@pytest.mark.parametrize(
    "others",
    [
        (np.full(6, 0.1 + 0.2), 0.3),
        (np.full(6, 0.3), 0.1 + 0.2),
    ],
)
def test_neither_of_two_that_rounding_alone_takes_apart_is_better(
    tmp_path: Path, others: tuple[list[float], float]
) -> None:
    found = given(tmp_path, ([0.3] * 6, 0.3), others)
    assert found.on.tolist() == [True, True]
    assert found.plain.tolist() == [1, 1]
    best = found.rules[0]
    assert (best.within_noise, best.decided_by) == ((0, 1), "order")
    assert "which is as good" in found.to_dict()["rules"][0]["sentence"]


def test_resamples_that_rounding_alone_takes_apart_are_equal(tmp_path: Path) -> None:
    # Three queries of .2 are worth one each of .1, .2 and .3, whose sum is .6000000000000001: many resamples are equal.
    found = given(tmp_path, ([0.1, 0.2, 0.3], 0.3), ([0.2, 0.2, 0.2], 0.3))
    rng = np.random.default_rng(0)
    tenths = np.array([1, 2, 3])[rng.integers(0, 3, (20000, 3))].sum(axis=1)
    assert found.plain == pytest.approx([(tenths >= 6).mean(), (tenths <= 6).mean()], abs=0.08)


def test_values_that_rounding_alone_takes_apart_have_the_same_noise_of_ties() -> None:
    """Of equal lists neither is better in any resample: their orders of ties are the same accident."""
    values = np.array([[0.3, 0.1 + 0.2, 0.3 + 1e-9], [0.5, 0.5, 0.5], [0.7, 0.7 - 1e-16, 0.7]])
    found = resample_means(values, np.full((3, 3), 0.01), resamples=50, seed=0)
    first, second, other = found.plain
    assert (first == second).all()
    assert (first != other).any()
    assert found.same.tolist() == [0, 0, 1]
    apart = np.array([[0.01, 0.03 / 3, 0.01 + 1e-9]] * 3)  # of variances too
    assert resample_means(values[:, [0, 1, 0]], apart, resamples=50, seed=0).same.tolist() == [0, 0, 1]


@pytest.mark.parametrize(("seconds", "on"), [(0.375, [True, True]), (0.3751, [True, False])])
def test_latencies_that_differ_by_a_band_tie(tmp_path: Path, seconds: float, on: list[bool]) -> None:
    # .375 - .3 is .07500000000000001.
    told = [(at, 5, "nDCG@10", [0.5, 0.5], 1.0) for at in range(2)]
    write_arrays(tmp_path, times=[SLOW, ("dense", np.full((6, 3), seconds))], configurations=told)
    assert tv.frontier(tmp_path, band_ms=75.0, threads=1).on.tolist() == on


def test_a_latency_that_is_its_limit_is_in_time(tmp_path: Path) -> None:
    write_arrays(
        tmp_path, times=[("dense", np.full((2, 3), 0.0041))], configurations=[(0, 5, "nDCG@10", [0.5, 0.5], 1.0)]
    )
    limit = 4.1  # / 1000 is .0040999999999999995
    found = tv.frontier(tmp_path, max_latency_ms=limit, threads=1)
    assert limit / 1000 < 0.0041
    assert [each["feasible"] for each in found.to_dict()["slo"]] == [1, 1, 1]
    assert found.rules[0].answer == 0
