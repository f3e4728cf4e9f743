"""Agreement of rankings under ties against enumeration of all orders."""

import itertools
import math

import numpy as np
import pytest

from trueval.errors import InputError
from trueval.precision.scoring_agreement import TieResolution, agreement, resolution_of_ties


def orders(scores: list[float]) -> list[tuple[int, ...]]:
    """Every order of documents by descending score."""
    return [
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]


LISTS = [
    ([3.0, 2.0, 1.0, 0.0], [3.0, 2.0, 1.0, 0.0]),
    ([1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 2.0, 3.0]),
    ([2.0, 2.0, 1.0, 1.0, 1.0], [5.0, 5.0, 5.0, 1.0, 0.0]),
    ([0.0, 0.0], [0.0, 0.0]),
]


@pytest.mark.parametrize(("first", "second"), LISTS)
def test_overlap_is_the_mean_over_all_orders(first: list[float], second: list[float]) -> None:
    pairs = list(itertools.product(orders(first), orders(second)))
    for depth in range(1, len(first) + 1):
        expected = sum(len({*a[:depth]} & {*b[:depth]}) for a, b in pairs) / len(pairs)
        found = agreement(np.array(first), np.array(second), k=depth).overlap
        assert found * depth == pytest.approx(expected)


@pytest.mark.parametrize(("first", "second"), LISTS)
def test_rbo_is_the_mean_over_all_orders(first: list[float], second: list[float]) -> None:
    def rbo(a: tuple[int, ...], b: tuple[int, ...], p: float) -> float:
        """To depth 400, the rest being below 1e-15; past the end both hold all documents."""
        return (1 - p) * sum(p ** (d - 1) * len({*a[:d]} & {*b[:d]}) / min(d, len(a)) for d in range(1, 401))

    pairs = list(itertools.product(orders(first), orders(second)))
    expected = sum(rbo(a, b, 0.9) for a, b in pairs) / len(pairs)
    assert agreement(np.array(first), np.array(second)).rbo == pytest.approx(expected, abs=1e-12)


def test_tau_b_counts_ties() -> None:
    """5 of 6 pairs concordant, 1 tied in the first: (5 - 0) / sqrt(5 * 6)."""
    found = agreement(np.array([3.0, 2.0, 2.0, 1.0]), np.array([4.0, 3.0, 2.0, 1.0]))
    assert found.tau_b == pytest.approx(5 / math.sqrt(30))
    assert math.isnan(agreement(np.zeros(3), np.arange(3.0)).tau_b)


def test_long_lists_are_compared_over_the_first_thousand_of_the_reference() -> None:
    rng = np.random.default_rng(1)
    reference = np.arange(3000.0)[::-1]
    scores = reference.copy()
    scores[1000:] = -rng.random(2000)
    assert agreement(scores, reference) == (1.0, 1.0, pytest.approx(1.0))


def test_resolution_counts_pairs() -> None:
    rng = np.random.default_rng(4)
    low, fine, reference = rng.integers(0, 4, 40), rng.integers(0, 12, 40), rng.integers(0, 8, 40)
    counts = [0, 0, 0, 0, 0, 0]
    for i, j in itertools.combinations(range(40), 2):
        if low[i] == low[j]:
            counts[4] += 1
            counts[5] += bool(fine[i] == fine[j])
        if low[i] == low[j] and reference[i] != reference[j]:
            given = np.sign(fine[i] - fine[j]) * np.sign(reference[i] - reference[j])
            counts[0] += 1
            counts[{1: 1, -1: 2, 0: 3}[int(given)]] += 1
    assert resolution_of_ties(low * 1.0, fine * 1.0, reference * 1.0) == TieResolution(*counts)
    assert counts[2] > 0 < counts[3] < counts[5]


def test_bad_input() -> None:
    with pytest.raises(InputError, match="must score the same documents"):
        agreement(np.zeros(2), np.zeros(3))
    with pytest.raises(InputError, match="between 0 and 1"):
        agreement(np.zeros(2), np.arange(2.0), p=1.0)
