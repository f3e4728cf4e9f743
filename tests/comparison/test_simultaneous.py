"""Intervals that hold together: what one pair of a family does to those of the others."""

import numpy as np
import pytest
from tests.comparison.made_scores import made_scores

from trueval.comparison.compare import compare_scores
from trueval.comparison.intervals import Draws, Sizes

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
    draws = Draws(10, 0, 1, 0.95)
    assert Sizes.of(np.array([2.0, 2.0, 2.0]), draws).alike is True
    assert Sizes.of(np.array([2.0, 1.0, 3.0]), draws).alike is False
