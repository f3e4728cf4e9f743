"""How much two lists differ, under ties and with different documents, against enumeration of all orders."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from trueval.comparison.resampling.reshuffle import (
    Reshuffle,
    TiedLists,
    find_shared_documents,
    overlaps,
    rank_biased_overlap,
    reshuffle,
)
from trueval.errors import InputError

List = dict[str, float]
Order = tuple[str, ...]
HALF = Fraction(1, 2)
KS = (1, 2, 3, 4, 6, 9)

PAIRS: list[tuple[List, List]] = [
    ({"a": 4, "b": 3, "c": 2, "d": 1}, {"a": 4, "b": 3, "c": 2, "d": 1}),
    ({"a": 4, "b": 3, "c": 2, "d": 1}, {"d": 4, "c": 3, "b": 2, "a": 1}),
    ({"a": 3, "b": 2, "c": 1}, {"x": 3, "y": 2, "z": 1}),
    ({"a": 3, "b": 2, "c": 1}, {"b": 9, "x": 8, "a": 7}),
    ({"a": 1, "b": 1, "c": 1, "d": 0}, {"b": 5, "e": 5, "a": 4, "c": 4}),
    ({"a": 2, "b": 2, "c": 1, "d": 1, "e": 1}, {"c": 3, "a": 1, "x": 1, "e": 1, "b": 0}),
    ({"a": 0, "b": 0}, {"a": 0, "b": 0}),
    ({"a": 1, "b": 1, "c": 1, "d": 1}, {"a": 1, "b": 1, "c": 1, "x": 1}),
    ({"a": 1}, {"a": 3, "b": 2, "c": 2, "d": 2}),
    ({"a": 2, "b": 1}, {"b": 3, "x": 3, "a": 2, "y": 1, "z": 0}),
    ({"a": 1}, {"x": 1}),
]


def orders(scores: List) -> list[Order]:
    """Every order of documents by descending score."""
    return [
        order
        for order in itertools.permutations(scores)
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]


def fagin(one: Order, other: Order) -> Fraction:
    """K^(1/2) of two lists without ties, case by case as Fagin, Kumar & Sivakumar 2003 define it."""
    distance = Fraction(0)
    for i, j in itertools.combinations({*one, *other}, 2):
        both = [[d in each for d in (i, j)] for each in (one, other)]
        if all(map(all, both)):
            distance += (one.index(i) < one.index(j)) != (other.index(i) < other.index(j))
        elif all(both[0]) or all(both[1]):
            full, part = (one, other) if all(both[0]) else (other, one)
            if i in part or j in part:
                there, missing = (i, j) if i in part else (j, i)
                distance += full.index(missing) < full.index(there)
            else:
                distance += HALF
        else:
            distance += 1
    return distance


def tau(one: Order, other: Order) -> Fraction | None:
    worst = fagin(one, tuple(f"other {d}" for d in other))
    return None if worst == 0 else 1 - 2 * fagin(one, other) / worst


def rbo(one: Order, other: Order, depth: int, p: Fraction) -> Fraction:
    """RBO_EXT, the agreement of every rank written out: Webber et al. assume that of X_s/s for ranks that one lacks."""
    one, other = sorted((one[:depth], other[:depth]), key=len)
    s, long = len(one), len(other)
    common = [len({*one[:d]} & {*other[:d]}) for d in range(long + 1)]
    agreement = {d: Fraction(common[d], d) for d in range(1, s + 1)}
    agreement |= {d: Fraction(common[d], d) + Fraction(common[s] * (d - s), s * d) for d in range(s + 1, long + 1)}
    # All ranks below the last have its agreement: (1 - p) Σ_{d>l} p^(d-1) = p^l.
    return (1 - p) * sum(p ** (d - 1) * agreement[d] for d in agreement) + p**long * agreement[long]


def ranked(lists: Sequence[List]) -> TiedLists:
    names = "abcdexyz"
    document = [names.index(d) for each in lists for d in each]
    scores = [score for each in lists for score in each.values()]
    offsets = np.cumsum([0, *map(len, lists)])
    return TiedLists.of(np.array(document, dtype=np.int64), np.array(scores, dtype=float), offsets, len(names))


def of_pairs(pairs: Sequence[tuple[List, List]], k: int, depth: int = 9, p: float = 0.75) -> Reshuffle:
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    return reshuffle(ranked(first), ranked(second), k=k, depth=depth, p=p)


@pytest.mark.parametrize("k", KS)
def test_overlap_and_tau_are_means_over_all_orders(k: int) -> None:
    found = of_pairs(PAIRS, k)
    for place, (first, second) in enumerate(PAIRS):
        both = list(itertools.product(orders(first), orders(second)))
        cut = [(a[:k], b[:k]) for a, b in both]
        overlap = Fraction(sum(len({*a} & {*b}) for a, b in cut), len(both)) / min(k, max(len(first), len(second)))
        assert found.overlap[place] == pytest.approx(float(overlap), abs=1e-12)
        taus = [tau(a, b) for a, b in cut]
        assert None not in taus
        assert found.tau[place] == pytest.approx(float(sum(filter(None, taus)) / len(taus)), abs=1e-12), (first, second)


@pytest.mark.parametrize("depth", [1, 2, 4, 9])
def test_rbo_is_the_mean_over_all_orders(depth: int) -> None:
    found = of_pairs(PAIRS, 1, depth)
    for place, (first, second) in enumerate(PAIRS):
        both = list(itertools.product(orders(first), orders(second)))
        expected = sum(rbo(a, b, depth, Fraction(3, 4)) for a, b in both) / len(both)
        assert found.rbo[place] == pytest.approx(float(expected), abs=1e-12)


def test_random_lists_with_ties_are_means_over_all_orders() -> None:
    rng = np.random.default_rng(7)
    pairs = []
    for _ in range(40):
        sides = []
        for _ in range(2):
            names = rng.permutation(list("abcdexyz"))[: rng.integers(1, 6)]
            sides.append({str(name): float(rng.integers(3)) for name in names})
        pairs.append((sides[0], sides[1]))
    for k in (2, 3):
        found = of_pairs(pairs, k, depth=4)
        for place, (first, second) in enumerate(pairs):
            both = list(itertools.product(orders(first), orders(second)))
            taus = [tau(a[:k], b[:k]) for a, b in both]
            assert found.tau[place] == pytest.approx(float(sum(t for t in taus if t) / len(taus)), abs=1e-12)
            mean = sum(rbo(a, b, 4, Fraction(3, 4)) for a, b in both) / len(both)
            assert found.rbo[place] == pytest.approx(float(mean), abs=1e-12)


def test_the_ends_of_the_scale() -> None:
    """The same list 1, nothing in common -1 and 0; the same ten in reverse (k + 1)/(3k - 1)."""
    ten = {name: float(-at) for at, name in enumerate("abcdexyz")}
    turned = dict(zip(reversed(ten), ten.values(), strict=True))
    same, apart, reverse = (of_pairs([pair], 8) for pair in ((ten, ten), PAIRS[2], (ten, turned)))
    assert [float(each[0]) for each in same] == pytest.approx([1, 1, 1])
    assert [float(each[0]) for each in apart] == pytest.approx([0, -1, 0])
    assert float(reverse.tau[0]) == pytest.approx(9 / 23)


def test_large_tie_groups_cost_no_more_than_the_groups() -> None:
    """2,000 documents tie in both lists: each of the first ten is common with chance 10/2000."""
    count = 2_000
    one = TiedLists.of(np.arange(count), np.zeros(count), np.array([0, count]), count)
    assert len(find_shared_documents(one, one).list) == 1
    found = reshuffle(one, one)
    assert float(found.overlap[0]) == pytest.approx(10 / count)
    assert -1 < float(found.tau[0]) < -0.98  # nearly nothing in common


def test_an_empty_list_has_no_value() -> None:
    found = of_pairs([({}, {"a": 1.0}), ({"a": 1.0}, {"a": 1.0})], 2)
    assert [math.isnan(each[0]) for each in found] == [True, True, True]
    assert [float(each[1]) for each in (found.overlap, found.rbo)] == pytest.approx([1, 1])


def test_overlaps_of_many_lists_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (ranked([pair[side] for pair in PAIRS]) for side in (0, 1))
    whole = overlaps(find_shared_documents(first, second), len(PAIRS), 5)
    monkeypatch.setattr("trueval.comparison.resampling.reshuffle.MOST_CELLS", 1)
    assert overlaps(find_shared_documents(first, second), len(PAIRS), 5) == pytest.approx(whole, abs=1e-12)


def test_bad_input() -> None:
    one = ranked([PAIRS[0][0]])
    with pytest.raises(InputError, match="between 0 and 1"):
        rank_biased_overlap(np.ones((1, 2)), np.full((2, 1), 2), 1.0)
    with pytest.raises(InputError, match="k must be at least 1"):
        reshuffle(one, one, k=0)
    with pytest.raises(InputError, match="As many lists"):
        reshuffle(one, ranked([PAIRS[0][0]] * 2))
