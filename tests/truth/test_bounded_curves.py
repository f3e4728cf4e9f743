"""Interpolated precision where steps run out: the mean over all placements is inside its bounds, and it is marked."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
import twin
from twin_more import eleven_points, interpolated_precision

from trueval.evaluation.arrays import evaluate_arrays
from trueval.measures import interpolated
from trueval.measures.orders import best_precision, curve_moments
from trueval.measures.orders.curve_moments import CurveMoments, Levels

if TYPE_CHECKING:
    from trueval.measures.orders.precision_sums import RelevantGroups

CLOSE = 1e-12
MEASURES = ["IPrec(recall=0)", "IPrec(recall=0.5)", "IPrec(recall=1)", "IPrec11"]
# Tie groups from the top of a list: (documents, relevant ones).
LISTS = {
    "one": [(12, 5)],
    "two": [(6, 3), (7, 4)],
    "three": [(2, 0), (5, 1), (6, 5), (3, 3), (4, 1)],
    "most": [(10, 9)],
}


def arrays(groups: list[tuple[int, int]]) -> tuple[list[float], list[float]]:
    scores = [-float(at) for at, (documents, _) in enumerate(groups) for _ in range(documents)]
    return scores, [float(place < r) for m, r in groups for place in range(m)]


@cache
def truth(name: str, measure: str, depth: int | None) -> tuple[Fraction, Fraction, Fraction]:
    """Mean, lowest and highest over every placement of the relevant documents, in exact fractions."""
    groups, places, above = LISTS[name], [], 0
    for m, r in groups:
        places.append([tuple(above + 1 + place for place in chosen) for chosen in itertools.combinations(range(m), r)])
        above += m
    notation, wanted = twin.Notation.read(measure), (Fraction(1),) * sum(r for _, r in groups)
    value = eleven_points if notation.name == "IPrec11" else interpolated_precision
    values = []
    for parts in itertools.product(*places):
        ranks = [rank for rank in sum(parts, ()) if depth is None or rank <= depth]
        values.append(value(twin.Ranking(tuple((rank, Fraction(1)) for rank in ranks), wanted, above), notation))
    return sum(values, Fraction(0)) / len(values), min(values), max(values)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[CurveMoments]:
    """Return what the kernel says of each query from here on."""
    found: list[CurveMoments] = []

    def watched(groups: RelevantGroups, levels: Levels) -> CurveMoments:
        found.append(curve_moments.curve_moments(groups, levels))
        return found[-1]

    monkeypatch.setattr(interpolated, "curve_moments", watched)
    return found


@pytest.mark.parametrize("depth", [None, 5, 9])
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", LISTS)
def test_exact_where_there_are_steps_enough(name: str, measure: str, depth: int | None) -> None:
    scores, grades = arrays(LISTS[name])
    found = evaluate_arrays([scores], [grades], measure, depth=depth)
    assert found.exact == (True,)
    both = [found.expected[0, 0], found.lowest[0, 0], found.highest[0, 0]]
    np.testing.assert_allclose(both, [*map(float, truth(name, measure, depth))], rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("depth", [None, 9])
@pytest.mark.parametrize("steps", [0, 200, 600])
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("values", [1, 1 << 20])
def test_bounds_hold_the_mean_and_are_marked(
    values: int, measure: str, steps: int, depth: int | None, seen: list[CurveMoments], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a list of all precisions there can be, and with values between the extremes instead."""
    monkeypatch.setattr(curve_moments, "MOST_STEPS", steps)
    monkeypatch.setattr(curve_moments, "MOST_VALUES", values)
    scores, grades = arrays(LISTS["one"])
    found = evaluate_arrays([scores], [grades], measure, depth=depth)
    mean, lowest, highest = map(float, truth("one", measure, depth))
    if found.exact == (True,):  # recall 1 needs few steps
        assert found.expected[0, 0] == pytest.approx(mean, abs=CLOSE)
        return
    assert math.isnan(found.sd[0, 0]) or measure == "IPrec11"  # placements few enough to list
    half = float(seen[0].width.mean()) / 2 if measure != "IPrec11" else float(seen[0].width.sum()) / 22
    assert CLOSE < 2 * half <= highest - lowest
    assert abs(found.expected[0, 0] - mean) <= half + CLOSE
    assert [found.lowest[0, 0], found.highest[0, 0]] == pytest.approx([lowest, highest], abs=CLOSE)


@pytest.mark.parametrize("name", LISTS)
def test_more_steps_bring_the_bounds_together(
    name: str, seen: list[CurveMoments], monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, grades = arrays(LISTS[name])
    for steps in (0, 300, 1000, 1 << 26):
        monkeypatch.setattr(curve_moments, "MOST_STEPS", steps)
        evaluate_arrays([scores], [grades], "IPrec(recall=0)")
    widths = [float(moments.width[0]) for moments in seen]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > widths[-1] == 0
    for moments in seen:
        assert abs(moments.mean[0] - float(truth(name, "IPrec(recall=0)", None)[0])) <= moments.width[0] / 2 + CLOSE


def test_one_bounded_query_marks_the_measure_and_leaves_the_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = [arrays(LISTS["one"]), arrays([(3, 1)])]
    monkeypatch.setattr(curve_moments, "MOST_STEPS", 100)
    found = evaluate_arrays([scores for scores, _ in lists], [grades for _, grades in lists], ["IPrec", "AP"])
    assert found.exact == (False, True)
    assert found.expected[1, 0] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3, abs=CLOSE)
    assert np.isnan(found.sd[:, 0]).tolist() == [True, False]


@pytest.mark.parametrize(("documents", "relevant"), [(3000, 40), (1500, 1200), (1200, 1190)])
def test_ranks_that_hardly_ever_matter_are_not_counted(
    documents: int, relevant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = best_precision.HitGroup(30, documents, relevant, 7, documents)
    values = np.linspace((7 + relevant) / (30 + documents), 1, 12)
    firsts = np.array([1, relevant // 3, relevant])
    chances = best_precision.chances_at_most(group, firsts, values)
    ranks = group.horizon(values)
    for value, last, chance in zip(values, ranks.tolist(), chances.T, strict=True):
        short = best_precision.chances_at_most(group._replace(within=last), firsts, np.array([value]))
        np.testing.assert_allclose(short[:, 0], chance, rtol=0, atol=CLOSE)
    monkeypatch.setattr(best_precision, "MANY_RANKS", documents)
    assert (ranks < group.horizon(values)).any()


@pytest.mark.parametrize(("documents", "within"), [(2000, 2000), (2000, 700), (60, 25)])
def test_what_is_left_out_and_what_is_solved_together_is_not_seen(
    documents: int, within: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = best_precision.HitGroup(50, documents, documents // 4, 15, within)
    lowest = (15 + documents // 4) / (50 + documents)
    values, firsts = np.linspace(lowest, min(4 * lowest, 1), 40), np.array([1, documents // 9, documents // 4])
    chances = best_precision.chances_at_most(group, firsts, values)
    assert ((chances > 0.1) & (chances < 0.9)).any()
    for name, number in {"UNLIKELY": 0.0, "TOGETHER": 1, "BLOCK": 1}.items():
        monkeypatch.setattr(best_precision, name, number)
        found = best_precision.chances_at_most(group, firsts, values)
        np.testing.assert_allclose(found, chances, rtol=0, atol=CLOSE)


def walk(group: best_precision.HitGroup, first: int, value: float) -> float:
    """The chance, rank by rank: state i is that of i relevant documents so far and no precision above the value."""
    state = np.eye(1, group.relevant + 1)[0]
    i = np.arange(group.relevant)
    found = group.relevant_above + i + 1
    for offset in range(group.within):
        moved = state[:-1] * np.minimum((group.relevant - i) / (group.tied - offset), 1)
        state[:-1] -= moved
        state[1:] += moved * ((i + 1 < first) | (found / (group.above + offset + 1) <= value))
    return float(state.sum())


@pytest.mark.parametrize(("documents", "relevant"), [(40, 7), (900, 890), (1500, 750), (700, 3)])
def test_the_chances_are_those_of_a_walk_down_the_group(documents: int, relevant: int) -> None:
    group = best_precision.HitGroup(5, documents, relevant, 2, documents - 3)
    lowest = (2 + relevant) / (5 + documents)
    values = np.sort(np.append(np.random.default_rng(3).choice(group.candidates(1, lowest), 8), [lowest, 0.9]))
    firsts = [1, (relevant + 1) // 2, relevant]
    found = best_precision.chances_at_most(group, np.array(firsts), values)
    true = [[walk(group, first, value) for value in values.tolist()] for first in firsts]
    np.testing.assert_allclose(found, true, rtol=0, atol=CLOSE)
    assert len({round(chance, 6) for chance in np.ravel(true).tolist()}) > 3


@pytest.mark.parametrize(("documents", "relevant"), [(20_000, 9_000), (200_000, 3), (100_000, 1)])
def test_nothing_is_refused(documents: int, relevant: int) -> None:
    grades = np.zeros(documents)
    grades[:relevant] = 1
    found = evaluate_arrays([np.zeros(documents)], [grades], "IPrec")
    assert found.lowest[0, 0] < found.expected[0, 0] < found.highest[0, 0]
    if relevant == 1:
        assert found.exact == (True,)
        harmonic = sum(1 / rank for rank in range(1, documents + 1))
        assert found.expected[0, 0] == pytest.approx(harmonic / documents, rel=1e-9)
