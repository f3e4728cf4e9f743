"""An audit samples what is rare more often: with its weights, tables and coefficients are those of all passages."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod

import numpy as np
import pytest
from tests.golden.agreement import twins
from tests.golden.validation.test_coefficients import QUICK, ratings

from trueval.golden.validation.coefficients import kappa
from trueval.golden.validation.ratings import Ratings, SampleDesign

# People and judge of ten passages, and the stratum that each is drawn from: by the judge's grade.
POPULATION = [(0, 0), (0, 0), (1, 0), (0, 0), (2, 0), (0, 0), (2, 2), (1, 2), (3, 2), (2, 2)]
STRATA = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
SIZES = {"low": 6, "high": 4}
SAMPLED = (2, 3)


def sampled(some: tuple[int, ...]) -> tuple[Ratings, np.ndarray]:
    found = ratings([list(POPULATION[place]) for place in some])
    design = SampleDesign("documents", SIZES, np.array([STRATA[place] for place in some]))
    found = replace(found, design=design)
    return found, found.weights(found.both(0, 1))


def samples() -> list[tuple[int, ...]]:
    low = [place for place in range(10) if STRATA[place] == 0]
    high = [place for place in range(10) if STRATA[place] == 1]
    return [one + other for one, other in product(combinations(low, SAMPLED[0]), combinations(high, SAMPLED[1]))]


def test_over_all_samples_the_weighted_table_is_that_of_the_population() -> None:
    every = samples()
    assert len(every) == 15 * 4
    total = np.zeros((4, 4))
    for some in every:
        found, weights = sampled(some)
        total += found.table(0, 1, weights).sum(axis=0)
    expected = np.zeros((4, 4))
    for people, judge in POPULATION:
        expected[people, judge] += 1
    np.testing.assert_allclose(total / len(every), expected, atol=1e-12)


def test_a_weighted_sample_gives_the_weighted_coefficient_of_its_definition() -> None:
    exact = [Fraction(SIZES["low"], SAMPLED[0])] * 2 + [Fraction(SIZES["high"], SAMPLED[1])] * 3
    for some in samples()[::12]:
        found, weights = sampled(some)
        told = found.coefficients(0, 1, weights, QUICK)
        for name, far in (("kappa", twins.unlike), ("kappa_linear", twins.apart), ("kappa_quadratic", twins.squared)):
            twin = twins.kappa([POPULATION[place] for place in some], far, exact)
            assert told[name].value == pytest.approx(float(twin or 0), abs=1e-12)


# Passages of each pair of grades in two strata; of the first few are sampled, of the second most.
TYPES = ({(0, 0): 8, (1, 0): 2, (2, 0): 2}, {(2, 2): 2, (1, 2): 1, (3, 2): 1})
DRAWN = (2, 3)


def compositions(stratum: dict[tuple[int, int], int], size: int) -> list[tuple[int, np.ndarray]]:
    """How many samples of a size there are of each table, and the table."""
    found = []
    for counts in product(*(range(count + 1) for count in stratum.values())):
        if sum(counts) == size:
            table = np.zeros((4, 4))
            for (people, judge), count in zip(stratum, counts, strict=True):
                table[people, judge] = count
            found.append((prod(comb(all_, one) for all_, one in zip(stratum.values(), counts, strict=True)), table))
    return found


def mean_errors(times: int) -> tuple[float, float]:
    """Mean error of the weighted and of the plain quadratic κ over every sample of a population so many times."""
    strata = [{pair: times * count for pair, count in of.items()} for of in TYPES]
    sizes, far = [sum(of.values()) for of in strata], np.subtract.outer(np.arange(4), np.arange(4)) ** 2.0
    truth = sum(table for of, size in zip(strata, sizes, strict=True) for _, table in compositions(of, size))
    ways, weighted, plain = [], [], []
    for (one, low), (other, high) in product(
        *(compositions(of, times * n) for of, n in zip(strata, DRAWN, strict=True))
    ):
        ways.append(one * other)
        weighted.append(low * sizes[0] / (times * DRAWN[0]) + high * sizes[1] / (times * DRAWN[1]))
        plain.append(low + high)
    share = np.array(ways) / sum(ways)
    goal = kappa(np.asarray(truth), far)
    return tuple(float(share @ kappa(np.array(tables), far) - goal) for tables in (weighted, plain))  # type: ignore[return-value]


def test_over_all_samples_the_error_of_the_weighted_kappa_goes_away_and_that_of_the_plain_stays() -> None:
    errors = [mean_errors(times) for times in (1, 2, 4, 8)]
    weighted, plain = (np.abs([each[side] for each in errors]) for side in (0, 1))
    assert (weighted[1:] < 0.7 * weighted[:-1]).all(), weighted
    assert weighted[-1] < 0.01
    assert plain.min() > 0.05, plain


def test_a_census_has_the_value_of_the_population_whatever_the_strata() -> None:
    found, weights = sampled(tuple(range(10)))
    assert weights.tolist() == [1.0] * 10
    told = found.coefficients(0, 1, weights, QUICK)
    assert told["kappa"].value == pytest.approx(float(twins.kappa(POPULATION, twins.unlike) or 0))
    units = [list(pair) for pair in POPULATION]
    assert told["alpha_ordinal"].value == pytest.approx(float(twins.alpha(units, None) or 0))


def test_items_stand_for_those_that_were_not_reached() -> None:
    design = SampleDesign("documents", {"a": 10, "b": 6, "c": 4}, np.array([0, 0, 0, 1]))
    answered = np.array([True, True, False, True])
    assert design.weights(answered).tolist() == [5.0, 5.0, 0.0, 6.0]
    assert design.coverage(answered) == pytest.approx(16 / 20)  # of c nobody knows anything
    queries = SampleDesign("queries", {"queries": 9}, np.array([0, 0, 1, 2]))
    assert queries.weights(answered).tolist() == [4.5, 4.5, 0.0, 4.5]
    assert queries.coverage(answered) == 1.0
