"""bpref where groups are large: sums over positions, and samples."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import twin

from trueval.evaluation.arrays import evaluate_arrays
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.run import Run


def test_by_hand() -> None:
    """R = 2, N = 3, list n r n n r: the first relevant has one other above it, the second three, capped at 2."""
    scores = evaluate_arrays([[5.0, 4.0, 3.0, 2.0, 1.0]], [[0, 1, 0, 0, 1]], "bpref")
    assert scores.expected[0, 0] == 0.25


def test_one_relevant_among_n_others() -> None:
    """B = 1: only being above all others counts, and the chance of that is 1 / (n + 1), whatever is unjudged."""
    grades = [1, *[0] * 9, *[np.nan] * 90]
    scores = evaluate_arrays([[0.0] * 100], [grades], "bpref")
    assert scores.expected[0, 0] == pytest.approx(1 / 10, abs=1e-15)
    assert scores.sd[0, 0] == pytest.approx(math.sqrt(0.09), abs=1e-15)
    assert (scores.lowest[0, 0], scores.highest[0, 0]) == (0.0, 1.0)


def test_unjudged_documents_do_not_count() -> None:
    short = evaluate_arrays([[1.0, 1.0, 1.0]], [[1, 1, 0]], "bpref")
    long = evaluate_arrays([[1.0, 1.0, 1.0, 1.0]], [[1, 1, 0, np.nan]], "bpref")
    for statistic in ("expected", "lowest", "highest", "sd"):
        assert getattr(short, statistic) == pytest.approx(getattr(long, statistic), abs=1e-15)


def test_exact_where_orders_are_too_many_to_list() -> None:
    """Three relevant among 2,000 others above which 5 stand: the mean by a sum over the others before each."""
    grades = [*[0] * 5, *[1] * 3, *[0] * 2000]
    listed = [2.0] * 5 + [1.0] * 2003
    scores = evaluate_arrays([listed], [grades], "bpref")
    most = 3
    mean = sum(1 - Fraction(min(5 + u, most), most) for u in range(2001)) / 2001
    assert scores.expected[0, 0] == pytest.approx(float(mean), abs=1e-15)
    free = evaluate_arrays([[1.0] * 2003], [grades[5:]], "bpref")
    mean = sum(1 - Fraction(min(u, most), most) for u in range(2001)) / 2001
    assert free.expected[0, 0] == pytest.approx(float(mean), rel=1e-9)


@pytest.mark.parametrize("depth", [None, 30])
def test_large_groups_agree_with_samples(depth: int | None) -> None:
    rng = np.random.default_rng(8)
    scores = {f"d{i:03}": float(rng.integers(3)) for i in range(120)}
    grades = {d: float(rng.integers(2)) for d in scores if rng.random() < 0.7}
    found = evaluate(Run.from_dict({"q": scores}), Judgments.from_dict({"q": grades}), "bpref", depth=depth)
    drawn = twin.sampled_orders(scores, grades, 4000, rng)
    if depth:
        drawn = (twin.Ranking(tuple(r.top(depth)), r.judged, depth, float) for r in drawn)
    seen = twin.over_sample(drawn, "bpref")
    assert abs(seen.mean - found.expected[0, 0]) < 5 * seen.mean_error
    assert abs(seen.variance - found.sd[0, 0] ** 2) < 5 * seen.variance_error
