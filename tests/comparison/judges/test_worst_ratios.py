"""Bounds on quotients hold against enumeration of all label tables, and are near where there are many queries."""

import itertools

import numpy as np
import pytest

from trueval.comparison.judges.worst_labels import ErrorBounds, worst_difference, worst_labels
from trueval.comparison.judges.worst_ratios import RatioSums, worst_ratio


def discounts(number: int) -> np.ndarray:
    return 1 / np.log2(np.arange(2, number + 2))


def world(rng: np.random.Generator, queries: int, passages: int, grades: int, cutoff: int, recall: bool):
    """Two runs in random order, some passages with people's grades, and bounds with a table inside."""
    gains = np.minimum(np.arange(grades), 1.0) if recall else rng.choice([1.0, 2.0]) ** np.arange(grades) * 1.0
    if not recall:
        gains = np.arange(float(grades)) if gains[-1] == 1 else gains - 1
    ranks = np.ones(passages) if recall else discounts(cutoff)
    top = np.concatenate((np.ones(cutoff) if recall else ranks, np.zeros(passages)))[:passages]
    lead, other = (np.concatenate([rng.permutation(top) for _ in range(queries)]) for _ in range(2))
    grade = rng.integers(0, grades, queries * passages)
    classes = np.where(rng.random(len(grade)) < 0.2, -1, grade)
    true = np.where(rng.random(len(grade)) < 0.25, rng.integers(0, grades, len(grade)), grade)
    table = np.zeros((grades, grades), dtype=int)
    np.add.at(table, (classes[classes >= 0], true[classes >= 0]), 1)
    least, most = np.maximum(table - rng.integers(0, 2, table.shape), 0), table + rng.integers(0, 2, table.shape)
    query = np.repeat(np.arange(queries), passages)
    sums = RatioSums(lead - other, lead, query, grade, classes, gains, ranks)
    return sums, ErrorBounds(np.arange(float(grades)), least, most), np.where(classes >= 0, true, grade)


def least_by_enumeration(sums: RatioSums, bounds: ErrorBounds) -> float:
    free, number, found = np.flatnonzero(sums.classes >= 0), len(sums.gains), []
    for given in itertools.product(range(number), repeat=len(free)):
        grade, table = sums.grade.copy(), np.zeros((number, number), dtype=int)
        grade[free] = given
        np.add.at(table, (sums.classes[free], grade[free]), 1)
        if (bounds.least <= table).all() and (table <= bounds.most).all():
            found.append(sums.difference(grade))
    return min(found)


@pytest.mark.parametrize("seed", range(40))
def test_they_hold_the_least_difference_over_all_tables(seed) -> None:
    rng = np.random.default_rng(seed)
    grades, queries = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    passages = int(rng.integers(2, 6)) if queries == 1 else int(rng.integers(2, 4) if queries == 2 else 2)
    sums, bounds, _ = world(rng, queries, passages, grades, int(rng.integers(1, passages + 1)), seed % 3 == 0)
    exact, found = least_by_enumeration(sums, bounds), worst_ratio(sums, bounds)
    assert found.low <= exact + 1e-9
    assert found.reached >= exact - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_no_table_of_many_passages_is_below_them(seed) -> None:
    """The table that made the bounds, and tables with the least sums by other norms."""
    rng = np.random.default_rng(100 + seed)
    sums, bounds, true = world(rng, 20, 12, 4, 6, seed % 2 == 0)
    found = worst_ratio(sums, bounds)
    assert found.low <= found.reached <= sums.difference(true) + 1e-9
    for _ in range(20):
        norms = rng.uniform(0.5, 3.0, 20)
        scaled = sums.weights / norms[sums.query]
        labels = worst_labels(scaled, sums.classes, sums.gains, bounds)
        assert sums.difference(np.where(sums.classes >= 0, labels, sums.grade)) >= found.low - 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_labels_have_the_least_sum_and_are_inside(seed) -> None:
    rng = np.random.default_rng(seed)
    sums, bounds, _ = world(rng, 6, 8, 4, 5, False)
    labels = worst_labels(sums.weights, sums.classes, sums.gains, bounds)
    free = sums.classes >= 0
    table = np.zeros(bounds.least.shape, dtype=int)
    np.add.at(table, (sums.classes[free], labels[free]), 1)
    assert (bounds.least <= table).all()
    assert (table <= bounds.most).all()
    sum_of_labels = float((sums.weights * sums.gains[labels])[free].sum())
    assert sum_of_labels == pytest.approx(worst_difference(sums.weights, sums.classes, sums.gains, bounds), abs=1e-9)


def test_few_errors_of_many_leave_a_lead_that_is_shown() -> None:
    """Half a percent of each grade: the bound and a table are near each other, and both above 0."""
    rng = np.random.default_rng(1)
    queries, passages = 50, 30
    grade = rng.choice(4, p=[0.6, 0.2, 0.12, 0.08], size=queries * passages)

    def run(quality: float) -> np.ndarray:
        weights = np.zeros((queries, passages))
        order = np.argsort(-(grade.reshape(queries, passages) * quality + rng.normal(size=weights.shape)), axis=1)
        np.put_along_axis(weights, order[:, :10], np.tile(discounts(10), (queries, 1)), axis=1)
        return weights.ravel()

    lead, other = run(1.6), run(0.8)
    query = np.repeat(np.arange(queries), passages)
    sums = RatioSums(lead - other, lead, query, grade, grade, np.arange(4.0), discounts(10))
    sizes = np.bincount(grade)
    wrong = np.ceil(0.005 * sizes).astype(int)
    least, most = np.diag(sizes - wrong), np.minimum(wrong[:, None], sizes[:, None]).repeat(4, axis=1)
    np.fill_diagonal(most, sizes)
    found = worst_ratio(sums, ErrorBounds(np.arange(4.0), least, most))
    assert 0 < found.low <= found.reached < sums.difference(grade)
    assert found.reached - found.low < 0.25 * sums.difference(grade)
    for _ in range(30):
        changed = grade.copy()
        for at in range(4):
            some = rng.choice(np.flatnonzero(grade == at), wrong[at], replace=False)
            changed[some] = rng.integers(0, 4, wrong[at])
        assert sums.difference(changed) >= found.low
