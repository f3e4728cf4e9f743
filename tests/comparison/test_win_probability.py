"""Win probabilities and their bounds by hand; tests/truth/test_win_probability.py holds them against every order."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from trueval.comparison.orders import Atoms
from trueval.comparison.win_probability import UNKNOWN, Tied, WinProbability, certain, exact, normal, sampled

# Phi(1) and Phi(3), from tables.
PHI_1, PHI_3 = 0.8413447460685429, 0.9986501019683699


def tied(*queries: tuple[float, float, float]) -> Tied:
    """What ties do to a system, from the expected value, the variance and the reach of each query."""
    return Tied(*np.array(queries).T)


def assert_win(found: WinProbability, value: float, low: float, high: float) -> None:
    assert found.method == "normal"
    assert found[:3] == pytest.approx((value, low, high), abs=1e-14)


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
    assert UNKNOWN[1:] == (0.0, 1.0, "none")


@pytest.mark.parametrize(("won", "count"), [(0, 10), (1, 10), (8, 10), (10, 10), (81, 263)])
def test_the_interval_of_samples_is_that_of_wilson(won: int, count: int) -> None:
    found = sampled(np.arange(count) < won, np.full(count, 0.5))
    theirs = binomtest(won, count).proportion_ci(0.95, method="wilson")
    assert found.method == "sampled"
    assert found.value == won / count
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_the_interval_of_wilson_with_a_tie_by_hand() -> None:
    """8 won, 1 even, 1 lost of 10: p = .85. With z = 1.96, z^2 = 3.8415: center (.85 + .19207) / 1.38415 = .75287,
    half 1.96 sqrt(.85 x .15 / 10 + 3.8415 / 400) / 1.38415 = .21171."""
    found = sampled(np.array([1.0] * 8 + [0.5, 0.0]), np.full(10, 0.5))
    assert found.value == pytest.approx(0.85, abs=1e-15)
    assert (found.low, found.high) == pytest.approx((0.75287 - 0.21171, 0.75287 + 0.21171), abs=2e-5)


def test_sums_that_rounding_alone_tells_apart_are_even() -> None:
    ones = np.ones(4)
    assert sampled(ones + np.array([5e-10, -5e-10, 5e-9, -5e-9]), ones).value == (0.5 + 0.5 + 1 + 0) / 4
    assert sampled(np.array([math.nan, 1.0]), ones[:2]) is UNKNOWN


@pytest.mark.parametrize(("nudge", "value"), [(0.0, 0.39), (5e-10, 0.39), (-5e-10, 0.39), (5e-9, 0.48), (-5e-9, 0.30)])
def test_exact_by_hand(nudge: float, value: float) -> None:
    """0, 1, 2 against 1, 3: won .5 x .6 (2 > 1), even .3 x .6 (1 = 1), which counts half, unless a nudge decides."""
    first = Atoms(np.array([0.0, 1.0 + nudge, 2.0]), np.array([0.2, 0.3, 0.5]))
    second = Atoms(np.array([1.0, 3.0]), np.array([0.6, 0.4]))
    assert exact(first, second).value == pytest.approx(value, abs=1e-15)
    assert exact(second, first).value == pytest.approx(1 - value, abs=1e-15)
    assert exact(first, second)[1:] == (exact(first, second).value,) * 2 + ("exact",)


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
    assert found == (None if value is None else (value, value, value, "certain"))


def test_the_interval_of_wilson_stays_between_0_and_1() -> None:
    """Where all are lost or all are won, rounding alone would put an end outside."""
    for count in range(1, 200):
        lost, won = sampled(np.zeros(count), np.ones(count)), sampled(np.ones(count), np.zeros(count))
        assert 0 <= lost.low < 1e-15 < lost.high < 1
        assert 0 < won.low < 1 - 1e-15 < won.high <= 1
