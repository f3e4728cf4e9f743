"""What evaluate says and refuses beside its numbers, which tests/truth holds."""

import warnings

import pytest

import trueval as tv
from trueval.errors import InputError, TruevalWarning

RUN = tv.Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})


def notes_of(grades: dict[str, float], measure: str, **choices: float) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        return " ".join(tv.evaluate(RUN, tv.Judgments.from_dict({"q": grades}), measure, **choices).notes)


def test_swapped_arguments_are_named() -> None:
    judgments = tv.Judgments.from_dict({"q": {"a": 1}})
    with pytest.raises(InputError, match="Got Judgments and Run"):
        tv.evaluate(judgments, RUN, "RR")


def test_gold_of_the_rubric_is_not_grade_one_by_silence() -> None:
    rubric = {"a": 1, "b": 5, "c": 3}
    assert "AllGold(rel=4)" in notes_of(rubric, "AllGold@2")
    assert not notes_of(rubric, "AllGold(rel=1)@2")
    assert not notes_of(rubric, "AllGold@2", rel=4)
    assert not notes_of({"a": 1, "b": 0}, "AllGold@2")
    assert not notes_of(rubric, "RR")
