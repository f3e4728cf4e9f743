"""Intervals of corrected means: t and score ends by hand, by root finding and by SciPy, and what they never do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binomtest, t
from tests.comparison.labels.test_correct import audit, made, tied_run

from trueval.comparison.labels.correct import correct
from trueval.comparison.labels.design_estimate import interval
from trueval.evaluation.corrected_values import EstimateWithInterval
from trueval.measures.span import ANYTHING, FROM_ZERO, UNIT, ValueRange

MANY = 1e9  # degrees of freedom, with which t is normal


@pytest.mark.parametrize("successes", [1, 2, 12, 25, 40, 49])
def test_of_zeros_and_ones_each_end_is_the_farther_one_of_wilson_and_wald(successes: int) -> None:
    share = successes / 50
    wilson = binomtest(successes, 50).proportion_ci(method="wilson")
    half = 1.959963984540054 * math.sqrt(share * (1 - share) / 50)
    found = interval(share, share * (1 - share) / 50, MANY, 0.95, UNIT)
    assert found.low == pytest.approx(max(0.0, min(wilson.low, share - half)), abs=1e-7)
    assert found.high == pytest.approx(min(1.0, max(wilson.high, share + half)), abs=1e-7)


@pytest.mark.parametrize(
    "span", [UNIT, FROM_ZERO, ValueRange(-math.inf, 5.0), ValueRange(-2.0, 3.0), ValueRange(-1.0, 1.0)]
)
@pytest.mark.parametrize("place", [0.02, 0.3, 0.9])
def test_score_ends_solve_the_equation(span: ValueRange, place: float) -> None:
    low, high = max(span.low, -2.0), min(span.high, 5.0)
    middle, se = low + place * (high - low), 0.05 * (high - low)
    half = float(t.ppf(0.975, 9)) * se
    found = interval(middle, se**2, 9, 0.95, span)

    def spread(x: float, least: float = 0.0) -> float:
        below, above = x - span.low, span.high - x
        return math.prod(max(each, least) for each in (below, above) if math.isfinite(each))

    def beyond(x: float) -> float:
        return (middle - x) ** 2 - half**2 * spread(x) / spread(middle, se)

    first = brentq(beyond, max(span.low, middle - 50 * se), middle, xtol=1e-13)
    last = brentq(beyond, middle, min(span.high, middle + 50 * se), xtol=1e-13)
    assert found.low == pytest.approx(min(first, max(span.low, middle - half)), abs=1e-9)
    assert found.high == pytest.approx(max(last, min(span.high, middle + half)), abs=1e-9)


def test_without_a_span_it_is_the_t_interval() -> None:
    for estimate, se, degrees in ((0.5, 0.1, 3), (-7.0, 2.0, 40), (0.0, 1e-9, 1)):
        half = float(t.ppf(0.995, degrees)) * se
        found = interval(estimate, se**2, degrees, 0.99)
        assert (found.low, found.high) == pytest.approx((estimate - half, estimate + half), rel=1e-12)


def test_ends_lie_in_the_span_and_never_inside_the_t_interval_that_is_cut() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        span = (UNIT, FROM_ZERO, ValueRange(-1.0, 1.0))[rng.integers(3)]
        # Of estimates too that a judge who errs put outside the span.
        estimate, se, degrees = rng.uniform(-0.3, 1.3), 10 ** rng.uniform(-4, 0), int(rng.integers(1, 60))
        found = interval(estimate, se**2, degrees, 0.95, span)
        plain = interval(estimate, se**2, degrees, 0.95, ANYTHING)
        assert span.low <= found.low <= max(plain.low, span.low)
        assert min(plain.high, span.high) <= found.high <= span.high
        assert found.width > 0  # nothing that was estimated becomes certain by the cut


def test_a_wider_error_or_level_never_makes_it_narrower() -> None:
    for estimate in (-0.05, 0.0, 0.03, 0.5, 0.99):
        by_error = [interval(estimate, se**2, 19, 0.95, UNIT) for se in np.geomspace(1e-4, 1, 60)]
        by_level = [interval(estimate, 0.01, 19, level, UNIT) for level in np.linspace(0.6, 0.9999, 60)]
        for found in (by_error, by_level):
            assert all(np.diff([each.low for each in found]) <= 1e-12)
            assert all(np.diff([each.high for each in found]) >= -1e-12)


def test_what_is_known_stays_a_point() -> None:
    assert interval(1.0 + 1e-16, 0.0, 9, 0.95, UNIT) == EstimateWithInterval(1.0, 1.0, 1.0, 0.0, 9)
    assert interval(0.25, 0.0, 9, 0.95, UNIT) == EstimateWithInterval(0.25, 0.25, 0.25, 0.0, 9)


@pytest.mark.parametrize(("measure", "high"), [("P@3", 1.0), ("RR", 1.0), ("Hits@3", 3.0), ("DCG@3", math.inf)])
def test_corrected_intervals_end_where_the_measure_does(measure: str, high: float) -> None:
    judge, people = made(30, 1), made(30, 2, high=1)
    runs = {"a": tied_run(30, 3), "b": tied_run(30, 4)}
    found = correct(runs, judge, audit(people, 30, [f"q{i}" for i in range(4)]), measure, level=0.999)
    for one in found.corrections:
        half = one.people.se * float(t.ppf(0.9995, 3))
        assert one.people.estimate - half < 0 == one.people.low  # a t interval would go on
        assert one.people.high > min(one.people.estimate + half, high) - 1e-12
        assert all(0 <= told.low < told.high <= high for told in (one.people, one.corrected, one.untuned))
    (between,) = found.differences
    half = between.people.se * float(t.ppf(0.9995, 3))
    assert between.people.high == pytest.approx(min(between.people.estimate + half, high), rel=0.05)
    assert -high <= between.people.low < between.people.high <= high
