"""The tree of errors, as docs/design/contracts.md draws it."""

from __future__ import annotations

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


def test_the_warning_is_no_error() -> None:
    assert issubclass(errors.TruevalWarning, UserWarning)
    assert not issubclass(errors.TruevalWarning, errors.TruevalError)


def test_a_missing_extra_names_feature_extra_and_command() -> None:
    error = errors.MissingExtraError("Plots", "report")
    assert (error.feature, error.extra) == ("Plots", "report")
    assert str(error) == 'Plots need the extra "report". Install it with: pip install "trueval[report]"'
