"""Linear measures by hand: queries without gain under `empty`, and grades above a scale."""

from importlib import import_module

import numpy as np
import pytest

import trueval as tv
from trueval.errors import InputError
from trueval.evaluation.arrays import evaluate_arrays
from trueval.measures.orders.weights import Discounts

# Nothing to find; something to find that the list does not hold; one relevant document first.
RUN = tv.Run.from_dict({query: {"a": 2.0, "b": 1.0} for query in ("nothing", "not listed", "found")})
JUDGMENTS = tv.Judgments.from_dict({"nothing": {"a": 0, "b": 0}, "not listed": {"z": 2}, "found": {"a": 2}})


@pytest.mark.parametrize(("measure", "first"), [("DCG", 2.0), ("DCG@1", 2.0), ("RBP", 0.2), ("RBP(scale=4)", 0.1)])
@pytest.mark.parametrize(("empty", "counted"), [("zero", 0.0), ("one", 1.0), ("skip", np.nan)])
def test_a_query_with_nothing_to_find_is_what_empty_says_and_no_other_is(
    measure: str, first: float, empty: str, counted: float
) -> None:
    scores = tv.evaluate(RUN, JUDGMENTS, measure, empty=empty)
    for statistic in ("expected", "lowest", "highest", "tie_broken"):
        np.testing.assert_allclose(getattr(scores, statistic)[:, 0], [counted, 0.0, first], atol=1e-15)
    np.testing.assert_array_equal(scores.sd[:, 0], [0.0 * counted, 0.0, 0.0])
    assert scores.mean(measure).queries == (2 if empty == "skip" else 3)


@pytest.mark.parametrize("measure", ["DCG", "RBP", "RBP(scale=4)"])
def test_a_query_with_nothing_to_find_is_refused_where_empty_says_so(measure: str) -> None:
    with pytest.raises(InputError, match="undefined for 1 queries"):
        tv.evaluate(RUN, JUDGMENTS, measure, empty="error")


@pytest.mark.parametrize(("grade", "gain"), [(1, 0.25), (4, 1.0), (5, 1.0), (1000, 1.0)])
def test_a_graded_gain_is_at_most_that_of_its_scale(grade: int, gain: float) -> None:
    """The first rank of RBP with p = 1/2 counts a half."""
    found = evaluate_arrays([[2.0, 1.0]], [[grade, 0]], "RBP(p=0.5, scale=4)")
    assert found.expected[0, 0] == found.highest[0, 0] == gain / 2


def test_the_ideal_asks_for_no_rank_past_the_last_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 5,000 judged documents of which 3 are relevant, the best order is one of 3 ranks; the table is not longer."""
    asked = []

    def discounts(last: int, longest: int) -> Discounts:
        asked.append(min(last, longest))
        found: Discounts = kept(last, longest)
        return found

    linear = import_module("trueval.measures.linear")  # the package has a function of this name
    kept = linear.discounts
    monkeypatch.setattr(linear, "discounts", discounts)
    grades = np.zeros((1, 5000))
    grades[0, [5, 40, 4999]] = 1, 2, 3
    found = evaluate_arrays(-np.arange(5000.0)[None], grades, "nDCG").mean("nDCG").expected
    assert asked == [3, 5000]
    gain = 1 / np.log2(7) + 2 / np.log2(42) + 3 / np.log2(5001)
    assert found == pytest.approx(gain / (3 + 2 / np.log2(3) + 1 / 2), rel=1e-13)
