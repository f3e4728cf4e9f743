"""AllGold where the gold is exactly as many documents as K, and where groups end exactly at K."""

import pytest

from trueval.evaluation.arrays import evaluate_arrays

# Scores, grades, K, then lowest, expected, highest and tie-broken (in the order of the lists) by hand.
CASES = [
    ([3, 2, 1], [1, 1, 0], 2, (1, 1, 1, 1)),  # exactly K gold, at the first K ranks
    ([3, 2, 1], [1, 1, 1], 2, (0, 0, 0, 0)),  # one gold more than K
    ([3, 2, 1], [1, 0, 1], 3, (1, 1, 1, 1)),  # the last gold at rank K
    ([3, 2, 1], [1, 0, 1], 2, (0, 0, 0, 0)),  # and at rank K + 1
    ([1, 1, 0], [1, 1, 0], 2, (1, 1, 1, 1)),  # their group ends at K
    ([1, 1, 1], [1, 1, 0], 2, (0, 1 / 3, 1, 1)),  # K of three tied: one pair of three is the gold one
    ([1, 1, 1], [0, 1, 1], 2, (0, 1 / 3, 1, 0)),
    ([1, 1, 1, 1], [1, 1, 0, 0], 2, (0, 1 / 6, 1, 1)),  # one pair of six
    ([1, 1, 1, 1], [1, 1, 0, 0], 1, (0, 0, 0, 0)),  # more gold than places in the group
    ([2, 1, 1, 1], [1, 0, 1, 0], 2, (0, 1 / 3, 1, 0)),  # one place left after the first document
    ([2, 1, 1, 1], [1, 1, 0, 0], 1, (0, 0, 0, 0)),  # none left
]


@pytest.mark.parametrize(("scores", "grades", "k", "values"), CASES)
def test_by_hand(scores: list[int], grades: list[int], k: int, values: tuple[float, ...]) -> None:
    found = evaluate_arrays([scores], [grades], f"AllGold@{k}").mean(f"AllGold@{k}")
    assert (found.lowest, found.expected, found.highest, found.tie_broken) == pytest.approx(values, abs=1e-15)
    assert found.sd == pytest.approx((values[1] * (1 - values[1])) ** 0.5, abs=1e-15)


def test_exactly_k_gold_is_not_impossible() -> None:
    """One, two, three gold documents and none at K = 2: one query of three with gold has more of it than places."""
    grades = [[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0]]
    found = evaluate_arrays([[3.0, 2.0, 1.0]] * 4, grades, "AllGold@2")
    assert found.details[0] == {"impossible_queries": 1.0, "impossible_share": 1 / 3}
