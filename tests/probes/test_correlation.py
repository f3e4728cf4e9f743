"""Rank correlations against scipy, resamples written out, and pooling that a difference between strata cannot enter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from trueval.probes.correlation import LEAST, CorrelationStratum, _both, across, correlate


def coarse(rng: np.random.Generator, queries: int) -> CorrelationStratum:
    """Values with many ties."""
    x, y = rng.integers(0, 6, queries).astype(float), rng.integers(0, 3, queries).astype(float)
    x[:2], y[:2] = (0, 5), (0, 2)
    return CorrelationStratum(x, y)


@pytest.mark.parametrize("queries", [LEAST, 17, 60])
def test_it_is_scipys_with_ties_and_with_queries_drawn_twice(queries: int) -> None:
    rng = np.random.default_rng(queries)
    one = coarse(rng, queries)
    found = correlate([one], resamples=20)
    assert found.spearman.value == pytest.approx(spearmanr(*one).statistic, abs=1e-12)
    assert found.kendall.value == pytest.approx(kendalltau(*one).statistic, abs=1e-12)
    counts = rng.multinomial(queries, np.full(queries, 1 / queries), 20).astype(float)
    spearman, kendall = _both([one], counts)
    for place, row in enumerate(counts.astype(int)):
        drawn = np.repeat(one.x, row), np.repeat(one.y, row)
        if min(np.ptp(each) for each in drawn) > 0:
            assert spearman[place] == pytest.approx(spearmanr(*drawn).statistic, abs=1e-12)
            assert kendall[place] == pytest.approx(kendalltau(*drawn).statistic, abs=1e-12)


def test_within_strata_is_written_out() -> None:
    rng = np.random.default_rng(1)
    strata = [coarse(rng, 20), coarse(rng, 20)]
    strata[1].x[:7] = np.nan
    sums = np.zeros((2, 3))
    for each in strata:
        known = each.known
        ranks = [
            np.array([(v < one).sum() + ((v == one).sum() + 1) / 2 for one in v])
            for v in (each.x[known], each.y[known])
        ]
        x, y = ((one - one.mean()) / len(one) for one in ranks)
        sums[0] += x @ y, x @ x, y @ y
        signs = [np.sign(np.subtract.outer(one, one)) for one in ranks]
        n = known.sum()
        sums[1] += [(a * b).sum() / n**2 for a, b in (signs, (signs[0],) * 2, (signs[1],) * 2)]
    found = correlate(strata, resamples=20)
    for one, total in zip((found.spearman, found.kendall), sums, strict=True):
        assert one.value == pytest.approx(total[0] / np.sqrt(total[1] * total[2]), abs=1e-12)
    assert found.queries == 20


def test_a_difference_between_strata_is_not_prediction() -> None:
    rng = np.random.default_rng(2)
    apart = [CorrelationStratum(rng.random(80) + 5 * place, rng.random(80) + 5 * place) for place in range(3)]
    within = correlate(apart)
    assert across(apart).low > 0.8  # three clouds one above the other
    assert within.spearman.low < 0 < within.spearman.high
    assert abs(within.spearman.value) < 0.2


def test_queries_are_the_clusters() -> None:
    rng = np.random.default_rng(3)
    one = CorrelationStratum(rng.random(40), rng.random(40))
    alone, copies = correlate([one]), correlate([one] * 9)
    assert (copies.spearman.low, copies.spearman.high) == pytest.approx((alone.spearman.low, alone.spearman.high))
    assert (copies.kendall.low, copies.kendall.high) == pytest.approx((alone.kendall.low, alone.kendall.high))


def test_threads_and_the_size_of_blocks_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    strata = [coarse(np.random.default_rng(seed), 30) for seed in (4, 5)]
    one = correlate(strata, threads=1), across(strata, threads=1)
    monkeypatch.setattr("trueval.probes.correlation.MOST_CELLS", 70)
    assert (correlate(strata, threads=2), across(strata, threads=2)) == one
    assert correlate(strata, seed=1)[0].value == one[0][0].value
    assert correlate(strata, seed=1)[0].low != one[0][0].low


def test_where_nothing_varies_there_is_a_reason_and_no_number() -> None:
    x = np.arange(10.0)
    same, few = (
        correlate([CorrelationStratum(x, np.zeros(10))], names=("drop", "the change")),
        correlate([CorrelationStratum(x[:5], x[:5])]),
    )
    assert same.reason == "the change is the same for every query, so there is no order to compare."
    assert few.reason == "5 queries are too few: 6 are the least."
    rare = correlate(
        [CorrelationStratum(x, np.eye(10)[9])], names=("drop", "the change")
    )  # one query loses: 35 % draw it never
    assert rare.spearman.value == pytest.approx(spearmanr(x, np.eye(10)[9]).statistic)
    assert rare.reason.startswith("No interval: in 3")
    for told in (same, few):
        assert np.isnan([told.spearman.value, told.spearman.low, told.kendall.value]).all()
    assert np.isnan([rare.spearman.low, rare.kendall.low]).all()
    # A stratum without variance is left out of those that have it, and adds nothing below the line.
    assert (
        correlate([CorrelationStratum(x, x), CorrelationStratum(x, np.zeros(10))], resamples=20).spearman.value == 1.0
    )


@pytest.mark.evidence
@pytest.mark.parametrize(("queries", "slope"), [(100, 0.0), (100, 0.3), (50, 0.3), (50, 0.8)])
def test_intervals_hold_the_true_correlation(queries: int, slope: float) -> None:
    """Drops are skewed; of ten queries six lose nothing, as recall has it."""
    rng = np.random.default_rng(queries)

    def drawn(count: int) -> CorrelationStratum:
        x = rng.gamma(2.0, 1.0, count)
        return CorrelationStratum(
            x, np.maximum(0, np.round(2 * (slope * x + rng.normal(0, 1, count) - 0.5 - 2 * slope)) / 2)
        )

    many = drawn(200_000)
    true = spearmanr(*many).statistic, kendalltau(*many).statistic
    inside, worlds = np.zeros(2), 400
    for _ in range(worlds):
        found = correlate([drawn(queries)], resamples=500, threads=1)
        inside += [each.low <= value <= each.high for each, value in zip(found[:2], true, strict=True)]
    print(queries, slope, inside / worlds)
    assert (inside / worlds > 0.92).all()
