"""Parameters that have bounds."""

import math

import pytest

from trueval.errors import MeasureError
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.measures import RBP, parse
from trueval.run import Run


@pytest.mark.parametrize("text", ["RBP(p=1)", "RBP(p=1.5)", "RBP-residual(p=1)", "RBP(p=-0.1)"])
def test_a_reader_who_never_stops_is_refused(text: str) -> None:
    """With p = 1 the weight of every rank would be 0."""
    with pytest.raises(MeasureError, match=r"p of RBP.* must be a number from 0 to below 1"):
        parse(text)


@pytest.mark.parametrize("text", ["RBP(p=0)", "RBP(p=0.999)", "NRBP(beta=1)", "IPrec(recall=1)"])
def test_bounds_are_accepted_where_they_mean_something(text: str) -> None:
    assert str(parse(text)) == text


@pytest.mark.parametrize("text", ["RBP(scale=-1)", "ERR(gmax=65)", "R(rel=-1)"])
def test_numbers_out_of_bounds_are_refused(text: str) -> None:
    with pytest.raises(MeasureError, match="must be a number"):
        parse(text)


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf])
def test_a_scale_of_grades_ends_above_0(scale: float) -> None:
    with pytest.raises(MeasureError, match="scale of RBP must be a number above 0"):
        RBP(scale=scale)


def test_a_scale_takes_the_place_of_the_threshold() -> None:
    """(1 - .8) x 1/4 at the first rank, whatever rel says; and no remark that no grade reaches rel."""
    run, judgments = Run.from_dict({"q": {"a": 1.0}}), Judgments.from_dict({"q": {"a": 1}})
    scores = evaluate(run, judgments, "RBP(scale=4)", rel=2)
    assert scores.mean("RBP(scale=4)").expected == pytest.approx(0.05, abs=1e-15)
    assert scores.notes == ()


def test_a_scale_takes_grades_that_a_binary_convention_refuses() -> None:
    run, judgments = Run.from_dict({"q": {"a": 1.0}}), Judgments.from_dict({"q": {"a": 3}})
    scores = evaluate(run, judgments, "RBP(scale=4)", convention="sklearn")
    assert scores.mean("RBP(scale=4)").expected == pytest.approx(0.2 * 3 / 4, abs=1e-15)
