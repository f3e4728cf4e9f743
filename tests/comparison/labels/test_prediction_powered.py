"""Totals by people's labels and the judge's: every sample of tiny populations, in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from trueval.comparison.labels.prediction_powered import (
    LabeledUnits,
    correlation,
    rounding_tolerance,
    total,
    tune_judge_weights,
)

PEOPLE = [Fraction(3, 4), Fraction(1, 8), Fraction(1, 2), Fraction(1), Fraction(0), Fraction(5, 8)]
JUDGE = [Fraction(1), Fraction(1, 4), Fraction(5, 8), Fraction(3, 4), Fraction(1, 2), Fraction(1, 8)]


def mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def covariance(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum(((x - mean(a)) * (y - mean(b)) for x, y in zip(a, b, strict=True)), Fraction(0)) / (len(a) - 1)


def naive_weight(strata: list[tuple[int, list[tuple[Fraction, Fraction]]]], without: tuple[int, int]) -> Fraction:
    """Cov / Var over strata, one unit left out, each stratum by its part in the variance of the whole sample."""
    factors = [Fraction(size * (size - len(rows)), len(rows)) for size, rows in strata]
    if not any(factors):
        factors = [Fraction(size**2, len(rows)) for size, rows in strata]
    top = bottom = Fraction(0)
    for h, (factor, (_, rows)) in enumerate(zip(factors, strata, strict=True)):
        kept = [row for i, row in enumerate(rows) if (h, i) != without]
        if len(kept) < 2:
            continue
        people, judge = ([row[k] for row in kept] for k in (0, 1))
        top += factor * covariance(people, judge)
        bottom += factor * covariance(judge, judge)
    return min(max(top / bottom, Fraction(0)), Fraction(1)) if bottom else Fraction(0)


def naive(
    strata: list[tuple[int, list[tuple[Fraction, Fraction]]]], judge_total: Fraction, weight: Fraction | None
) -> tuple[Fraction, Fraction]:
    """Estimate and variance, by the definition: N_h - n_h + 1 passages might have been the one that is left out."""
    weights = {
        (h, i): naive_weight(strata, (h, i)) if weight is None else weight
        for h, (_, rows) in enumerate(strata)
        for i in range(len(rows))
    }
    level = mean(list(weights.values()))
    estimate, variance = level * judge_total, Fraction(0)
    for h, (size, rows) in enumerate(strata):
        n = len(rows)
        people, judge = ([row[k] for row in rows] for k in (0, 1))
        own = [weights[h, i] for i in range(n)]
        estimate += size * (mean(people) - level * mean(judge))
        estimate -= Fraction(size - n, n) * sum(
            (w * (j - mean(judge)) for w, j in zip(own, judge, strict=True)), Fraction(0)
        )
        left = [p - mean(people) - w * (j - mean(judge)) for p, j, w in zip(people, judge, own, strict=True)]
        variance += Fraction(size * (size - n), n) * sum(x * x for x in left) / (n - 1)
    return estimate, variance


def units(strata: list[tuple[int, list[tuple[Fraction, Fraction]]]], judge_total: Fraction) -> LabeledUnits:
    rows = [(p, j, h) for h, (_, own) in enumerate(strata) for p, j in own]
    people, judge, stratum = (np.array(column) for column in zip(*rows, strict=True))
    sizes = np.array([float(size) for size, _ in strata])
    return LabeledUnits(people.astype(float), judge.astype(float), stratum.astype(np.int64), sizes, float(judge_total))


def same(found: LabeledUnits, weight: Fraction | None, expected: tuple[Fraction, Fraction]) -> None:
    weights = tune_judge_weights(found) if weight is None else np.full(len(found.people), float(weight))
    ours = total(found, weights)
    assert ours.estimate == pytest.approx(float(expected[0]), abs=1e-12)
    assert ours.variance == pytest.approx(float(expected[1]), abs=1e-12)


@pytest.mark.parametrize("drawn", [2, 3, 4, 5, 6])
def test_of_all_samples_of_one_stratum_the_mean_is_the_truth(drawn: int) -> None:
    rows, estimates = list(zip(PEOPLE, JUDGE, strict=True)), []
    for sample in combinations(rows, drawn):
        strata = [(6, list(sample))]
        estimates.append(naive(strata, sum(JUDGE), None))
        same(units(strata, sum(JUDGE)), None, estimates[-1])
    assert mean([estimate for estimate, _ in estimates]) == sum(PEOPLE)  # exactly, whatever the tuned weights are
    assert (len({estimate for estimate, _ in estimates}) == 1) == (drawn == 6)


@pytest.mark.parametrize("weight", [Fraction(0), Fraction(1, 3), Fraction(1)])
def test_of_all_samples_of_two_strata_mean_and_variance_are_the_truth(weight: Fraction) -> None:
    rows = list(zip(PEOPLE, JUDGE, strict=True))
    found = []
    for first, second in product(
        combinations(rows[:3], 2), combinations([*rows[3:], (Fraction(1, 4), Fraction(1))], 3)
    ):
        strata = [(3, list(first)), (4, list(second))]
        found.append(naive(strata, sum(JUDGE) + 1, weight))
        same(units(strata, sum(JUDGE) + 1), weight, found[-1])
    truth = sum(PEOPLE) + Fraction(1, 4)
    estimates = [estimate for estimate, _ in found]
    assert mean(estimates) == truth
    assert mean([(estimate - truth) ** 2 for estimate in estimates]) == mean([variance for _, variance in found])


def test_tuned_over_strata_is_nearly_without_bias() -> None:
    """One weight for all strata depends on what each was drawn: a bias of second order, here below .02 of the error."""
    rows = list(zip(PEOPLE, JUDGE, strict=True))
    estimates = []
    for first, second in product(
        combinations(rows[:3], 2), combinations([*rows[3:], (Fraction(1, 4), Fraction(1))], 3)
    ):
        strata = [(3, list(first)), (4, list(second))]
        estimates.append(naive(strata, sum(JUDGE) + 1, None)[0])
        same(units(strata, sum(JUDGE) + 1), None, naive(strata, sum(JUDGE) + 1, None))
    truth = sum(PEOPLE) + Fraction(1, 4)
    error = float(mean([(estimate - truth) ** 2 for estimate in estimates])) ** 0.5
    assert abs(float(mean(estimates) - truth)) < 0.02 * error


@pytest.mark.parametrize("weight", [Fraction(0), Fraction(1, 2), Fraction(1)])
def test_of_all_worlds_the_variance_for_new_queries_is_the_truth(weight: Fraction) -> None:
    """Three queries from a world of three kinds, two of them graded: f Var(H) / n + (1 - f) Var(H - l J) / n."""
    kinds = [(Fraction(1), Fraction(1, 2)), (Fraction(0), Fraction(1, 4)), (Fraction(1, 2), Fraction(1))]
    squares, variances = [], []
    for world in product(kinds, repeat=3):
        for sample in combinations(world, 2):
            estimate, variance = naive([(3, list(sample))], sum(judge for _, judge in world), weight)
            people = [row[0] for row in sample]
            squares.append((estimate / 3 - Fraction(1, 2)) ** 2)
            variances.append(variance / 9 + covariance(people, people) / 3)
    assert mean(squares) == mean(variances)


def test_strata_drawn_whole_weigh_as_if_a_part_were_drawn() -> None:
    """Of populations c times as large the factors are c (c - 1) n, those of whole strata n: the same weights."""
    people, judge = (np.array(values, dtype=float) for values in (PEOPLE, JUDGE))
    whole = LabeledUnits(people, judge, np.array([0, 0, 1, 1, 1, 1]), np.array([2.0, 4.0]), float(judge.sum()))
    part = whole._replace(population=5 * whole.population)
    assert 0 < tune_judge_weights(part)[0] < 1
    assert tune_judge_weights(whole) == pytest.approx(tune_judge_weights(part))


def test_where_there_are_no_values_rounding_is_no_less_than_nothing() -> None:
    assert 0 <= rounding_tolerance(np.array([])) < 1e-300


def test_a_judge_that_says_the_same_of_all_has_no_weight() -> None:
    people = np.array([0.1, 0.4, 0.9])
    found = LabeledUnits(people, np.full(3, 0.3), np.zeros(3, dtype=np.int64), np.array([10.0]), 3.0)
    assert tune_judge_weights(found).tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(correlation(found))
    assert total(found, tune_judge_weights(found)).estimate == pytest.approx(10 * people.mean())


# Differences of two values of P@5 that are all .2, as they are stored.
FIFTHS = [0.4 - 0.2, 0.6 - 0.4, 0.8 - 0.6, 1.0 - 0.8]


@pytest.mark.parametrize("strata", [[0] * 6, [0, 0, 1, 1, 1, 1]])
@pytest.mark.parametrize("pattern", [[1, 2, 1, 2, 1, 2], [0, 0, 0, 1, 2, 3], [2, 2, 2, 2, 2, 1], [2, 1, 3, 0, 0, 0]])
def test_a_judge_whose_values_differ_by_rounding_has_no_weight(pattern: list[int], strata: list[int]) -> None:
    people, judge = np.array([0.0, 0.2, -0.2, 0.4, 0.0, -0.2]), np.array([FIFTHS[at] for at in pattern])
    sizes = np.array([10.0, 20.0])[: max(strata) + 1]
    found = LabeledUnits(people, judge, np.array(strata), sizes, 3.0, rounding_tolerance(np.array([1.0])))
    assert len(set(judge.tolist())) > 1
    assert tune_judge_weights(found).tolist() == [0.0] * 6
    assert np.isnan(correlation(found))


def test_what_is_rounding_is_asked_without_each_unit() -> None:
    """Without the one value that differs the others are the same; without another one they differ."""
    people, judge = np.array([0.0, 0.2, 0.1, 0.4]), np.array([FIFTHS[1], FIFTHS[2], FIFTHS[0], 0.6])
    found = LabeledUnits(
        people, judge, np.zeros(4, dtype=np.int64), np.array([10.0]), 3.0, rounding_tolerance(np.array([1.0]))
    )
    alike = LabeledUnits(people, np.array([0.2, 0.2, 0.2, 0.6]), found.stratum, found.population, 3.0)
    assert tune_judge_weights(found)[3] == 0.0
    assert tune_judge_weights(found) == pytest.approx(tune_judge_weights(alike), abs=1e-12)
    assert (tune_judge_weights(found)[:3] > 0).all()


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9])
def test_without_a_unit_far_from_the_others_the_weight_is_that_of_the_others(far: float) -> None:
    """Sums of squares less the square of one that is far larger would have lost the digits of the rest."""
    people, judge = np.array([0.1, 0.7, 0.3, 0.2, 0.9]), np.array([0.2, 0.8, 0.5, 0.1, far])
    found = LabeledUnits(people, judge, np.zeros(5, dtype=np.int64), np.array([10.0]), 3.0)
    rest = np.cov(people[:4], judge[:4])
    assert tune_judge_weights(found)[4] == pytest.approx(rest[0, 1] / rest[1, 1], rel=1e-9)


def test_a_judge_that_is_always_right_leaves_nothing_open() -> None:
    people = np.array([0.1, 0.4, 0.9, 0.2])
    found = LabeledUnits(people, people, np.array([0, 0, 1, 1]), np.array([10.0, 30.0]), 17.0)
    ours = total(found, tune_judge_weights(found))
    assert tune_judge_weights(found).tolist() == [1.0] * 4
    assert ours.estimate == pytest.approx(17.0)
    assert ours.variance == pytest.approx(0.0, abs=1e-20)


def test_degrees_are_at_most_one_less_than_the_answers_and_few_where_few_values_are_large() -> None:
    even, far = np.arange(9.0), np.array([0.0] * 8 + [9.0])

    def degrees(people: np.ndarray, sizes: list[int], populations: list[float]) -> float:
        strata = np.repeat(np.arange(len(sizes)), sizes)
        return total(LabeledUnits(people, people, strata, np.array(populations), 0.0), np.zeros(9)).degrees

    assert degrees(even, [9], [50.0]) == pytest.approx(8)
    # s^2 = 9, m_4 = 1/9 (8 1^4 + 8^4) = 456: Var(s^2) = (456 - 81 * 6/8) / 9 = 43.92, 2 * 81 / 43.92
    assert degrees(far, [9], [50.0]) == pytest.approx(2 * 81 / ((456 - 81 * 6 / 8) / 9))
    # Satterthwaite: parts 50 (50 - 3) / 3 and 20 (20 - 6) / 6 * 3.5
    parts = np.array([50 * 47 / 3, 20 * 14 / 6 * 3.5])
    assert degrees(even, [3, 6], [50.0, 20.0]) == pytest.approx(parts.sum() ** 2 / (parts**2 / [2, 5]).sum())


def test_on_disjoint_samples_the_estimate_and_its_variance_are_those_of_ppi_python() -> None:
    """Our weight l of one sample inside all is theirs, (1 - f) l, of two samples apart; so is the variance."""
    ppi = pytest.importorskip("ppi_py", reason="needs the package ppi-python")
    rng = np.random.default_rng(23)
    people = rng.random(60)
    judge = 0.6 * people + 0.4 * rng.random(60)
    others = np.tile(judge, 4)  # as spread as the labeled ones: they take the variance of each sample, we of one
    whole, part = 300.0, 60 / 300
    found = LabeledUnits(
        people, judge, np.zeros(60, dtype=np.int64), np.array([whole]), float(judge.sum() + others.sum())
    )
    for weight in (0.4, 1.0):
        ours = total(found, np.full(60, weight))
        point = ppi.ppi_mean_pointestimate(people, judge, others, lam=(1 - part) * weight)
        low, high = ppi.ppi_mean_ci(people, judge, others, lam=(1 - part) * weight, alpha=0.05)
        variance = ours.variance / whole**2 + people.var(ddof=1) / whole
        assert ours.estimate / whole == pytest.approx(float(np.squeeze(point)), abs=1e-12)
        # They divide by n where we divide by n - 1.
        theirs = float(np.squeeze(high - low)) / 2 / 1.959963984540054
        assert np.sqrt(variance * 59 / 60) == pytest.approx(theirs, rel=1e-9)
    tuned_by_them = ppi.ppi_mean_pointestimate(people, judge, others, lam=None)
    assert total(found, tune_judge_weights(found)).estimate / whole == pytest.approx(
        float(np.squeeze(tuned_by_them)), abs=1e-3
    )
