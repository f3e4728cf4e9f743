"""Intervals by betting against a slow twin of the formula, and what they promise in simulated worlds."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

from trueval.comparison.resampling.betting import ORDERS, Bets, lower_ends, units_needed
from trueval.standings.standings import Floats

RNG = np.random.default_rng(11)
LAWS = {
    "normal": lambda n: np.clip(RNG.normal(0.1, 0.3, n), -1, 1),
    "nothing differs": np.zeros,
    "a rare loss": lambda n: np.where(RNG.random(n) < 0.1, -0.9, 0.05),
    "all at the end": np.ones,
    "-1, 0 or 1": lambda n: RNG.integers(-1, 2, n).astype(float),
}


def log_capital(mean: float, sums: np.ndarray, sizes: np.ndarray, bets: Bets, order: np.ndarray) -> list[float]:
    """The logarithm of K+ after every unit of one order, number by number as the formula has it."""
    target, units, capital, path = math.log(2 / bets.alpha), len(sums), 0.0, []
    seen, held, squares = 0.5, 1.0, 0.25
    for place, unit in enumerate(order, start=1):
        value, share = (sums[unit] + sizes[unit]) / 2 / bets.largest, sizes[unit] / bets.largest
        spread_over = place * math.log(place + 1) if bets.repeated else units
        bet = min(math.sqrt(2 * target / (squares / place * spread_over)), 1 / (2 * mean))
        capital += math.log(1 + bet * (value - mean * share))
        path.append(capital)
        seen, held = seen + value, held + share
        squares += (value - seen / held * share) ** 2
    return path


def twin(sums: np.ndarray, sizes: np.ndarray, bets: Bets) -> float:
    """The lower end, for differences in [-1, 1]."""

    def beyond(mean: float) -> float:
        paths = [log_capital(mean, sums, sizes, bets, order) for order in bets.orders(len(sums))]
        if bets.repeated:
            return max(0.0, *paths[0]) - math.log(2 / bets.alpha)
        return math.log(np.mean([math.exp(path[-1]) for path in paths])) - math.log(2 / bets.alpha)

    return -1.0 if beyond(1e-9) < 0 else 2 * float(brentq(beyond, 1e-9, 1.0, xtol=1e-12)) - 1


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("law", LAWS)
def test_the_end_is_where_the_capital_is_two_over_alpha(law: str, repeated: bool) -> None:
    bets = Bets(0.05, repeated, seed=3)
    for units in (1, 6, 33, 70):
        sums, sizes = LAWS[law](units), np.ones(units)
        (low,) = lower_ends(sums[:, None], sizes, np.ones(1), bets).tolist()
        assert low == pytest.approx(twin(sums, sizes, bets), abs=1e-8)
        assert low <= sums.mean()


@pytest.mark.parametrize("repeated", [False, True])
def test_clusters_are_bet_on_whole(repeated: bool) -> None:
    sizes = RNG.integers(1, 6, 25).astype(float)
    sums = np.array([RNG.uniform(-1, 1, int(size)).sum() for size in sizes])
    bets = Bets(0.05, repeated, largest=7.0)
    (low,) = lower_ends(sums[:, None], sizes, np.ones(1), bets).tolist()
    assert low == pytest.approx(twin(sums, sizes, bets), abs=1e-8)


def test_comparisons_do_not_depend_on_each_other_or_on_threads() -> None:
    """3,000 of them are worked on in blocks."""
    sums = np.clip(RNG.normal(0, 0.3, (30, 3000)), -1, 1)
    ends = lower_ends(sums, np.ones(30), np.ones(3000), Bets(0.05, threads=2))
    alone = [lower_ends(sums[:, [at]], np.ones(30), np.ones(1), Bets(0.05))[0] for at in (0, 1500, 2999)]
    assert ends[[0, 1500, 2999]].tolist() == alone
    assert np.array_equal(ends, lower_ends(sums, np.ones(30), np.ones(3000), Bets(0.05, threads=1)))


def test_ends_are_on_the_scale_of_the_measure() -> None:
    sums = RNG.uniform(-1, 1, (20, 1))
    one, ten = (lower_ends(sums * reach, np.ones(20), np.full(1, reach), Bets(0.05)) for reach in (1.0, 10.0))
    assert ten == pytest.approx(10 * one)


def test_a_mean_over_orders_hardly_depends_on_the_order_of_queries() -> None:
    sums = np.where(np.arange(40) < 4, -0.9, 0.1)[:, None]
    given, turned = (lower_ends(each, np.ones(40), np.ones(1), Bets(0.05)) for each in (sums, sums[::-1]))
    assert given == pytest.approx(turned, abs=0.02)
    assert Bets(0.05).orders(40).shape == (ORDERS, 40)


def test_a_repeated_interval_never_grows_as_queries_arrive() -> None:
    """The bets on the first queries stay what they were, so that the ends of all looks hold together."""
    sums = np.clip(RNG.normal(0.05, 0.3, 200), -1, 1)
    bets = Bets(0.05, repeated=True)
    ends = [lower_ends(sums[:units, None], np.ones(units), np.ones(1), bets)[0] for units in range(1, 201, 7)]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(ends))
    assert ends[-1] > ends[0]


@pytest.mark.parametrize(("repeated", "units"), [(False, 741), (True, 733)])
def test_to_exclude_a_small_loss_where_nothing_differs_takes_many_queries(repeated: bool, units: int) -> None:
    bets = Bets(0.05, repeated)
    assert units_needed(np.zeros(20), np.ones(20), 1.0, -0.01, bets, power=0.8) == units
    ends = [lower_ends(np.zeros((n, 1)), np.ones(n), np.ones(1), bets)[0] for n in (units - 2, units + 2)]
    assert ends[0] < -0.01 < ends[1]


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("sums", [np.full(20, 0.1), np.tile([0.4, -0.2], 10)])
def test_no_number_of_queries_decides_about_the_measured_mean_itself(sums: Floats, repeated: bool) -> None:
    assert units_needed(sums, np.ones(20), 1.0, 0.1, Bets(0.05, repeated), power=0.8) is None


@pytest.mark.parametrize("repeated", [False, True])
def test_as_many_as_needed_decide_with_the_power(repeated: bool) -> None:
    """Half of the queries gain .2, half lose .1: as many as needed, drawn anew, exclude a loss of .02 in 80 %."""
    law, bets = np.array([0.2, -0.1]), Bets(0.05, repeated)
    units = units_needed(law, np.ones(2), 1.0, -0.02, bets, power=0.8)
    assert units is not None
    worlds = law[np.random.default_rng(0).integers(0, 2, (units, 300))]
    share = (lower_ends(worlds, np.ones(units), np.ones(300), bets) > -0.02).mean()
    assert 0.72 <= share <= 0.92
    # Turned, they decide that it is a loss.
    assert units_needed(-law, np.ones(2), 1.0, 0.02, bets, power=0.8) == units
    assert units_needed(law, np.ones(2), 1.0, 0.05, bets, power=0.8) is None


def rare(units: int, worlds: int, rng: np.random.Generator, low: float) -> np.ndarray:
    """Differences that are low but for a rare 1, of mean 0."""
    chance = -low / (1 - low)
    return np.where(rng.random((units, worlds)) < chance, 1.0, low)


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("low", [-0.05, -0.3])
def test_ends_hold_for_skewed_laws(low: float, repeated: bool) -> None:
    rng = np.random.default_rng(17)
    sums, bets = rare(15, 400, rng, low), Bets(0.05, repeated)
    above = lower_ends(-sums, np.ones(15), np.ones(400), bets) > 0
    below = lower_ends(sums, np.ones(15), np.ones(400), bets) > 0
    assert (above | below).mean() <= 0.05
