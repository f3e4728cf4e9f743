"""What a person reads of corrected values says no more than their intervals do."""

from __future__ import annotations

import pytest

from trueval.evaluation.corrected_values import CorrectedValue, EstimateWithInterval, JudgeMean, PeopleEstimate
from trueval.evaluation.views.corrections import CorrectedRow, describe_leader_changes, describe_sign_changes
from trueval.report.number_texts import FRACTIONS
from trueval.report.view_texts import write


def told(name: str, judge: float, low: float, high: float, measure: str = "P@10") -> CorrectedRow:
    corrected = EstimateWithInterval((low + high) / 2, low, high, 0.1, 9.0)
    people = PeopleEstimate(0.25, 0.0, 0.5, 0.1, 9.0, 10)
    design = (measure, "queries", "new queries", 0.95)
    value = CorrectedValue(
        *design,
        JudgeMean(judge, 40),
        people,
        corrected,
        corrected,
        0.5,
        0.5,
        100,
        10,
        0,
        strata=(),
        open_queries=(),
        warnings=(),
    )
    return CorrectedRow(name, value)


@pytest.mark.parametrize(("low", "overlap"), [(0.45, False), (0.35, True)])
def test_another_best_run_is_named_with_what_its_interval_leaves_open(low: float, overlap: bool) -> None:
    (said,) = describe_leader_changes([told("old", 0.6, 0.2, 0.4), told("new", 0.5, low, 0.5)])
    named = "P@10: by the judge's labels old is best, by the corrected values new"
    assert said == named + ("; the corrected intervals of the two overlap." if overlap else ".")


def test_a_difference_is_turned_with_its_interval_and_says_when_its_sign_is_not_the_judges() -> None:
    row = told("a - b", 0.25, -0.75, -0.25)
    turned = row.turn("b - a")
    assert (turned.judge.estimate, turned.corrected.low, turned.corrected.high) == (-0.25, 0.25, 0.75)
    assert turned.source is row.found
    (said,) = describe_sign_changes([turned], surely=True)
    assert write(said, FRACTIONS) == (
        "P@10, b - a: -0.2500 by the judge's labels, +0.5000 corrected by people's [+0.2500, +0.7500]."
    )
    assert not list(describe_sign_changes([told("a - b", 0.25, -0.75, 0.25)], surely=True))
    assert len(list(describe_sign_changes([told("a - b", 0.25, -0.75, 0.25)]))) == 1
