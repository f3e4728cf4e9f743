"""Bounds over moved scores against every order that overlapping score intervals allow, by the twin."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING

import lists
import numpy as np
import pytest
import twin

from trueval.errors import MeasureError, TruevalWarning
from trueval.judgments import Judgments
from trueval.measures import parse
from trueval.precision.bound import precision_bound
from trueval.run import Run
from trueval.score_width import ScoreWidth

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trueval.precision.bound_result import MeasureBound

OF_RELEVANT = [
    "Hits@2", "P@2", "P(rel=2)@3", "P(short='listed')@4", "R@2", "F1@2", "Rprec", "RR", "RR(rel=2)@2", "AP", "AP@3",
    "AP(norm='min')@2", "Success@2", "AllGold@3", "IPrec(recall=0.5)", "IPrec11", "bpref", "RBP", "Judged@2",
    "RBP-residual", "nDCG(gain='binary')@3", "gm(AP)", "AP(base='list')", "nDCG(gain='binary', base='list')",
]  # fmt: skip
GRADED = ["nDCG@3", "nDCG", "nDCG(gain='exp')@2", "DCG@2", "RBP(scale=4)", "ERR(gmax=4)@3", "ERR(gmax=5)"]
RUBRIC = ["RA-nWG@2", "nWG@3", "N-Recall4+@2", "N-Recall5@2", "P4+@2", "Harm@2"]
CLOSE = 1e-12
WIDTHS = (0.0, 0.5, 1.0)


def orders_within(query: lists.Query, width: float) -> twin.Orders:
    """Every order in which no document is below one that it is surely above; the intervals can be placed so."""
    found: dict[twin.Ranking, int] = {}
    for order in itertools.permutations(query.scores):
        lowest_end = math.inf
        for document in order:  # the next document must reach down to the least upper end so far
            if query.scores[document] - width > lowest_end:
                break
            lowest_end = min(lowest_end, query.scores[document] + width)
        else:
            found[twin.ranking_of(order, query.grades)] = 1
    return found


def bounds_of(query: lists.Query, measures: list[str], width: float) -> Mapping[str, MeasureBound]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        run = Run.from_dict({"q": query.scores}, name="run")
        found = precision_bound([run], Judgments.from_dict({"q": query.grades}), measures, within=width)
    return {each.measure: each for each in found.runs[0].measures}


def check(query: lists.Query, measures: list[str], width: float) -> list[bool]:
    """Whether each measure is exact; bounds hold, and are reached where they say so."""
    found, orders = bounds_of(query, measures, width), orders_within(query, width)
    exact = []
    for text in measures:
        bound, truth = found[str(parse(text))], twin.over_orders(orders, text)
        if math.isnan(truth.lowest) or math.isnan(bound.expected):  # nothing to measure: the policy decides
            continue
        low, high = Fraction(bound.lowest), Fraction(bound.highest)
        if text.startswith("gm("):  # the mean of one query has a floor
            truth = truth._replace(lowest=max(truth.lowest, Fraction(1, 100_000)))
            truth = truth._replace(highest=max(truth.highest, Fraction(1, 100_000)))
        assert low <= truth.lowest + Fraction(CLOSE), (text, width, query)
        assert high >= truth.highest - Fraction(CLOSE), (text, width, query)
        if bound.exact:
            assert abs(low - truth.lowest) < CLOSE, (text, width, query)
            assert abs(high - truth.highest) < CLOSE, (text, width, query)
        exact.append(bound.exact)
    return exact


def small(count: int, seed: int) -> list[lists.Query]:
    return list(lists.small_queries(count, seed).values())


@pytest.mark.parametrize("width", WIDTHS)
def test_bounds_of_relevant_documents_are_reached(width: float) -> None:
    for query in small(12, 3):
        assert all(check(query, OF_RELEVANT, width))


@pytest.mark.parametrize("width", WIDTHS)
def test_bounds_of_graded_gains_hold(width: float) -> None:
    exact = [each for query in small(12, 4) for each in check(query, GRADED, width)]
    exact += [each for query in small(12, 4) for each in check(lists.on_rubric(query), RUBRIC, width)]
    # Without moves there are only ties, in which one order is best for every level at once.
    assert all(exact) if width == 0 else sum(exact) > len(exact) / 2


@pytest.mark.evidence
@pytest.mark.parametrize("width", WIDTHS)
def test_bounds_of_seven_documents(width: float) -> None:
    rng = np.random.default_rng(17)
    for _ in range(40):
        query = lists.random_query(7, int(rng.integers(2, 6)), rng)
        assert all(check(query, OF_RELEVANT, width))
        check(query, GRADED, width)
        check(lists.on_rubric(query), RUBRIC, width)


def test_width_zero_is_the_tie_range() -> None:
    for query in small(6, 6):
        for bound in bounds_of(query, [*OF_RELEVANT, *GRADED], 0.0).values():
            assert (bound.lowest, bound.highest) == pytest.approx((bound.tie_lowest, bound.tie_highest), nan_ok=True)


@pytest.mark.evidence
def test_no_moved_scores_leave_the_bounds() -> None:
    """A million perturbations of lists of 30, each evaluated as an ordinary run."""
    from trueval.evaluation.arrays import evaluate_arrays

    rng, measures, times = np.random.default_rng(8), ["nDCG@10", "ERR@10", "AP", "RR", "bpref", "P@5"], 10_000
    for _ in range(100):
        scores = rng.normal(size=30).astype(np.float32).astype(float)
        grades = rng.choice([0, 0, 0, 1, 2, 3], 30)
        unit = ScoreWidth.parse("ulp(float8_e4m3fn)").units(scores)
        names = [f"d{place}" for place in range(30)]
        query = lists.Query(
            dict(zip(names, scores, strict=True)), dict(zip(names, grades.astype(float), strict=True)), {}
        )
        run = Run.from_dict({"q": query.scores}, name="run")
        found = precision_bound([run], Judgments.from_dict({"q": query.grades}), measures, within="ulp(float8_e4m3fn)")
        # Half of them at the ends of the intervals, where extremes are.
        shifts = rng.uniform(-1, 1, (times, 30))
        shifts[: times // 2] = np.sign(shifts[: times // 2])
        values = evaluate_arrays(scores + shifts * unit, np.tile(grades, (times, 1)), measures)
        for column, bound in enumerate(found.runs[0].measures):
            assert values.lowest[:, column].min() >= bound.lowest - CLOSE
            assert values.highest[:, column].max() <= bound.highest + CLOSE


def test_what_is_not_monotone_is_refused() -> None:
    for text in ("AP(norm='hits')@3", "alpha_nDCG@5", "UDCG-proxy@3", "RA-nWG(unjudged='upper')@2"):
        with pytest.raises(MeasureError, match="No bound of"):
            bounds_of(lists.Query({"a": 1.0}, {"a": 1.0}, {}), [text], 0.1)
