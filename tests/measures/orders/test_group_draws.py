"""Draws from a tie group, against binomial coefficients."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from trueval.measures.orders.group_draws import NEGLIGIBLE, likely, splits


def chance(population: int, marked: int, drawn: int, number: int) -> Fraction:
    return Fraction(comb(marked, number) * comb(population - marked, drawn - number), comb(population, drawn))


@pytest.mark.parametrize(
    ("population", "marked", "drawn"),
    [(5, 2, 3), (5, 0, 3), (5, 5, 3), (40, 39, 20), (900, 300, 450), (3000, 7, 1500), (3000, 1500, 7), (5000, 30, 40)],
)
def test_likely_numbers_have_hypergeometric_chances(population: int, marked: int, drawn: int) -> None:
    found = likely(population, marked, drawn)
    truth = [chance(population, marked, drawn, number) for number in found.numbers.tolist()]
    np.testing.assert_allclose(found.chance, [float(each) for each in truth], rtol=1e-12)
    # What is left out is nothing beside the likeliest number, on either side.
    for outside in (found.first - 1, found.end):
        if max(0, drawn - population + marked) <= outside <= min(marked, drawn):
            assert chance(population, marked, drawn, outside) <= NEGLIGIBLE * max(truth)


@pytest.mark.parametrize(("sizes", "population", "drawn"), [((3, 2, 4), 12, 5), ((2, 2, 1), 5, 3), ((0, 3, 2), 9, 8)])
def test_splits_have_the_joint_chances_of_three_kinds(sizes: tuple[int, int, int], population: int, drawn: int) -> None:
    total = 0.0
    for split in splits(sizes, population, drawn):
        for one, p in zip(split.one.numbers.tolist(), split.one.chance.tolist(), strict=True):
            for third, q in zip(split.third.numbers.tolist(), split.third.chance.tolist(), strict=True):
                counts, rest = (one, split.both - one, third), population - sum(sizes)
                ways = comb(rest, drawn - sum(counts))
                for size, count in zip(sizes, counts, strict=True):
                    ways *= comb(size, count)
                assert split.chance * p * q == pytest.approx(ways / comb(population, drawn), rel=1e-12)
                total += split.chance * p * q
    assert total == pytest.approx(1, rel=1e-14)
