"""What a published mean can claim: coverage by enumeration, the least p over every design, and what is refused."""

import itertools
import json
import math
import re

import numpy as np
import pytest
from scipy.stats import binom, binomtest

import trueval
from trueval.comparison.gate.published_means import clopper_pearson, kl_interval, least_randomization_p, published
from trueval.errors import PolicyError
from trueval.report.formats import to_json


@pytest.mark.parametrize(("successes", "queries"), [(0, 10), (3, 10), (10, 10), (40, 50), (1, 1), (333, 1000)])
def test_values_of_0_or_1_have_the_interval_of_scipy(successes: int, queries: int) -> None:
    theirs = binomtest(successes, queries).proportion_ci(0.95, "exact")
    ours = published(successes / queries, queries, grain=1)
    assert ours.interval == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert ours.method == "clopper-pearson"


@pytest.mark.parametrize("mean", [0.0, 1e-9, 0.1, 0.5, 0.8, 0.999, 1.0])
@pytest.mark.parametrize("queries", [1, 12, 50, 10_000])
def test_the_ends_are_where_the_divergence_is_the_bound(mean: float, queries: int) -> None:
    def divergence(other: float) -> float:
        parts = ((mean, other), (1 - mean, 1 - other))
        return sum(one * math.log(one / two) for one, two in parts if one > 0)

    low, high = kl_interval(mean, queries, 0.95)
    assert 0 <= low <= mean <= high <= 1
    for end in (low, high):
        if 1e-6 < end < 1 - 1e-6:
            assert queries * divergence(end) == pytest.approx(math.log(40), rel=1e-6)
    assert low == 0 if mean == 0 else high == 1 if mean == 1 else low < mean < high
    assert kl_interval(1 - mean, queries, 0.95) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize("queries", [1, 5, 12, 50, 200])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_coverage_of_binary_values_by_enumeration(queries: int, level: float) -> None:
    """Every count of successes, weighed by its chance, for 399 true means."""
    truth, counts = np.linspace(0.0025, 0.9975, 399), np.arange(queries + 1)
    chances = binom.pmf(counts[:, None], queries, truth)
    for ends in (
        [clopper_pearson(count, queries, level) for count in counts.tolist()],
        [kl_interval(count / queries, queries, level) for count in counts.tolist()],
    ):
        low, high = np.array(ends).T[:, :, None]
        covered = (chances * ((low <= truth) & (truth <= high))).sum(axis=0)
        assert covered.min() >= level


@pytest.mark.parametrize("shape", [(0.3, 0.3), (2.0, 3.0), (0.2, 2.0), (8.0, 1.0)])
@pytest.mark.parametrize("queries", [5, 50])
def test_coverage_of_other_values_by_simulation(shape: tuple[float, float], queries: int) -> None:
    means = np.random.default_rng(queries).beta(*shape, (2000, queries)).mean(axis=1)
    truth = shape[0] / sum(shape)
    ends = np.array([kl_interval(mean, queries, 0.95) for mean in means.tolist()])
    covered = float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())
    assert covered >= 0.95


def test_more_queries_say_more_and_a_higher_level_less() -> None:
    widths = [np.diff(published(0.6, queries).interval)[0] for queries in (10, 50, 250)]
    assert widths == sorted(widths, reverse=True)
    assert np.diff(published(0.6, 50, level=0.99).interval) > np.diff(published(0.6, 50).interval)
    assert np.diff(published(0.6, 50).interval) > np.diff(published(0.6, 50, grain=1).interval)


def least_over_designs(queries: int, largest: int) -> dict[int, float]:
    """Sum of differences → the least p of the randomization test over all whole differences up to a size."""
    values = range(-largest, largest + 1)
    designs = np.array(list(itertools.combinations_with_replacement(values, queries))).T
    signs = np.array(list(itertools.product((-1, 1), repeat=queries)))
    totals = designs.sum(axis=0)
    p = (np.abs(signs @ designs) >= np.abs(totals)).mean(axis=0)
    found: dict[int, float] = {}
    for total, each in zip(totals.tolist(), p.tolist(), strict=True):
        found[total] = min(each, found.get(total, 1.0))
    return found


@pytest.mark.parametrize(("queries", "largest"), [(1, 1), (4, 1), (8, 1), (12, 1), (4, 3), (6, 2), (5, 4)])
def test_no_design_has_a_smaller_p(queries: int, largest: int) -> None:
    """All differences of 0/1 values, and of values of several grains; with single grains the bound is reached."""
    for total, least in least_over_designs(queries, largest).items():
        bound = least_randomization_p(abs(total) / queries, queries, 1.0)
        assert least >= bound * (1 - 1e-12), total
        if abs(total) <= queries:
            assert least == pytest.approx(bound), total


@pytest.mark.parametrize(
    ("difference", "queries", "grain", "p"),
    [(0.06, 50, 1.0, 0.25), (0.02, 50, 1.0, 1.0), (0.0, 50, 1.0, 1.0), (0.5, 4, 0.1, 0.125), (0.1, 50, 0.1, 2.0**-49)],
)
def test_least_p_by_hand(difference: float, queries: int, grain: float, p: float) -> None:
    assert least_randomization_p(difference, queries, grain) == p


def test_whether_a_difference_could_be_separated() -> None:
    assert published(0.8, 50, grain=1, difference=0.06).separable is False
    assert published(0.8, 50, grain=1, difference=0.12).separable is True  # p >= 2^-5
    assert published(0.8, 50, grain=1, difference=-0.12).least_p == 2.0**-5
    assert published(0.8, 50, difference=0.12).separable is None
    assert published(0.8, 50, grain=1).separable is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((80, 50), "value must be between 0 and 1; divide points by 100. Got 80."),
        ((math.nan, 50), "value must be between 0 and 1"),
        ((0.8, 0), "queries must be an integer >= 1. Got 0."),
        ((0.8, 2.5), "queries must be an integer >= 1"),
        ((0.8, math.inf), "queries must be an integer >= 1"),
        ((0.8, True), "queries must be an integer >= 1"),
        ((0.8, 50, 2), "grain must be above 0 and at most 1"),
        ((0.8, 50, 0), "grain must be above 0 and at most 1"),
        ((0.8, 50, None, 0.9), "difference must leave the other mean between 0 and 1, so be at most 0.8 beside 0.8"),
        ((0.8, 50, None, math.nan), "difference must leave the other mean between 0 and 1"),
        ((0.8, 50, None, None, 95), "level must be between 0.5 and 1"),
        ((0.333, 50, 1), "No 50 values that are multiples of 1 have a mean of 0.333; the nearest is 0.34"),
        ((0.5, 12, 1, 0.01), "No 12 values that are multiples of 1 have a mean difference of 0.01; the nearest is 0."),
    ],
)
def test_what_cannot_have_been_published(arguments: tuple[float, ...], words: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(words)):
        published(*arguments)


@pytest.mark.parametrize(
    ("value", "queries", "grain"),
    [(1 / 3, 3, 1), (0.333, 3, 1), (0.33, 1000, 1), (0.3, 10, 0.1), (0.1238, 977, 1), (1, 7, 1)],
)
def test_rounded_means_are_taken_as_printed(value: float, queries: int, grain: float) -> None:
    assert published(value, queries, grain).interval.low < value


def test_the_face_json_and_sentences() -> None:
    found = trueval.published(0.8, 50, grain=1, difference=0.06)
    data = json.loads(to_json(found.to_dict()))
    assert (data["kind"], data["format"], data["least_p"], data["separable"]) == ("published", 1, 0.25, False)
    assert data["interval"] == list(found.interval)
    lines = str(found).splitlines()
    assert lines[0] == "A mean of 0.8000 over 50 queries supports the 0.95 interval [0.6628, 0.8997]."
    assert lines[1] == "Interval: Clopper & Pearson, for values of 0 or 1."
    assert " ".join(lines[-2:]) == (
        "A difference of 0.0600 cannot be significant at 0.05: the least p that the paired randomization test can "
        "give, whatever the values are, is 0.2500."
    )
    assert "two means cannot show it" in str(trueval.published(0.8, 50, difference=0.06))
