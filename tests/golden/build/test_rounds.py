"""Rounds: every passage once in each, with other companions and in other slots."""

from itertools import combinations

import numpy as np
import pytest

from trueval.golden.build.rounds import batches_of, rng_of


@pytest.mark.parametrize(
    ("pool", "size", "rounds"), [(0, 8, 2), (1, 8, 2), (7, 8, 3), (8, 8, 2), (41, 8, 3), (100, 5, 2), (9, 1, 2)]
)
def test_each_round_shows_every_passage_once(pool: int, size: int, rounds: int) -> None:
    found = batches_of(pool, size, rounds, np.random.default_rng(1))
    for number in range(rounds):
        shown = [place for batch in found if batch.round == number for place in batch.members]
        assert sorted(shown) == list(range(pool))
    sizes = {len(batch.members) for batch in found}
    assert not sizes or (max(sizes) <= size and max(sizes) - min(sizes) <= 1)


def test_companions_and_slots_change() -> None:
    again, moved = [], []
    for seed in range(20):
        first, second = (
            [batch.members for batch in batches_of(40, 8, 2, np.random.default_rng(seed)) if batch.round == number]
            for number in (0, 1)
        )
        met = {pair for members in first for pair in combinations(sorted(members), 2)}
        again.append(sum(pair in met for members in second for pair in combinations(sorted(members), 2)))
        slots = [{place: slot for members in each for slot, place in enumerate(members)} for each in (first, second)]
        moved.append(np.mean([abs(slots[0][place] - slots[1][place]) for place in range(40)]))
    # By chance 140 pairs of companions meet again with 7 / 39 each, 25 in all, and slots move by 2.6.
    assert np.mean(again) < 20
    assert np.mean(moved) > 2.5


def test_draws_are_those_of_the_seed_and_the_query() -> None:
    assert rng_of(1, "grade", "q1").random() == rng_of(1, "grade", "q1").random()
    others = (rng_of(2, "grade", "q1"), rng_of(1, "prune", "q1"), rng_of(1, "grade", "q2"), rng_of(1, "gradeq1"))
    assert rng_of(1, "grade", "q1").random() not in {each.random() for each in others}
