"""Contradictions, inversions and bands against brute force."""

from itertools import combinations, permutations

import numpy as np
import pytest

from trueval.golden.refine.batch_choice import next_batches, pair_gains
from trueval.golden.refine.consistency import bands, inconsistency, inversions
from trueval.golden.refine.judge_orders import JudgeOrder, OrderBatch
from trueval.golden.refine.posterior import Posterior


def random_orders(seed: int, pool: int = 6, count: int = 25) -> OrderBatch:
    rng = np.random.default_rng(seed)
    batches = [tuple(map(int, rng.permutation(pool)[: rng.integers(2, 4)])) for _ in range(count)]
    return OrderBatch.of([JudgeOrder(batch, tuple(sorted(batch))) for batch in batches], pool)


def some_posterior(seed: int, pool: int = 7) -> Posterior:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((pool, pool))
    draws = rng.multivariate_normal(rng.standard_normal(pool), 0.1 * root @ root.T, 4000)
    return Posterior(draws, np.zeros((4000, 0)))


@pytest.mark.parametrize("seed", range(6))
def test_contradictions_are_those_that_brute_force_finds(seed: int) -> None:
    orders = random_orders(seed)
    said: dict[tuple[int, int], list[int]] = {}
    for row in orders.items:
        for winner, loser in combinations([int(each) for each in row if each >= 0], 2):
            said.setdefault((min(winner, loser), max(winner, loser)), []).append(winner)
    majority = {
        (winner, loser)
        for pair, winners in said.items()
        for winner, loser in permutations(pair)
        if winners.count(winner) > winners.count(loser)
    }
    triads = [
        triad
        for triad in combinations(range(6), 3)
        if all({pair, pair[::-1]} & majority for pair in combinations(triad, 2))
    ]
    cycles = [triad for triad in triads if any({(a, b), (b, c), (c, a)} <= majority for a, b, c in permutations(triad))]
    twice = [(one, other) for winners in said.values() for one, other in combinations(winners, 2)]
    found = inconsistency(orders)
    assert found.pairs == len(said)
    assert found.repeated == sum(len(winners) > 1 for winners in said.values())
    assert found.both_ways == sum(len(set(winners)) > 1 for winners in said.values())
    assert found.disagreement == pytest.approx(np.mean([one != other for one, other in twice]))
    assert (found.triads, found.cycles) == (len(triads), len(cycles))
    assert found.triads


def test_nothing_repeated_has_no_disagreement() -> None:
    assert inconsistency(OrderBatch.of([JudgeOrder((0, 1), (0, 1))], 2)).disagreement is None


def test_inversions_are_the_sure_pairs_against_the_grades_widest_first() -> None:
    found, grades = some_posterior(0), np.array([5.0, 4, 3, 3, 2, 2, 1])
    above = found.above()
    expected = {(i, j) for i, j in permutations(range(7), 2) if grades[j] > grades[i] and above[i, j] >= 0.6}
    listed = inversions(found, grades, 0.6)
    assert {each[:2] for each in listed} == expected
    assert expected
    assert [each.grades for each in listed] == sorted((each.grades for each in listed), reverse=True)


def test_bands_break_where_neighbors_are_sure() -> None:
    found = some_posterior(1)
    ranking, above = found.ranking(), found.above()
    numbers = bands(found, ranking, 0.7)
    for rank in range(6):
        assert (numbers[rank + 1] > numbers[rank]) == (above[ranking[rank], ranking[rank + 1]] >= 0.7)
    assert 0 < numbers[-1] < 6
    assert bands(some_posterior(2, 1), np.array([0])).tolist() == [0]


def test_gains_are_those_of_the_formula() -> None:
    found, members = some_posterior(3), np.random.default_rng(0).random(7)
    gains, above = pair_gains(found, members), found.above()
    for i, j in permutations(range(7), 2):
        variance = float(np.var(found.draws[:, i] - found.draws[:, j]))
        p = above[i, j]
        unsure = -p * np.log(p) - (1 - p) * np.log(1 - p)
        crossing = members[i] * (1 - members[j]) + members[j] * (1 - members[i]) + 0.3 * members[i] * members[j]
        assert gains[i, j] == pytest.approx(unsure * variance / (variance + np.pi**2 / 3) * crossing)
    assert (gains.diagonal() == 0).all()


def test_a_batch_grows_by_whoever_adds_most() -> None:
    gains = pair_gains(some_posterior(4), np.random.default_rng(1).random(7))
    expected = list(max(combinations(range(7), 2), key=lambda pair: gains[pair]))
    while len(expected) < 4:
        others = [each for each in range(7) if each not in expected]
        expected.append(max(others, key=lambda each: sum(gains[each, member] for member in expected)))
    assert sorted(next_batches(gains, 1, 4, np.random.default_rng(0))[0]) == sorted(expected)


def test_batches_of_a_round_ask_about_different_pairs() -> None:
    rng = np.random.default_rng(5)
    gains = rng.random((12, 12)) * 0.1 + 1
    gains = np.triu(gains, 1) + np.triu(gains, 1).T
    batches = next_batches(gains, 4, 3, rng)
    pairs = [frozenset(pair) for batch in batches for pair in combinations(batch, 2)]
    assert len(set(pairs)) == len(pairs) == 12


def test_where_nothing_is_to_gain_there_is_still_a_batch() -> None:
    assert sorted(next_batches(np.zeros((3, 3)), 1, 5, np.random.default_rng(0))[0]) == [0, 1, 2]
