"""Units: how the values of a column or a sentence are written, by what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from trueval.report.number_texts import (
    FRACTIONS,
    NOT_AVAILABLE,
    ValueUnit,
    format_difference,
    format_value,
    interval,
    make_formatter,
    percent,
    whole,
)


class Unit(NamedTuple):
    """How the values of a column are written and set.

    Attributes:
        write: from a value and the scale of measures to its text.
        letter: how a terminal sets it, as `trueval.report.terminal.grid` takes them.
        plain: `write` in fractions; the same function where the page's script knows it (folded_tables.py).
        end: unit of each end of an interval, which are two columns of the page; None for single values.
    """

    write: Callable[[Any, ValueUnit], str]
    letter: str
    plain: Callable[[Any], str]
    end: Unit | None = None

    @property
    def numeric(self) -> bool:
        """Whether values are set to the right and sorted as numbers."""
        return self.letter in "rR"


def unscaled_unit(show: Callable[[Any], str], letter: str = "r") -> Unit:
    """A unit that `--percent` leaves as it is.

    Args:
        show: from a value to its text.
        letter: as in `Unit`.
    """
    return Unit(lambda value, _: show(value), letter, show)


class HasEnds(Protocol):
    """What has two ends."""

    @property
    def low(self) -> float | None:
        """The lower end; None where it is not known."""

    @property
    def high(self) -> float | None:
        """The upper end."""


def interval_of(end: Unit) -> Unit:
    """The unit of intervals: "[low, high]" in texts, two columns on the page.

    Args:
        end: of each end.
    """

    def write(value: HasEnds | None, scale: ValueUnit) -> str:
        return NOT_AVAILABLE if value is None else interval(value.low, value.high, scale, show=end.write)

    return Unit(write, "r", lambda value: write(value, FRACTIONS), end)


TEXT: Final = unscaled_unit(str, "l")
NAME: Final = unscaled_unit(str, "L")
YES_NO: Final = unscaled_unit(lambda value: "yes" if value else "no", "l")
MARKS: Final = unscaled_unit(str, "l")  # signs that `View.marks` explains
FRACTION: Final = Unit(format_value, "r", format_value)
DIFFERENCE: Final = Unit(format_difference, "r", format_difference)
INTERVAL: Final = interval_of(FRACTION)
COUNT: Final = unscaled_unit(whole)
PERCENT: Final = unscaled_unit(percent)  # shares in sentences


def number(form: str) -> Unit:
    """Numbers by a format of Python.

    Args:
        form: what stands behind the colon in a replacement field.

    Example:
        >>> number("+.2f").plain(1.25), number(".2f").plain(None)
        ('+1.25', '–')
    """
    return unscaled_unit(make_formatter(form))
