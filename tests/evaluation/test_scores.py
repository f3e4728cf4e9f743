"""Scores of several parts joined."""

import numpy as np
import pytest

from trueval.errors import InputError, MeasureError
from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.scores import STATISTICS, Scores
from trueval.judgments import Judgments
from trueval.run import Run

LISTS = {f"q{n}": {"a": 2.0, "b": float(n % 3), "c": 1.0, "d": 1.0} for n in range(7)}
GRADES = {query: {"b": 1, "c": 2, "e": 1} for query in LISTS}


def scores_of(queries: list[str], measures: str = "nDCG@2 AP") -> Scores:
    run = Run.from_dict({query: LISTS[query] for query in queries}, name="run")
    return evaluate(run, Judgments.from_dict({query: GRADES[query] for query in queries}), measures)


def test_joined_parts_are_the_scores_of_all_queries() -> None:
    names = list(LISTS)
    whole, joined = scores_of(names), Scores.join([scores_of(names[:3]), scores_of(names[3:4]), scores_of(names[4:])])
    assert joined.query_ids == whole.query_ids
    for statistic in STATISTICS:
        np.testing.assert_array_equal(getattr(joined, statistic), getattr(whole, statistic))
    assert joined.means() == whole.means()
    assert joined.ties.tied_fraction == pytest.approx(whole.ties.tied_fraction)
    assert joined.ties._replace(tied_fraction=0) == whole.ties._replace(tied_fraction=0)
    assert joined.matched == whole.matched


def test_one_part_is_itself() -> None:
    one = scores_of(["q1", "q2"])
    assert Scores.join([one]) is one


def test_what_cannot_be_joined_is_refused() -> None:
    with pytest.raises(InputError, match="'q1' is in two parts"):
        Scores.join([scores_of(["q0", "q1"]), scores_of(["q1"])])
    with pytest.raises(MeasureError, match="same measures"):
        Scores.join([scores_of(["q0"]), scores_of(["q1"], "AP")])
