"""Which measures are refused for their norm: exactly those that labels of other passages change."""

from __future__ import annotations

import numpy as np
import pytest

from trueval import evaluate
from trueval.comparison.labels.contributions import ADDITIVE, NORMALIZED, Contributions
from trueval.measures import parse

# A run that ranks a, b, c; d is judged and beyond the cutoff.
RUN = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
BINARY = {**dict.fromkeys(("R", "F1", "P", "Hits"), "rel=4"), "RBP": "p=0.8, rel=4"}


@pytest.mark.parametrize("name", [*NORMALIZED, *ADDITIVE])
def test_a_label_below_the_cutoff_changes_normalized_measures_and_no_sum(name: str) -> None:
    measure = str(parse(f"{name}({BINARY[name]})@2" if name in BINARY else f"{name}@2"))
    found = {grade: evaluate(RUN, {"q": {"a": 5, "b": 3, "c": 1, "d": grade}}, measure) for grade in (1, 5)}
    low, high = (each[measure].expected for each in found.values())
    assert (low != high) == (name in NORMALIZED)


def test_the_sums_that_are_offered_can_be_corrected() -> None:
    assert set(NORMALIZED.values()) <= set(ADDITIVE)
    assert {parse(f"{name}@2").name for name in NORMALIZED} == set(NORMALIZED)


def test_a_difference_counts_where_both_runs_do() -> None:
    values, zero = np.array([0.75, 0.5, 0.25, 0.0]), np.zeros(4)
    one = Contributions(values, values + 1, zero + 1, np.array([True, True, False, False]), 0.125)
    other = Contributions(values[::-1], values, zero, np.array([True, False, True, False]), 0.25)
    found = one.less(other)
    assert found.there.tolist() == [True, False, False, False]
    assert found.judge.tolist() == [0.75, 0.25, -0.25, -0.75]
    assert (found.people.tolist(), found.constant.tolist(), found.rounding) == ([1.0] * 4, [1.0] * 4, 0.25)
