"""gm(...): GMAP by hand, what it refuses, and what it leaves of the measure inside."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trueval.errors import MeasureError
from trueval.evaluation.arrays import evaluate_arrays
from trueval.evaluation.estimate import LEAST_IN_GEOMETRIC_MEAN
from trueval.measures import parse

SCORES = [[3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [1.0, 1.0, 0.0]]
GRADES = [[1, 0, 0], [0, 0, 1], [1, 0, 0]]


def test_by_hand() -> None:
    """AP is 1, 1/3 and 3/4: the mean is 25/36, the geometric mean the third root of 1/4."""
    scores = evaluate_arrays(SCORES, GRADES, ["AP", "gm(AP)"])
    np.testing.assert_array_equal(scores.expected[:, 0], scores.expected[:, 1])
    mean = scores.mean("gm(AP)")
    assert mean.expected == pytest.approx(0.25 ** (1 / 3), abs=1e-15)
    assert (mean.lowest, mean.highest) == pytest.approx(((1 / 6) ** (1 / 3), (1 / 3) ** (1 / 3)), abs=1e-15)
    assert math.isnan(mean.sd)
    assert scores.mean("AP").expected == pytest.approx(25 / 36, abs=1e-15)


def test_a_failed_query_counts_as_a_hundred_thousandth() -> None:
    mean = evaluate_arrays([[2.0, 1.0], [1.0]], [[1, 0], [0]], "gm(AP)").mean("gm(AP)")
    assert mean.expected == pytest.approx(math.sqrt(LEAST_IN_GEOMETRIC_MEAN), rel=1e-12)
    assert mean.sd == 0


def test_the_cutoff_stands_inside() -> None:
    assert str(parse("gm(nDCG@10)")) == "gm(nDCG@10)"
    with pytest.raises(MeasureError, match="takes no cutoff"):
        parse("gm(nDCG)@10")


@pytest.mark.parametrize("text", ["gm(RBP-residual)", "gm(Harm@5)", "gm(RA-nWG@5)", "gm(gm)"])
def test_measures_without_a_zero_to_pull_to_are_refused(text: str) -> None:
    with pytest.raises(MeasureError, match="gm needs a measure"):
        evaluate_arrays([[1.0]], [[5]], text)
