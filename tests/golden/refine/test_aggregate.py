"""Aggregates of labels, against their definitions."""

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.errors import PolicyError
from trueval.golden.refine.aggregate import (
    GROSS,
    aggregate_labels,
    errors_of,
    expectations,
    majority,
    median,
    posterior,
)

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


def drawn(sd: float, rounds: int, passages: int = 4000, gross: float = 0.0) -> tuple[np.ndarray, list[list[int]]]:
    rng = np.random.default_rng(3)
    truth = rng.choice([1, 2, 3, 4, 5], p=[0.5, 0.2, 0.15, 0.1, 0.05], size=passages)
    noisy = np.clip(np.rint(truth[:, None] + sd * rng.normal(size=(passages, rounds))), 1, 5).astype(int)
    wild = rng.random(noisy.shape) < gross
    return truth, np.where(wild, rng.integers(1, 6, noisy.shape), noisy).tolist()


@pytest.mark.parametrize("rounds", [2, 3])
@pytest.mark.parametrize("gross", [0.0, 0.05, 0.15])
@pytest.mark.parametrize("sd", [0.3, 0.6, 0.9])
def test_the_errors_of_a_judge_are_found(sd: float, gross: float, rounds: int) -> None:
    """Noise of .9 alone makes labels of a passage differ by two grades, and is not taken for gross errors."""
    _, given = drawn(sd, rounds, gross=gross)
    found = errors_of(given)
    assert found.sd == pytest.approx(sd, abs=0.07)
    assert found.gross == pytest.approx(gross, abs=0.025)
    assert found.shares == pytest.approx([0.5, 0.2, 0.15, 0.1, 0.05], abs=0.04)
    assert found.likelihood.sum(axis=1) == pytest.approx(np.ones(5))


def f1_of_useful(grades: list[int], truth: np.ndarray) -> float:
    taken = np.array(grades) >= 4
    return float(2 * (taken & (truth >= 4)).sum() / (taken.sum() + (truth >= 4).sum()))


@pytest.mark.parametrize("rounds", [2, 3, 4])
@pytest.mark.parametrize("gross", [0.0, 0.05, 0.15])
def test_the_posterior_loses_fewer_useful_passages(gross: float, rounds: int) -> None:
    truth, given = drawn(0.8, rounds, gross=gross)
    f1 = {name: f1_of_useful(aggregate_labels(name, given), truth) for name in ("posterior", "median", "majority")}
    assert f1["posterior"] > max(f1["median"], f1["majority"]) - 0.003  # 1 of 300 useful passages
    assert gross or f1["posterior"] > f1["median"] + 0.01


def test_a_grade_that_no_passage_has_is_given_to_none() -> None:
    """Of 3s and 4s read with noise, F1 alone would call all 4s fives, since no other choice finds a 5."""
    rng = np.random.default_rng(5)
    truth = rng.choice([3, 4], size=2000)
    given = np.clip(np.rint(truth[:, None] + 0.4 * rng.normal(size=(2000, 2))), 1, 5).astype(int)
    assert np.mean(np.array(posterior(given.tolist())) == 5) < 0.02


def test_expected_grades_and_their_gross_errors_are_those_that_there_are() -> None:
    truth, given = drawn(0.5, 2, gross=0.1)
    found = expectations(given)
    expected, gross = np.array([each.grade for each in found]), np.array([each.gross for each in found])
    away = np.abs(expected - truth) > 1
    # Labels that agree are wrong with γ at least: that a judge repeats its misreadings is not in these data.
    unlike = np.array([abs(one - other) >= 3 for one, other in given])
    assert gross[unlike].mean() == pytest.approx(away[unlike].mean(), abs=0.1)
    assert gross.min() >= GROSS
    assert abs(expected.mean() - truth.mean()) < 0.03
    assert [each.grade for each in expectations([[2], [5]])] == pytest.approx([2, 5])
    assert [each.gross for each in expectations([[2], [5]])] == pytest.approx([0.05, 0.05])
    assert [each.gross for each in expectations([[2, 2], [5, 5], [1, 1]])] == pytest.approx([0.05] * 3)


def test_the_posterior_is_right_more_often_than_the_median() -> None:
    truth, given = drawn(0.8, 2)
    right = {
        name: np.mean(np.array(aggregate_labels(name, given)) == truth) for name in ("posterior", "median", "majority")
    }
    assert right["posterior"] > right["median"] + 0.02


def test_without_repeated_labels_the_posterior_is_the_label() -> None:
    assert posterior([[1], [5], [3]]) == [1, 5, 3]
    assert posterior([]) == []


def test_names_are_checked() -> None:
    with pytest.raises(PolicyError, match="Did you mean median"):
        aggregate_labels("mediann", [])
