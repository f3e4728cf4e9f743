"""The errors of trueval, one tree.

TruevalError
├── InputError         bad data: "file:line: what is wrong. What it must be. What to do."
├── MeasureError       unknown measure, parameter or cutoff; offers the nearest name
├── PolicyError        unknown or contradicting option value; says what is accepted
└── MissingExtraError  names feature, extra and install command
TruevalWarning         one line, never an error by itself
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "InputError",
    "MeasureError",
    "MissingExtraError",
    "PolicyError",
    "TruevalError",
    "TruevalWarning",
    "nearest",
]


class TruevalError(Exception):
    """The root of every error that trueval raises on purpose."""


class InputError(TruevalError, ValueError):
    """Bad data in a file, frame, array or dict."""


class MeasureError(TruevalError, ValueError):
    """An unknown measure, parameter or cutoff."""


class PolicyError(TruevalError, ValueError):
    """An unknown or contradicting option value."""


class MissingExtraError(TruevalError, ImportError):
    """A feature whose optional libraries are not installed.

    Args:
        feature: what was asked for, as the subject of a sentence ("Plots").
        extra: the name of the extra in pyproject.toml.

    >>> print(MissingExtraError("Plots", "report"))
    Plots need the extra "report". Install it with: pip install "trueval[report]"
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f'{feature} need the extra "{extra}". Install it with: pip install "trueval[{extra}]"')
        self.feature = feature
        self.extra = extra


class TruevalWarning(UserWarning):
    """A one-line remark on data or options that do not stop the work."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest of those known, or nothing.

    >>> nearest("tie_odrer", ["tie_order", "depth"])
    ' Did you mean tie_order?'
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]}?" if close else ""
