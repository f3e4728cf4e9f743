"""Interpolated precision where groups are large, and the parts of the curve."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from trueval.evaluation.arrays import evaluate_arrays
from trueval.measures import interpolated_curve
from trueval.measures.orders import curve_moments
from trueval.measures.orders.best_precision import HitGroup, chances_at_most


def test_by_hand() -> None:
    """Relevant at ranks 1, 4 and 5 of four: precision 1, 1/2, 3/5; recall 1/2 is reached from rank 4 on."""
    measures = ["IPrec(recall=0)", "IPrec(recall=0.5)", "IPrec(recall=0.75)", "IPrec(recall=1)", "IPrec11"]
    scores = evaluate_arrays([[5.0, 4.0, 3.0, 2.0, 1.0, 0.0]], [[1, 0, 0, 1, 1, np.nan]], measures)
    assert scores.expected[0, 3] == 0.6
    scores = evaluate_arrays([[5.0, 4.0, 3.0, 2.0, 1.0]], [[1, 0, 0, 1, 1]], measures[:3])
    np.testing.assert_allclose(scores.expected[0], [1.0, 0.6, 0.6])


def test_the_curve_averages_to_the_eleven_points() -> None:
    rng = np.random.default_rng(4)
    grades = (rng.random((20, 30)) < 0.2).astype(float)
    scores = evaluate_arrays(rng.integers(4, size=(20, 30)).astype(float), grades, [*interpolated_curve(), "IPrec11"])
    np.testing.assert_allclose(scores.expected[:, :11].mean(axis=1), scores.expected[:, 11], atol=1e-12)
    assert (np.diff(scores.expected[:, :11], axis=1) <= 1e-12).all()


def test_the_curve_takes_the_threshold_of_the_call_unless_it_is_given_one() -> None:
    scores, grades = [[4.0, 3.0, 2.0, 1.0]], [[1, 2, 0, 2]]
    called = evaluate_arrays(scores, grades, [*interpolated_curve(), "IPrec11"], rel=2).expected[0]
    given = evaluate_arrays(scores, grades, interpolated_curve(rel=2)).expected[0]
    assert called[:11].mean() == pytest.approx(called[11])
    np.testing.assert_array_equal(called[:11], given)


def test_a_group_of_two_hundred_with_two_relevant() -> None:
    """All pairs of places, one by one."""
    grades = [1, 1, *[0] * 198]
    scores = evaluate_arrays([[0.0] * 200], [grades], ["IPrec(recall=0)", "IPrec(recall=1)"])
    best = [max(1 / a, 2 / b) for a, b in itertools.combinations(range(1, 201), 2)]
    second = [2 / b for _, b in itertools.combinations(range(1, 201), 2)]
    np.testing.assert_allclose(scores.expected[0], [np.mean(best), np.mean(second)], rtol=1e-12)
    np.testing.assert_allclose(scores.sd[0], [np.std(best), np.std(second)], rtol=1e-9)


def test_a_list_that_would_take_too_many_steps_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve_moments, "MOST_STEPS", 10_000)
    scores = evaluate_arrays([[0.0] * 200], [[1, 1, *[0] * 198]], "IPrec(recall=0)")
    exact = np.mean([max(1 / a, 2 / b) for a, b in itertools.combinations(range(1, 201), 2)])
    assert scores.exact == (False,)
    assert math.isnan(scores.sd[0, 0])
    assert scores.expected[0, 0] == pytest.approx(exact, abs=0.005)
    assert scores.expected[0, 0] != exact


def test_the_deviation_of_the_eleven_points_is_not_guessed() -> None:
    few, many = [1, 1, *[0] * 8], [*[1] * 8, *[0] * 32]
    scores = evaluate_arrays([[0.0] * 10, [0.0] * 40], [few, many], "IPrec11")
    assert scores.sd[0, 0] > 0
    assert math.isnan(scores.sd[1, 0])
    assert math.isfinite(scores.expected[1, 0])


def eleven_points(depth: int | None, scores: list[float], grades: list[int]) -> tuple[float, ...]:
    found = evaluate_arrays([scores], [grades], "IPrec11", depth=depth).mean("IPrec11")
    return found.lowest, found.expected, found.highest, found.tie_broken, found.sd


@pytest.mark.parametrize(("depth", "second"), [(1, 0.0), (3, 0.0), (4, 2 / 4), (5, 2 / 4), (None, 2 / 4)])
def test_the_eleven_points_see_nothing_past_the_depth(depth: int | None, second: float) -> None:
    """Relevant at ranks 1 and 4: recall 0 to .5 is reached by the first, .6 to 1 by the second."""
    value = (6 * 1.0 + 5 * second) / 11
    assert eleven_points(depth, [5.0, 4.0, 3.0, 2.0, 1.0], [1, 0, 0, 1, 0]) == pytest.approx((*[value] * 4, 0.0))


@pytest.mark.parametrize(("depth", "late"), [(2, None), (3, 0.0), (4, 2 / 4), (None, 2 / 4)])
def test_the_eleven_points_where_the_depth_cuts_a_tie(depth: int | None, late: float | None) -> None:
    """Relevant at rank 1, and at 3 or 4 by the toss of a coin; the list as given has it at 4."""
    early = 2 / 3
    if late is None:
        early = late = 0.0
    low, high = (6 + 5 * late) / 11, (6 + 5 * early) / 11
    values = (low, (low + high) / 2, high, low, (high - low) / 2)
    assert eleven_points(depth, [5.0, 4.0, 3.0, 3.0], [1, 0, 0, 1]) == pytest.approx(values, abs=1e-15)


def test_precisions_of_a_block_are_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once per relevant document: 4 of them and 40 ask for the places of a block of values as often."""
    calls: dict[int, int] = {}
    places = HitGroup.places_above

    def counted(group: HitGroup, *given: Any) -> np.ndarray:
        calls[group.relevant] = calls.get(group.relevant, 0) + 1
        return places(group, *given)

    monkeypatch.setattr(HitGroup, "places_above", counted)
    for relevant in (4, 40):
        chances_at_most(HitGroup(0, 80, relevant, 0, 80), np.array([1]), np.linspace(0.9, 1.0, 10))
    assert calls[4] == calls[40]
