"""Least differences are those of the rule of `compare`: by hand, against the rule itself, and with its family."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from tests.comparison.made_scores import made_scores
from tests.comparison.separation_worlds import separated

from trueval.comparison.power.power_analysis import power_of_scores
from trueval.comparison.power.sample_size import least_difference
from trueval.comparison.power.separation import SeparationRise, UnitPopulation, _bar, _beyond
from trueval.comparison.resampling.paired_tests import randomization_test
from trueval.comparison.resampling.resampled_sums import SignPatterns

ASKED = {"level": 0.95, "power": 0.8}


def population(values: np.ndarray, ties: float = 0.0, codes: np.ndarray | None = None) -> UnitPopulation:
    """Of [query, run], every pair."""
    pairs = np.array(list(combinations(range(values.shape[1]), 2)))
    codes = np.arange(len(values)) if codes is None else codes
    return UnitPopulation.of(values, np.full(values.shape, ties), codes, pairs)


def test_values_are_around_their_means_and_stretched() -> None:
    """Four queries of 0, 1, 2, 5 around 2: -2, -1, 0, 3 times sqrt(4 / 3), whose variance over n is that over n - 1."""
    values = np.array([[0.0, 9.0], [1.0, 9.0], [2.0, 9.0], [5.0, 9.0]])
    found = population(values)
    assert found.values[:, 0] == pytest.approx(np.array([-2, -1, 0, 3]) * math.sqrt(4 / 3))
    assert found.values[:, 0].var() == pytest.approx(values[:, 0].var(ddof=1))
    assert found.values[:, 1] == pytest.approx(np.zeros(4))
    assert found.direction.tolist() == [-1.0]
    clustered = population(values, codes=np.array([0, 0, 0, 1]))
    assert clustered.sizes.tolist() == [3.0, 1.0]
    assert clustered.values[:, 0] == pytest.approx(np.array([-3, 3]) * math.sqrt(2))


@pytest.mark.parametrize("units", [6, 9, 18, 25])
def test_a_bar_is_what_a_statistic_must_exceed_for_p_below_alpha(units: int) -> None:
    """The adjusted p just above the bar is below alpha, and at the bar it is not."""
    values = np.random.default_rng(units).normal(size=(units, 3))
    flipped = randomization_test(values, np.array([0, 0, 1]), np.array([1, 2, 2]), resamples=500, seed=0, threads=1)
    (bar,) = _bar(flipped, 0.95)
    shares = [flipped._replace(statistic=np.full(3, at)).maxt()[0] for at in (bar, np.nextafter(bar, 9.0))]
    least = SignPatterns(units, 500, 0).least_p
    assert shares[0] >= 0.05 > shares[1] >= least


def test_the_difference_from_which_a_statistic_passes_its_bar() -> None:
    """S = 1, N = 6, sizes 1, 2, 3: at the root |S + d N| / sqrt(sum (x + d n)^2) is the bar, on from there above it."""
    apart, sizes = np.array([[1.0], [-2.0], [2.0]]), np.array([1.0, 2.0, 3.0])
    for bar in (0.1, 0.9, 1.5):
        (least,) = _beyond(np.array([bar]), apart, sizes)

        def statistic(d: float) -> float:
            return (1 + 6 * d) / math.sqrt(float(((apart[:, 0] + d * sizes) ** 2).sum()))

        assert statistic(least) == pytest.approx(bar)
        assert statistic(least + 0.1) > bar
    # Sizes of 1, 2 and 3 let it come near 6 / sqrt(14) = 1.604 and no farther.
    assert _beyond(np.array([1.61]), apart, sizes).tolist() == [math.inf]
    assert _beyond(np.array([math.inf]), apart, sizes).tolist() == [math.inf]


def test_too_few_queries_separate_nothing() -> None:
    """Of 5 queries a pattern and its mirror image are 1 of 16; of 6 they are 1 of 32."""
    made = population(np.random.default_rng(1).normal(size=(50, 2)))
    assert made.least_differences(5, worlds=40, **ASKED).tolist() == [math.inf]
    assert made.least_differences(6, worlds=40, **ASKED)[0] < 10


def test_what_ties_decide_is_not_separated() -> None:
    """Of values that hardly differ over queries, with a tie variance of 1 each: 1.645 sqrt(2 n) / n."""
    values = np.random.default_rng(1).normal(size=(50, 2)) / 1e6
    (least,) = population(values, ties=1.0).least_differences(20, worlds=40, **ASKED)
    assert least == pytest.approx(1.6449 * math.sqrt(2 / 20), rel=1e-4)


def test_between_two_numbers_the_rise_is_interpolated_and_stays_as_it_is_at_the_end() -> None:
    rise = SeparationRise((6, 8, 32, 128), (math.inf, 1.3, 1.1, 1.05))
    assert [rise.at(units) for units in (2, 6, 7.9)] == [math.inf] * 3
    assert [rise.at(units) for units in (8, 16, 32, 64, 128, 10_000)] == pytest.approx(
        [1.3, 1.2, 1.1, 1.075, 1.05, 1.05]
    )
    assert SeparationRise((), ()).at(10) == math.inf


def test_many_pairs_take_larger_differences_as_compare_decides_them_together() -> None:
    values = np.random.default_rng(1).normal(size=(200, 6))
    two, six = (population(values[:, :runs]).least_differences(20, worlds=400, **ASKED) for runs in (2, 6))
    alone = least_difference(math.sqrt(2), 20, **ASKED)
    assert two[0] == pytest.approx(alone, rel=0.25)
    assert np.median(six) == pytest.approx(least_difference(math.sqrt(2), 20, level=1 - 0.05 / 15, power=0.8), rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("systems", [2, 4])
def test_compare_separates_the_least_difference_of_power_in_four_of_five_worlds(systems: int) -> None:
    rng = np.random.default_rng(systems)
    source = rng.beta(2, 3, (1_000, systems))
    found = power_of_scores([made_scores(f"r{at}", source[:, at]) for at in range(systems)]).measures[0]
    at = found.curve.queries.index(20)
    pair = found.pairs[0]
    least = pair.curve.expected[at] * (0.04 / source.var(axis=0).mean()) ** 0.5  # Beta(2, 3) has a variance of .04
    share = separated(rng.beta(2, 3, (20, systems, 300)), least, resamples=1_000)
    assert share == pytest.approx(0.8, abs=0.09)
