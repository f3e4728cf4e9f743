"""What a policy changes before anything is measured."""

import numpy as np
import pytest

import trueval as tv
from trueval.standings.input_rules import first_results


def test_grades_that_are_cut_to_whole_numbers_are_those_of_the_numbers() -> None:
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    grades = tv.Judgments.from_dict({"q": {"a": 0.9, "b": 1.9, "c": 2.0}})
    cut = tv.evaluate(run, grades, "nDCG RR DCG@3", float_grades="truncate")
    whole = tv.evaluate(run, {"q": {"a": 0, "b": 1, "c": 2}}, "nDCG RR DCG@3")
    kept = tv.evaluate(run, grades, "nDCG RR DCG@3")
    assert cut.expected.tolist() == whole.expected.tolist() != kept.expected.tolist()


def test_a_seed_may_be_below_zero() -> None:
    run = {f"q{query}": {"a": 1.0, "b": 1.0} for query in range(20)}
    judgments = {query: {"a": 1} for query in run}
    below, above = (tv.evaluate(run, judgments, "P@1", tie_order="random", seed=seed) for seed in (-1, 1))
    assert below.tie_broken.tolist() != above.tie_broken.tolist()


@pytest.mark.parametrize(
    ("lists", "first"),
    [
        ([], []),
        ([[]], [[]]),
        ([[2.0]], [[True]]),
        ([[1.0, 3.0, 3.0]], [[False, True, False]]),  # of equal ones, the first in the input
        ([[], [1.0, 2.0], []], [[], [False, True], []]),
        ([[2.0, 2.0], [2.0, 2.0], [-1.0]], [[True, False], [True, False], [True]]),
        ([[1.0, 9.0], [], [], [5.0, 4.0, 5.0], []], [[False, True], [], [], [True, False, False], []]),
    ],
)
def test_the_first_result_of_each_list_is_its_highest(lists: list[list[float]], first: list[list[bool]]) -> None:
    scores = np.array([score for each in lists for score in each])
    offsets = np.cumsum([0, *map(len, lists)])
    assert first_results(scores, offsets).tolist() == [each for part in first for each in part]
