"""Power of paired differences: the formulas, what `power` finds, and simulations of what it promises."""

import math

import pytest
from scipy.stats import nct, norm, t

from trueval.comparison.power import least_difference, queries_needed
from trueval.errors import PolicyError


@pytest.mark.parametrize("queries", [2, 3, 12, 50, 1000])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
def test_the_least_difference_is_two_quantiles_of_t(queries: int, power: float) -> None:
    expected = (t.ppf(0.995, queries - 1) + t.ppf(power, queries - 1)) * 0.3 / math.sqrt(queries)
    assert least_difference(0.3, queries, level=0.99, power=power) == pytest.approx(expected, rel=1e-9)


def test_a_power_of_one_half_gives_the_half_width_of_an_interval() -> None:
    half_width = t.ppf(0.975, 11) * 0.2 / math.sqrt(12)
    assert least_difference(0.2, 12, level=0.95, power=0.5) == pytest.approx(half_width, rel=1e-12)


@pytest.mark.parametrize("queries", [8, 12, 50, 200])
def test_from_eight_queries_on_the_exact_power_is_that_asked_for(queries: int) -> None:
    shift = least_difference(1.0, queries, level=0.95, power=0.8) * math.sqrt(queries)
    bar = t.ppf(0.975, queries - 1)
    assert nct.sf(bar, queries - 1, shift) == pytest.approx(0.8, abs=0.003)


@pytest.mark.parametrize("queries", [2, 3, 4, 7, 12, 50, 199, 10_000, 10**9])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_queries_needed_turns_the_least_difference_round(queries: int, power: float) -> None:
    least = least_difference(0.17, queries, level=0.95, power=power)
    assert queries_needed(least, 0.17, level=0.95, power=power) == queries
    assert queries_needed(-least, 0.17, level=0.95, power=power) == queries
    assert queries_needed(least * 0.999999, 0.17, level=0.95, power=power) > queries


def test_queries_needed_agrees_with_a_search_one_by_one() -> None:
    for difference in (0.5, 0.2, 0.1, 0.05, 0.03):
        plain = next(
            n for n in range(2, 10_000) if (t.ppf(0.95, n - 1) + t.ppf(0.9, n - 1)) * 0.25 / math.sqrt(n) <= difference
        )
        assert queries_needed(difference, 0.25, level=0.9, power=0.9) == plain


def test_many_queries_are_those_of_the_normal_distribution() -> None:
    needed = queries_needed(1e-4, 0.3, level=0.95, power=0.8)
    assert needed == pytest.approx(((norm.ppf(0.975) + norm.ppf(0.8)) * 3000) ** 2, rel=1e-6)


def test_no_number_of_queries_is_enough_for_nothing() -> None:
    options = {"level": 0.95, "power": 0.8}
    assert queries_needed(0.0, 0.2, **options) is None
    assert queries_needed(0.0, 0.0, **options) is None
    assert queries_needed(1e-12, 0.2, **options) is None
    assert queries_needed(math.nan, 0.2, **options) is None
    assert queries_needed(0.1, math.nan, **options) is None
    assert queries_needed(0.1, math.inf, **options) is None
    assert queries_needed(0.1, 0.0, **options) == 2
    assert math.isnan(least_difference(0.2, 1, **options))
    assert math.isnan(least_difference(math.nan, 20, **options))


@pytest.mark.parametrize(("level", "power"), [(0.5, 0.8), (1.0, 0.8), (0.95, 0.4), (0.95, 1.0), (95, 0.8), (0.95, 80)])
def test_chances_out_of_range_are_refused(level: float, power: float) -> None:
    for ask in (least_difference, queries_needed):
        with pytest.raises(PolicyError, match=r"must be .*Got"):
            ask(0.1, 20, level=level, power=power)
