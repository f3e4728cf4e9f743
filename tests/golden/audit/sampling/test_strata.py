"""Strata: few enough for the sample, and shared out as the formula says, never fewer in a larger sample."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import pytest

from trueval.golden.audit.sampling.influence import influence
from trueval.golden.audit.sampling.strata import FLOOR, JudgedPassage, allocate_sample, assign_strata, shares
from trueval.judgments import Judgments
from trueval.measures import parse
from trueval.run import Run


def passages(rng: np.random.Generator, count: int) -> list[JudgedPassage]:
    """Judged passages, many without weight, as in real runs."""
    weights = rng.random(count) * (rng.random(count) < 0.4)
    return [
        JudgedPassage("q", f"d{at}", float(rng.integers(1, 6)), bool(rng.random() < 0.3), float(weights[at]))
        for at in range(count)
    ]


@pytest.mark.parametrize("size", [1, 8, 40, 100, 400])
def test_floors_take_at_most_half_of_a_sample(size: int) -> None:
    for seed in range(10):
        drawn_from = passages(np.random.default_rng(seed), 200)
        names = assign_strata(drawn_from, size)
        counts = Counter(names)
        assert len(counts) <= max(1, size // (2 * FLOOR))
        assert min(counts.values()) >= FLOOR
        share = shares(drawn_from, names)
        assert math.isclose(sum(share.values()), 1)
        given = allocate_sample(share, counts, size)
        assert sum(given.values()) == min(size, 200)
        if size >= 2 * FLOOR * len(counts):
            assert min(given.values()) >= FLOOR


def test_strata_tell_grades_labels_and_weights_apart() -> None:
    """Ten passages of each kind; weights of 8 and 1 make the heavy ones those of 8: they have more than half of all."""
    drawn_from = [
        JudgedPassage("q", f"d{grade}{disputed}{weight}{at}", grade, disputed, weight)
        for grade in (1.0, 5.0)
        for disputed in (False, True)
        for weight in (0.0, 1.0, 8.0)
        for at in range(10)
    ]
    counts = Counter(assign_strata(drawn_from, 200))
    assert set(counts.values()) == {10}
    assert "grade 5, labels differ, heavy" in counts
    assert len(counts) == 12
    assert set(Counter(assign_strata(drawn_from, 8))) == {"grade 1", "grade 5"}


def test_shares_are_half_neyman_and_half_plain() -> None:
    """6 passages of weight 1 and 2 of weight 3: N S = 6 and 6, so 1/2 1/2 + 1/2 6/8 = 5/8 of the sample."""
    drawn_from = [JudgedPassage("q", str(at), 1, None, 1.0 if at < 6 else 3.0) for at in range(8)]
    share = shares(drawn_from, ["light"] * 6 + ["heavy"] * 2)
    assert share == {"light": pytest.approx(5 / 8), "heavy": pytest.approx(3 / 8)}


def naive_allocation(share: dict[str, float], population: dict[str, int], size: int) -> dict[str, int]:
    given = dict.fromkeys(population, 0)
    for _ in range(min(size, sum(population.values()))):
        open_to = [each for each in population if given[each] < population[each]]
        short = [each for each in open_to if given[each] < FLOOR]
        if short:
            fewest = min(given[each] for each in short)
            best = min((each for each in short if given[each] == fewest), key=lambda each: (-share[each], each))
        else:
            best = min(open_to, key=lambda each: (-share[each] / (2 * given[each] + 1), each))
        given[best] += 1
    return given


def test_seats_are_given_one_after_another() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        weights = rng.dirichlet(np.ones(5))
        share = dict(zip("abcde", weights.tolist(), strict=True))
        population = dict(zip("abcde", rng.integers(1, 40, 5).tolist(), strict=True))
        before = dict.fromkeys("abcde", 0)
        for size in range(sum(population.values()) + 3):
            given = allocate_sample(share, population, size)
            assert given == naive_allocation(share, population, size)
            assert all(given[each] >= before[each] for each in population)
            before = given
        assert before == population


@pytest.mark.parametrize("name", ["DCG@3", "nDCG@3", "P@2", "RBP@4", "AP@3", "P@9", "RA-nWG@2", "gm(nDCG@3)"])
def test_influence_is_the_mean_weight_over_all_orders_of_ties(name: str) -> None:
    """Over the 4! x 2 orders of two runs' ties, and their root mean square."""
    measure = parse(name)
    cutoff = measure.innermost.cutoff or 9
    judgments = Judgments.from_dict({"q": {"a": 3, "b": 0, "c": 2, "unlisted": 5}, "r": {"a": 1}})
    scores = [{"q": {"a": 1, "b": 1, "x": 1, "c": 1, "y": 0.5}}, {"q": {"c": 4, "x": 3, "a": 2, "b": 2}, "r": {"a": 1}}]

    def weight(rank: int) -> float:
        if rank > cutoff:
            return 0.0
        if name.startswith("RBP"):
            return float(0.2 * 0.8 ** (rank - 1))
        return 1.0 if name.startswith(("P", "RA")) else 1 / math.log2(rank + 1)

    def mean_weight(found: dict[str, float], document: str) -> float:
        orders = [
            order for order in permutations(found) if all(found[one] >= found[two] for one, two in pairwise(order))
        ]
        return sum(weight(order.index(document) + 1) for order in orders) / len(orders) if document in found else 0.0

    found = influence(judgments, [Run.from_dict(each) for each in scores], measure)
    for (query, document), value in zip(judgments.frame.select("query_id", "doc_id").iter_rows(), found, strict=True):
        expected = [mean_weight(each.get(query, {}), document) for each in scores]
        assert value == pytest.approx(math.sqrt(sum(one**2 for one in expected) / 2), abs=1e-12)
