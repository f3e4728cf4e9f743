"""Other ways to rank by a judge."""

from collections.abc import Sequence

import numpy as np
import pytest
from research.baselines.heapsort import heapsort, pairwise_heapsort
from research.baselines.tournaments import tournaments
from research.baselines.trueskill import belongs, trueskill_stop, update_beliefs
from research.baselines.windows import sliding_window

from trueval.golden.refine.judge_orders import Batch

TRUESKILL = (
    [32.985135833761, 29.695458914932, 21.624630018195, 20.360162560318],
    [5.758752712371, 2.794247971014, 4.116851923703, 5.290407020313],
)


class Counting:
    """A judge that is always right: the lower number is the better document."""

    def __init__(self) -> None:
        self.asked: list[Batch] = []

    def __call__(self, batches: Sequence[Batch]) -> list[Batch]:
        self.asked += batches
        return [tuple(sorted(batch)) for batch in batches]


@pytest.mark.parametrize("seed", range(3))
def test_baselines_with_a_judge_that_is_always_right(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grades = rng.integers(1, 6, 23).astype(float)
    for rank in (heapsort, pairwise_heapsort):
        judge = Counting()
        found = rank(grades, judge, rng, top=9)
        assert found[:9] == list(range(9))
        assert sorted(found) == list(range(23))
        assert {len(set(batch)) for batch in judge.asked} <= ({2} if rank is pairwise_heapsort else {2, 3, 4, 5})
    judge = Counting()
    assert sliding_window(grades, judge, rng, window=8, step=4)[:4] == [0, 1, 2, 3]
    assert len(judge.asked) == 5  # begins at 15, 11, 7, 3 and 0
    assert tournaments(grades, Counting(), rng, rounds=20, group=6)[:2] == [0, 1]
    assert trueskill_stop(grades, Counting(), rng, top=5, budget=200).overlap > 0.95
    judge = Counting()
    tournaments(np.zeros(8), judge, rng, rounds=1, group=4)
    assert sorted(map(len, judge.asked)) == [2, 4, 4, 4]  # nobody asks about the winner alone


def test_trueskill_is_that_of_its_own_package() -> None:
    """trueskill 0.4.5, draw_probability 0, tau 0, min_delta 1e-10: players (25, 8), (30, 3), (20, 5), (28, 7)."""
    means, variances = update_beliefs(np.array([25.0, 30, 20, 28]), np.array([64.0, 9, 25, 49]), 25 / 6)
    np.testing.assert_allclose(means, TRUESKILL[0], atol=1e-5)
    np.testing.assert_allclose(np.sqrt(variances), TRUESKILL[1], atol=1e-5)


def test_who_belongs_sums_to_the_top() -> None:
    rng = np.random.default_rng(0)
    found = belongs(rng.standard_normal(12), rng.random(12) + 0.1, 5)
    assert found.sum() == pytest.approx(5)
    assert (belongs(np.zeros(3), np.ones(3), 3) == 1).all()
