"""Intervals that hold together: what one pair of a family does to those of the others."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.comparison.made_scores import made_scores

from trueval.comparison.compare import compare_scores
from trueval.comparison.resampling.bootstrap_intervals import Intervals, ResampledColumns, ResampleDraws, Sizes
from trueval.comparison.resampling.simultaneous import Family, deviations, simultaneous_intervals

RNG = np.random.default_rng(3)
BASE = RNG.random(40)
OTHER = BASE + RNG.normal(0, 0.1, 40)


def intervals_beside(values: np.ndarray) -> tuple[object, object]:
    """The intervals of a pair beside another one, that of some values and the baseline."""
    runs = [made_scores(name, each) for name, each in (("base", BASE), ("beside", values), ("other", OTHER))]
    found = compare_scores(runs, baseline="base", resamples=500)
    (pair,) = (each for each in found.differences if each.first == "other")
    return pair.simultaneous_interval, pair.simultaneous_realized_interval


def test_a_difference_that_does_not_vary_widens_no_other_interval() -> None:
    """A loss of .1 on every query varies by the rounding of doubles, and an identical run not at all.

    Divided by the deviation of such a rounding, anything would be the largest deviation of the family.
    """
    alike = intervals_beside(BASE)
    for loss in (0.1, 0.3, 1e-9):
        assert intervals_beside(BASE - loss) == alike
    assert intervals_beside(BASE + RNG.normal(0, 0.1, 40)) != alike


def test_a_family_of_one_measure_does_not_know_the_others() -> None:
    """The second measure has no value for one query, so that the two are resampled apart."""
    values = [np.column_stack([each, RNG.random(40)]) for each in (BASE, OTHER)]
    for each in values:
        each[0, 1] = np.nan
    runs = [
        made_scores(name, each, measures="nDCG@10 RR@10") for name, each in zip(("base", "other"), values, strict=True)
    ]
    of_each, of_all = (
        compare_scores(runs, resamples=500, family=family).differences[0] for family in ("measure", "all")
    )
    (alone,) = compare_scores([run.of(["nDCG@10"]) for run in runs], resamples=500).differences
    assert of_each.simultaneous_interval == alone.simultaneous_interval
    assert of_each.tests.maxt == alone.tests.maxt
    assert of_all.simultaneous_interval.low < alone.simultaneous_interval.low


def test_clusters_of_one_size_are_a_case_of_clusters_of_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are summed in a shorter way, which must give what the way of unequal clusters gives."""
    runs = [made_scores("base", BASE), made_scores("other", OTHER, 0.1)]
    clusters = {f"q{query}": str(query // 4) for query in range(40)}

    def ends() -> list[float]:
        (found,) = compare_scores(runs, clusters=clusters, resamples=500).differences
        kinds = ("expected_interval", "realized_interval", "simultaneous_interval", "simultaneous_realized_interval")
        return [end for kind in kinds for end in getattr(found, kind)]

    alike = ends()
    monkeypatch.setattr(Sizes, "alike", False)
    assert ends() == pytest.approx(alike, abs=1e-13)


def test_clusters_are_alike_where_all_hold_as_many_queries() -> None:
    draws = ResampleDraws(10, 0, 1, 0.95)
    assert Sizes.of(np.array([2.0, 2.0, 2.0]), draws).alike is True
    assert Sizes.of(np.array([2.0, 1.0, 3.0]), draws).alike is False


def test_scales_and_ends_by_hand() -> None:
    """Two clusters of one query and of three, differences of 1 and 9 in all, tie variances of 2 and 6.

    Mean 10 / 4, residuals 1 - 2.5 and 9 - 7.5: 4.5 * 2 / 1 / 16 = .5625 over queries; ties (2 + 6) / 16 = .5 more.
    The ends are the mean less and more the quantile of the largest deviation times the scale, sqrt(2 / 1) and
    t(.975) / z(.975) with one degree of freedom.
    """
    expected, variance = np.array([[1.0, 0.0], [9.0, 0.0]]), np.array([[2.0, 0.0], [6.0, 0.0]])
    draws, one, other = ResampleDraws(500, 0, 1, 0.95), np.array([0]), np.array([1])
    columns = ResampledColumns.of(expected, variance, draws, np.array([1.0, 3.0]))
    family = Family(one, other, np.array([0]), np.array([0, 1]))
    found = deviations(columns, family, draws)
    assert [scale.tolist() for scale in found.scales] == [[0.75], [pytest.approx(math.sqrt(0.5625 + 0.5))]]
    # Resamples have the first cluster twice (mean 1), both (2.5) or the second twice (3).
    means = {round(float(each), 9) for each in found.expected[0]}
    assert means == {2.0, 0.0, round(0.5 / 0.75, 9)}
    alone = Intervals(np.full((1, 2), 2.5), np.full((1, 2), 2.5), np.zeros(1, dtype=bool))
    ends = simultaneous_intervals(columns, family, found, alone, draws)
    wider = math.sqrt(2) * stats.t.ppf(0.975, 1) / stats.norm.ppf(0.975)
    half = np.quantile(found.expected[0], 0.95) * 0.75 * wider
    assert ends.expected[0] == pytest.approx([2.5 - half, 2.5 + half], rel=1e-12)
    noisy = np.quantile(found.realized[0], 0.95) * math.sqrt(1.0625) * wider
    assert ends.realized[0] == pytest.approx([2.5 - noisy, 2.5 + noisy], rel=1e-12)
