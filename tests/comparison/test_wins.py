"""Listed values are used only where their mean is the expectation."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.comparison.made_scores import LOSS, made_scores

import trueval as tv
from trueval.comparison.alignment import align
from trueval.comparison.orders import Atoms
from trueval.comparison.win_probability import WinProbability, normal
from trueval.comparison.wins import Column, Winners


class Listed:
    """Tie orders that give one distribution, whatever is asked."""

    are_of_documents = True

    def __init__(self, values: list[float], probabilities: list[float]) -> None:
        self.atoms = Atoms(np.array(values), np.array(probabilities))

    def distribution(self, measure: object, queries: np.ndarray) -> Atoms:
        return self.atoms


def winners(off: float, *, measures: Any = "nDCG@10") -> Winners:
    """Two runs of two queries: the first is 0.2 or 0.6 on one of them, off by so much in the list; 0.5 on the other."""
    a = made_scores("a", [0.4, 0.5], [0.2, 0.0], measures=measures)
    b = made_scores("b", [0.45, 0.5], measures=measures)
    listed: Any = Listed([0.2 + off, 0.6 + off], [0.5, 0.5])
    return Winners(align([a, b]), [listed, listed], tie_samples=0, seed=0)


def probability(off: float, **choices: Any) -> WinProbability:
    return winners(off, **choices).probability(0, 0, 1)


@pytest.mark.parametrize("off", [0.0, 1.5e-9, -1.5e-9])
def test_a_list_with_the_expected_mean_is_used(off: float) -> None:
    assert probability(off) == (0.5, 0.5, 0.5, "exact")


@pytest.mark.parametrize("off", [3e-9, -3e-9, 0.1, -0.1])
def test_a_list_with_another_mean_is_not(off: float) -> None:
    """A billionth for each query and one more is allowed, 2e-9 here."""
    case = winners(off)
    sides = [Column.of(case.aligned, run, 0).spread() for run in (0, 1)]
    assert case.probability(0, 0, 1) == normal(*sides)
    assert case.probability(0, 0, 1).method == "normal"


def test_the_list_of_a_measure_that_is_better_when_lower_is_turned() -> None:
    """0.2 with a chance of 3/4, 1 with 1/4, mean 0.4: against 0.45 it is the lower one in three of four orders."""
    for measures, value in (("nDCG@10", 0.25), ((LOSS,), 0.75)):
        case = winners(0.0, measures=measures)
        listed: Any = Listed([0.2, 1.0], [0.75, 0.25])
        found = Winners(case.aligned, [listed, listed], 0, 0).probability(0, 0, 1)
        assert found == (value, value, value, "exact")


def test_sums_over_queries_are_listed_while_they_are_few() -> None:
    """Of 2, 3 and 5 tied documents one is relevant: 30 orders of ranks, against a sum of 1 + 1 + 1/5."""
    sizes = (2, 3, 5)
    tied = {f"q{size}": {f"d{place}": 1.0 for place in range(size)} for size in sizes}
    fixed = {
        f"q{size}": {f"d{place}": float(place if size == 5 else -place) for place in range(size)} for size in sizes
    }
    judgments = {f"q{size}": {"d0": 1} for size in sizes}
    (found,) = tv.compare({"tied": tied, "fixed": fixed}, judgments, "RR", resamples=100).differences
    sums = [sum(1 / rank for rank in ranks) for ranks in product(*(range(1, size + 1) for size in sizes))]
    assert len({round(each, 9) for each in sums}) > 15
    wins = sum((each > 2.2 + 1e-9) + 0.5 * (abs(each - 2.2) < 1e-9) for each in sums) / 30
    assert (found.win.method, found.win.value) == ("exact", pytest.approx(wins, abs=1e-12))
