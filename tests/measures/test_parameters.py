"""Parameters that have bounds."""

import pytest

from trueval.errors import MeasureError
from trueval.measures import parse


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
