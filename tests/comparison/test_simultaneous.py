"""Intervals that hold together: what one pair of a family does to those of the others."""

import numpy as np
from tests.comparison.made_scores import made_scores

from trueval.comparison.compare import compare_scores

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
