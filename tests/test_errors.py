"""The tree of errors, as docs/design/contracts.md draws it."""

from __future__ import annotations

import copy
import pickle

import pytest

from trueval import errors


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.InputError, ValueError),
        (errors.MeasureError, ValueError),
        (errors.PolicyError, ValueError),
        (errors.MissingExtraError, ImportError),
    ],
)
def test_every_error_is_ours_and_a_builtin_one(error: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(error, errors.TruevalError)
    assert issubclass(error, builtin)


@pytest.mark.parametrize(
    ("place", "message", "line"),
    [
        (errors.Place("run.trec", 7), "run.trec:7: bad.", 7),
        (errors.Place("run.trec"), "run.trec: bad.", None),
        (errors.Place("frame", row=6), "frame: row 7: bad.", None),
        (errors.Place("a:1", 2), "a:1:2: bad.", 2),
    ],
)
def test_an_input_error_knows_its_place_through_pickles_and_copies(
    place: errors.Place, message: str, line: int | None
) -> None:
    error = place.error("bad.")
    for same in (error, pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(same) is errors.InputError
        assert (str(same), same.source, same.line) == (message, place.source, line)
        assert same.args == (message,)
    for again in (pickle.loads(pickle.dumps(place)), copy.deepcopy(place)):
        assert (again, again.source, again.line) == (place, place.source, line)


def test_an_input_error_without_a_place_has_none() -> None:
    error = errors.InputError("Two lists must score the same documents.")
    assert (str(error), error.source, error.line) == ("Two lists must score the same documents.", None, None)


def test_the_warning_is_not_an_error() -> None:
    assert issubclass(errors.TruevalWarning, UserWarning)
    assert not issubclass(errors.TruevalWarning, errors.TruevalError)


def test_a_missing_extra_names_feature_extra_and_command() -> None:
    error = errors.MissingExtraError("Plots", "report")
    assert (error.feature, error.extra) == ("Plots", "report")
    assert str(error) == 'Plots need the extra "report". Install it with: pip install "trueval[report]"'
