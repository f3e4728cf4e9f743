"""The worst case over label tables, against linear programming and against all tables."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from trueval.comparison.judges.worst_labels import ErrorBounds, labels_to_turn, worst_difference
from trueval.errors import InputError


def all_tables(weights, classes, gains, bounds) -> float:
    """The least sum over every table inside the bounds."""
    best = np.inf
    for table in product(range(len(gains)), repeat=len(weights)):
        chosen = np.array(table)
        counts = np.zeros(bounds.least.shape, dtype=int)
        np.add.at(counts, (classes, chosen), 1)
        if ((bounds.least <= counts) & (counts <= bounds.most)).all():
            best = min(best, float(weights @ gains[chosen]))
    return best


def by_linear_programming(weights, classes, gains, bounds) -> float:
    """Share x[d, h] of each grade; the matrix is that of a transport problem, so that a table is among the optima."""
    documents, grades = len(weights), len(gains)
    cost = (weights[:, None] * gains).ravel()
    once = np.kron(np.eye(documents), np.ones(grades))
    rows, limits = [], []
    for at, grade in product(range(len(bounds.least)), range(grades)):
        row = np.zeros((documents, grades))
        row[classes == at, grade] = 1
        rows += [row.ravel(), -row.ravel()]
        limits += [bounds.most[at, grade], -bounds.least[at, grade]]
    found = linprog(cost, A_ub=np.array(rows), b_ub=limits, A_eq=once, b_eq=np.ones(documents), bounds=(0, 1))
    return float(found.fun) if found.success else np.inf


def world(rng: np.random.Generator, documents: int, classes: int, grades: int):
    own = rng.integers(classes, size=documents)
    true = rng.integers(grades, size=documents)
    counts = np.zeros((classes, grades), dtype=np.int64)
    np.add.at(counts, (own, true), 1)
    slack = rng.integers(0, 3, size=(2, *counts.shape))
    weights = rng.normal(size=documents).round(2) * (rng.random(documents) < 0.8)
    gains = np.sort(rng.choice([0.0, 0.0, 0.25, 1.0, 3.0, -0.5], size=grades))
    rng.shuffle(gains)
    bounds = ErrorBounds(np.arange(grades, dtype=float), np.maximum(counts - slack[0], 0), counts + slack[1])
    return weights, own, gains, bounds


@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_least_over_all_tables(seed) -> None:
    rng = np.random.default_rng(seed)
    found = world(rng, documents=6, classes=2, grades=3)
    assert worst_difference(*found) == pytest.approx(all_tables(*found), abs=1e-12)
    assert worst_difference(*found) == pytest.approx(by_linear_programming(*found), abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_linear_program_with_many_passages(seed) -> None:
    found = world(np.random.default_rng(100 + seed), documents=40, classes=3, grades=4)
    assert worst_difference(*found) == pytest.approx(by_linear_programming(*found), abs=1e-9)


def test_bounds_that_no_table_keeps_are_refused() -> None:
    bounds = ErrorBounds(np.array([0.0, 1.0]), np.array([[0, 3]]), np.array([[2, 3]]))
    with pytest.raises(InputError, match="No labels are inside the bounds"):
        worst_difference(np.array([1.0, 2.0]), np.zeros(2, dtype=int), np.array([0.0, 1.0]), bounds)


@pytest.mark.parametrize("seed", range(20))
def test_labels_to_turn_is_the_least_number_over_all_changes(seed) -> None:
    rng = np.random.default_rng(seed)
    weights, gains = rng.normal(size=6).round(2), np.array([0.0, 0.5, 1.0])
    own = rng.integers(3, size=6)
    difference = float(weights @ gains[own])
    if difference < 0:
        weights, difference = -weights, -difference
    least = min(
        (
            int((np.array(table) != own).sum())
            for table in product(range(3), repeat=6)
            if weights @ gains[np.array(table)] <= 1e-12
        ),
        default=None,
    )
    assert labels_to_turn(weights, gains[own], gains, difference) == least


def test_a_difference_that_no_label_turns() -> None:
    assert labels_to_turn(np.array([1.0]), np.array([1.0]), np.array([0.5, 1.0]), 1.0) is None
