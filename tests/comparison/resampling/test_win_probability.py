"""Win probabilities and their bounds by hand; tests/truth/test_win_probability.py holds them against every order."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from trueval.comparison.resampling.tie_order_values import Atoms
from trueval.comparison.resampling.win_probability import (
    UNKNOWN,
    TieMoments,
    WinProbability,
    bounds_of_mean,
    certain,
    exact,
    normal,
    sample_win_probability,
)

# Phi(1) and Phi(3), from tables.
PHI_1, PHI_3 = 0.8413447460685429, 0.9986501019683699


def tied(*queries: tuple[float, float, float]) -> TieMoments:
    """What ties do to a system, from the expected value, the variance and the reach of each query."""
    return TieMoments(*np.array(queries).T)


def assert_win(found: WinProbability, value: float, low: float, high: float) -> None:
    assert found.method == "normal"
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high), abs=1e-14)


def test_berry_esseen_of_a_hundred_coins() -> None:
    """Variance 1/4 and reach 1/2 each: .56 x 100 x 1/8 / 25^1.5 = .56 x 12.5 / 125 = .056."""
    coins = tied(*[(0.5, 0.25, 0.5)] * 50)
    assert_win(normal(coins, coins), 0.5, 0.444, 0.556)


def test_berry_esseen_of_queries_that_differ() -> None:
    """Variances 4 x 1/4 with reach 1/2 and 3 x 1 with reach 1: .56 x (1/2 + 3) / 4^1.5 = .245; E[D] / sd[D] = 2 / 2.

    Bernstein is the weaker one: 1 - exp(-4 / 2 / (4 + 2 / 3)) = 1 - exp(-3 / 7) = .349.
    """
    first, second = tied(*[(1.0, 0.25, 0.5)] * 4), tied((2.0, 0.0, 0.0), *[(0.0, 1.0, 1.0)] * 3)
    assert_win(normal(first, second), PHI_1, PHI_1 - 0.245, 1.0)
    assert_win(normal(second, first), 1 - PHI_1, 0.0, 1 - PHI_1 + 0.245)


def test_bernstein_where_one_query_decides() -> None:
    """Variance 3/4 + 1/4, reach at most 3/2, E[D] 3: a tail of exp(-9 / 2 / (1 + 3/2 x 3 / 3)) = exp(-1.8) = .165.

    Berry and Esseen say less: .56 x (3/4 x 3/2 + 1/4 x 1/2) / 1 = .7.
    """
    first, second = tied((3.0, 0.75, 1.5)), tied((0.0, 0.25, 0.5))
    assert_win(normal(first, second), PHI_3, 1 - math.exp(-1.8), 1.0)
    assert_win(normal(second, first), 1 - PHI_3, 0.0, math.exp(-1.8))


def test_bernstein_counts_the_variance_of_all_queries() -> None:
    """Variance 2 + 2, reach 1, E[D] 6: exp(-36 / 2 / (4 + 6 / 3)) = exp(-3); Berry-Esseen .56 x 4 / 8 = .28."""
    first, second = tied((4.0, 1.0, 1.0), (2.0, 1.0, 1.0)), tied((0.0, 1.0, 1.0), (0.0, 1.0, 1.0))
    assert_win(normal(first, second), PHI_3, 1 - math.exp(-3), 1.0)


@pytest.mark.parametrize("variance", [0.0, math.nan])
def test_without_a_variance_nothing_is_known(variance: float) -> None:
    assert normal(tied((1.0, variance, 0.5)), tied((0.0, 0.0, 0.0))) is UNKNOWN
    assert math.isnan(UNKNOWN.value)
    assert (UNKNOWN.low, UNKNOWN.high, UNKNOWN.method) == (0.0, 1.0, "none")


def of_samples(first: np.ndarray, second: np.ndarray, least: int = 10**9) -> WinProbability:
    return sample_win_probability([(first, second)], UNKNOWN, 0.95, least)


def test_bounds_of_samples_by_hand() -> None:
    """One won: B(3/2, 1/2) / B(1/2, 1/2) = 1/2 < 1000 m above .0005. One of two: 1/8 < 1000 m (1 - m)."""
    assert bounds_of_mean(1.0, 1) == (pytest.approx(0.0005, abs=1e-12), 1.0)
    assert bounds_of_mean(0.0, 1) == (0.0, pytest.approx(0.9995, abs=1e-12))
    end = (1 - math.sqrt(1 - 4 / 8000)) / 2
    assert bounds_of_mean(1.0, 2) == pytest.approx((end, 1 - end), abs=1e-12)
    found = of_samples(np.array([1.0, 0.0]), np.full(2, 0.5))
    assert found == WinProbability(0.5, *bounds_of_mean(1.0, 2), "sampled")


def test_a_tie_among_samples_counts_half() -> None:
    found = of_samples(np.array([1.0] * 8 + [0.5, 0.0]), np.full(10, 0.5))
    assert found.value == pytest.approx(0.85, abs=1e-15)
    assert (found.low, found.high) == bounds_of_mean(8.5, 10)


@pytest.mark.slow
@pytest.mark.parametrize("chance", [0.05, 0.5, 0.95])
def test_bounds_of_samples_hold_the_chance_whenever_one_looks(chance: float) -> None:
    """Of 1,000 sequences, looked at after each of 30 batches of 20, about one may miss once."""
    rng = np.random.default_rng(round(100 * chance))
    scores = np.cumsum((rng.random((1_000, 30, 20)) < chance).sum(axis=2), axis=1)
    missed = 0
    for sequence in scores.tolist():
        ends = [bounds_of_mean(float(score), 20 * (at + 1)) for at, score in enumerate(sequence)]
        missed += any(not low <= chance <= high for low, high in ends)
    assert missed <= 5


def test_samples_are_taken_until_the_bounds_decide() -> None:
    """Of 100 a batch, 99 won: after 100 the bounds hold .95; once they are above it, no more is taken."""
    taken = []

    def batches() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for batch in range(50):
            taken.append(batch)
            yield np.r_[np.ones(99), 0.0], np.full(100, 0.5)

    found = sample_win_probability(batches(), UNKNOWN, 0.95, 0)
    assert found.low >= 0.95 > bounds_of_mean(99.0 * (len(taken) - 1), 100 * (len(taken) - 1))[0]
    assert 1 < len(taken) < 20
    first = len(taken)
    assert sample_win_probability(batches(), UNKNOWN, 0.95, 4_000).low > found.low
    assert len(taken) == first + 40
    # Bounds below the level and above 1 - level decide too: neither system wins so surely.
    del taken[:]
    assert not sample_win_probability(batches(), UNKNOWN, 0.75, 0).is_open(0.75)
    assert sample_win_probability(batches(), UNKNOWN, 0.9999, 0).is_open(0.9999)
    assert len(taken) < 10


def test_samples_never_widen_bounds_that_are_known() -> None:
    known = WinProbability(0.97, 0.94, 0.99, "normal")
    few = sample_win_probability([(np.ones(10), np.zeros(10))], known, 0.95, 10)
    assert (few.low, few.high, few.value) == (0.94, 0.99, 0.99)
    assert sample_win_probability([(np.zeros(500), np.ones(500))], known, 0.95, 10) == known  # they cannot both be so
    assert sample_win_probability([], known, 0.95, 10) == known


def test_sums_that_rounding_alone_tells_apart_are_even() -> None:
    ones = np.ones(4)
    assert of_samples(ones + np.array([5e-10, -5e-10, 5e-9, -5e-9]), ones).value == (0.5 + 0.5 + 1 + 0) / 4
    assert of_samples(np.array([math.nan, 1.0]), ones[:2]) is UNKNOWN


@pytest.mark.parametrize(("nudge", "value"), [(0.0, 0.39), (5e-10, 0.39), (-5e-10, 0.39), (5e-9, 0.48), (-5e-9, 0.30)])
def test_exact_by_hand(nudge: float, value: float) -> None:
    """0, 1, 2 against 1, 3: won .5 x .6 (2 > 1), even .3 x .6 (1 = 1), which counts half, unless a nudge decides."""
    first = Atoms(np.array([0.0, 1.0 + nudge, 2.0]), np.array([0.2, 0.3, 0.5]))
    second = Atoms(np.array([1.0, 3.0]), np.array([0.6, 0.4]))
    assert exact(first, second).value == pytest.approx(value, abs=1e-15)
    assert exact(second, first).value == pytest.approx(1 - value, abs=1e-15)
    found = exact(first, second)
    assert found == WinProbability(found.value, found.value, found.value, "exact")


@pytest.mark.parametrize(
    ("lowest", "highest", "value"),
    [
        (2e-9, 1.0, 1.0),
        (5e-10, 1.0, None),
        (0.0, 1.0, None),
        (-1.0, -2e-9, 0.0),
        (-1.0, -5e-10, None),
        (0.0, 0.0, 0.5),
        (-4e-10, 4e-10, 0.5),
        (-8e-10, 8e-10, None),
    ],
)
def test_certain_by_hand(lowest: float, highest: float, value: float | None) -> None:
    found = certain(lowest, highest)
    assert found == (None if value is None else WinProbability(value, value, value, "certain"))


def test_bounds_of_samples_stay_between_0_and_1() -> None:
    for count in range(1, 200):
        lost, won = of_samples(np.zeros(count), np.ones(count)), of_samples(np.ones(count), np.zeros(count))
        assert 0 == lost.low < lost.high < 1
        assert 0 < won.low < won.high == 1
        assert won.low == pytest.approx(1 - lost.high, abs=1e-12)
