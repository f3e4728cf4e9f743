"""Exact sums: what their module does alone; fusion tests hold it against rational arithmetic."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from trueval.retrieval.fusion import exact_sums
from trueval.retrieval.fusion.exact_sums import sort_rank_sums


def test_a_score_that_moves_down_moves_the_next_ones_too():
    one = 0.5
    below = float(np.nextafter(one, 0))
    scores = exact_sums._distinct(np.array([one, one, below]))
    assert (np.diff(scores) < 0).all()
    assert scores[:2].tolist() == [one, below]


def test_every_way_to_sort_gives_the_same(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(2)
    ranks, offsets = rng.integers(0, 12, (3, 500)), np.array([0, 120, 120, 500])
    ranks[0, ranks.sum(axis=0) == 0] = 1
    given = ranks, Fraction(1, 2), [Fraction(1), Fraction(2), Fraction(1)], offsets
    fast = sort_rank_sums(*given)
    for begin, end in pairwise(offsets.tolist()):
        scores = fast.scores[begin:end]
        assert (np.diff(scores) <= 0).all()
        # Ties as they stand.
        assert ((np.diff(fast.order[begin:end]) > 0) | (np.diff(scores) < 0)).all()
    assert len(np.unique(fast.scores)) < 450
    with monkeypatch.context() as patch:
        patch.setattr(exact_sums, "_find_misplaced_lists", lambda *_: [0, 2])
        careful = sort_rank_sums(*given)
    with monkeypatch.context() as patch:
        patch.setattr(exact_sums._Fractions, "known_apart", False)
        patch.setattr(exact_sums._Fractions, "find_confused", lambda *_: [0, 2])
        rational = sort_rank_sums(*given)
    for other in (careful, rational):
        assert (other.order == fast.order).all()
        assert other.scores == pytest.approx(fast.scores, rel=1e-15)
        assert ((np.diff(other.scores) == 0) == (np.diff(fast.scores) == 0)).all()


def test_a_key_of_few_bits_leaves_nothing_unsorted(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(4)
    ranks, offsets = rng.integers(1, 1000, (2, 3000)), np.array([0, 2000, 3000])
    given = ranks, Fraction(60), [Fraction(1), Fraction(1)], offsets
    exact = sort_rank_sums(*given)
    packed = exact_sums.sort_by_upper_bits
    # Ten bits of each sum: most lists have sums that the key does not tell apart.
    monkeypatch.setattr(exact_sums, "sort_by_upper_bits", lambda values, lists: packed(values >> 54 << 54, lists))
    coarse = sort_rank_sums(*given)
    assert (coarse.order == exact.order).all()
    assert (coarse.scores == exact.scores).all()


@pytest.mark.parametrize("steps", range(8))
def test_one_sum_on_both_sides_of_a_midpoint_is_one_score(steps: int):
    # The sum is halfway between two numbers, and came out once from below and once from above. The smallest number
    # makes the range so wide that the key has no room for the last bits.
    ulp = np.spacing(1.0)
    above = 1 + (steps + 1) * ulp
    sums = exact_sums.Sums(np.array([1e-300, above - ulp, above]), np.array([0.0, ulp / 2, -ulp / 2]))
    order, scores = exact_sums._sort_sums(sums, np.array([0, 3]))
    assert order.tolist() == [1, 2, 0]
    assert scores[0] == scores[1] > scores[2]
