"""Aggregates of labels, against their definitions."""

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.errors import PolicyError
from trueval.golden.aggregate import aggregated, errors_of, majority, median, posterior

labels = st.lists(st.integers(1, 5), min_size=1, max_size=7)


@given(labels)
def test_median_is_the_lower_median(given: list[int]) -> None:
    assert median(given) == statistics.median_low(given)


@given(labels)
def test_majority_is_a_mode(given: list[int]) -> None:
    modes = statistics.multimode(given)
    found = majority(given)
    assert found in modes
    assert all((abs(found - median(given)), found) <= (abs(each - median(given)), each) for each in modes)


def drawn(sd: float, rounds: int, passages: int = 4000) -> tuple[np.ndarray, list[list[int]]]:
    rng = np.random.default_rng(3)
    truth = rng.choice([1, 2, 3, 4, 5], p=[0.5, 0.2, 0.15, 0.1, 0.05], size=passages)
    noisy = np.clip(np.rint(truth[:, None] + sd * rng.normal(size=(passages, rounds))), 1, 5).astype(int)
    return truth, noisy.tolist()


@pytest.mark.parametrize("sd", [0.3, 0.6, 0.9])
def test_the_error_of_a_judge_is_found(sd: float) -> None:
    _, given = drawn(sd, 3)
    found = errors_of(given)
    assert found.sd == pytest.approx(sd, abs=0.07)
    assert found.shares == pytest.approx([0.5, 0.2, 0.15, 0.1, 0.05], abs=0.04)
    assert found.likelihood.sum(axis=1) == pytest.approx(np.ones(5))


def test_the_posterior_is_right_more_often_than_the_median() -> None:
    truth, given = drawn(0.8, 2)
    right = {name: np.mean(np.array(aggregated(name, given)) == truth) for name in ("posterior", "median", "majority")}
    assert right["posterior"] > right["median"] + 0.02


def test_without_repeated_labels_the_posterior_is_the_label() -> None:
    assert posterior([[1], [5], [3]]) == [1, 5, 3]
    assert posterior([]) == []


def test_names_are_checked() -> None:
    with pytest.raises(PolicyError, match="Did you mean median"):
        aggregated("mediann", [])
