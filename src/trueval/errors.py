"""The errors of trueval, one tree.

TruevalError
├── InputError         bad data: "file:line: what is wrong. What it must be. What to do."; Place makes one
├── MeasureError       unknown measure, parameter or cutoff; offers the nearest name
├── PolicyError        unknown or contradicting option value; says what is accepted
├── MissingExtraError  names feature, extra and install command
└── ForkError          a process that was forked off one whose threads it would wait for
TruevalWarning         one line, never an error by itself
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from trueval.printable import printable_message


class TruevalError(Exception):
    """The root of every error that trueval raises on purpose.

    As text it is safe for a terminal whatever ids it names (printable.py); `args` hold the original message.
    """

    def __str__(self) -> str:
        """The message, with control characters escaped and very long ids shortened in the middle."""
        return printable_message(super().__str__())


class InputError(TruevalError, ValueError):
    """Bad data in a file, frame, array or dict.

    Args:
        message: "file:line: what is wrong. What it must be. What to do."
        source: the file or object that the data came from; None where the message names none.
        line: the line (from 1) at fault; None where no line is.
    """

    def __init__(self, message: str, *, source: str | None = None, line: int | None = None) -> None:
        super().__init__(message)  # args hold the message alone, and pickles and copies take the rest from __dict__
        self.source = source
        self.line = line


class Place(str):
    """Where data are at fault, as the beginning of a message.

    A string, so that any message can begin with it; an error built from it also knows file and line.

    Args:
        source: the file or object that the data came from.
        line: the line, from 1; None where no line is at fault.
        row: the row, from 0, of a source without lines.

    >>> Place("run.trec", 7), Place("frame", row=6)
    ('run.trec:7', 'frame: row 7')
    >>> error = Place("run.trec", 7).error("no score.")
    >>> str(error), error.source, error.line
    ('run.trec:7: no score.', 'run.trec', 7)
    """

    __slots__ = ("line", "source")
    source: str
    line: int | None

    def __new__(cls, source: str, line: int | None = None, *, row: int | None = None) -> Place:
        """Format the place as messages show it."""
        at = f":{line}" if line is not None else f": row {row + 1}" if row is not None else ""
        place = super().__new__(cls, f"{source}{at}")
        place.source, place.line = source, line
        return place

    def error(self, message: str) -> InputError:
        """Build the error that names this place."""
        return InputError(f"{self}: {message}", source=self.source, line=self.line)


class MeasureError(TruevalError, ValueError):
    """An unknown measure, parameter or cutoff."""

    def __str__(self) -> str:
        """The message, of several lines where several measures are refused."""
        return printable_message(Exception.__str__(self), lines=True)


class PolicyError(TruevalError, ValueError):
    """An unknown or contradicting option value."""


class MissingExtraError(TruevalError, ImportError):
    """A feature whose optional libraries are not installed.

    Args:
        feature: the feature requested, as the subject of a sentence ("Plots").
        extra: the name of the extra in pyproject.toml; empty where one package by itself is enough.

    >>> print(MissingExtraError("Plots", "report"))
    Plots need the extra "report". Install it with: pip install "trueval[report]"
    >>> print(MissingExtraError("Frames of pandas", package="pandas"))
    Frames of pandas need the package pandas. Install it with: pip install pandas
    """

    def __init__(self, feature: str, extra: str = "", *, package: str = "") -> None:
        named = f'the extra "{extra}"' if extra else f"the package {package}"
        wanted = f'"trueval[{extra}]"' if extra else package
        super().__init__(f"{feature} need {named}. Install it with: pip install {wanted}")
        self.feature = feature
        self.extra = extra
        self.package = package


class ForkError(TruevalError, RuntimeError):
    """A forked process cannot continue with threads that its parent started."""


class TruevalWarning(UserWarning):
    """A one-line warning on data or options that do not stop the work."""

    def __str__(self) -> str:
        """The warning, with control characters escaped and very long ids shortened in the middle."""
        return printable_message(super().__str__())


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known name, ignoring case, or nothing.

    >>> nearest("tie_odrer", ["tie_order", "depth"]), nearest("ndcg@10", ["nDCG@10"])
    (' Did you mean tie_order?', ' Did you mean nDCG@10?')
    """
    of_lower = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), of_lower, n=1)
    return f" Did you mean {of_lower[close[0]]}?" if close else ""
