"""Numbers as text: the only place that rounds."""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

NOT_AVAILABLE = "–"
MOST_QUERIES: Final = 1_000_000
MANY_QUERIES: Final = ">1 million"
NOISE = 1e-12  # sums of the same doubles in another order differ by less


class ValueUnit(NamedTuple):
    """The unit of the values of measures.

    Attributes:
        one: number printed for the value 1.
        digits: digits after the point.
    """

    one: int
    digits: int


Show: TypeAlias = Callable[[float | None, ValueUnit], str]

FRACTIONS: Final = ValueUnit(1, 4)
# What `--percent` asks for: values as the tables of most papers have them.
POINTS: Final = ValueUnit(100, 2)


def whole(value: float | None) -> str:
    """A count.

    Args:
        value: count, or mean of counts; None if unknown.

    Example:
        >>> whole(5150.4), whole(None)
        ('5,150', '–')
    """
    return NOT_AVAILABLE if value is None else f"{value:,.0f}"


def attainable(value: float | None) -> str:
    """A number of queries to judge, without digits above a million.

    Args:
        value: number of queries; None if no number suffices, or if unknown.

    Example:
        >>> attainable(5150), attainable(121_968_331), attainable(None)
        ('5,150', '>1 million', '–')
    """
    return whole(value) if value is None or value <= MOST_QUERIES else MANY_QUERIES


def make_formatter(form: str) -> Callable[[float | None], str]:
    """A formatter with a Python format specification; "–" for None.

    Args:
        form: format specification, such as ".3g".

    Example:
        >>> [make_formatter(".3g")(value) for value in (0.12345, None)]
        ['0.123', '–']
    """
    return lambda value: NOT_AVAILABLE if value is None else format(value, form)


def unit(scale: ValueUnit) -> tuple[str, ...]:
    """The note on the scale of values: none for fractions, a sentence for points."""
    return () if scale == FRACTIONS else (f"Values in points: {scale.one} times those of the JSON.",)


def format_value(value: float | None, scale: ValueUnit = FRACTIONS) -> str:
    """A value of a measure with four decimals, or as points with two.

    Args:
        value: any number, or None.
        scale: unit.

    Returns:
        The digits; "<.0001" and ">-.0001" for values above and below zero that would read as zero; "–" for None.

    Example:
        >>> format_value(0.29213), format_value(-0.0), format_value(3e-7), format_value(-3e-7), format_value(None)
        ('0.2921', '0.0000', '<.0001', '>-.0001', '–')
        >>> tuple(format_value(value, POINTS) for value in (0.80523, 1e-5, -1e-5, -0.0))
        ('80.52', '<.01', '>-.01', '0.00')
    """
    if value is None:
        return NOT_AVAILABLE
    if abs(value) < NOISE:
        return f"{0:.{scale.digits}f}"
    if abs(value) < _least(scale):
        return f"{'<' if value > 0 else '>-'}.{1:0{scale.digits}d}"
    return f"{scale.one * value:.{scale.digits}f}"


def format_difference(value: float | None, scale: ValueUnit = FRACTIONS) -> str:
    """A difference with its sign.

    Args:
        value: any number, or None.
        scale: unit.

    Returns:
        The sign and the digits; what is or reads as zero, and None, as `format_value` has them.

    Example:
        >>> tuple(format_difference(value) for value in (0.0017, -0.25, -0.0, 3e-7, -3e-7, None))
        ('+0.0017', '-0.2500', '0.0000', '<.0001', '>-.0001', '–')
    """
    return format_value(value, scale) if value is None or value < _least(scale) else f"+{format_value(value, scale)}"


def _least(scale: ValueUnit) -> float:
    """The least value that rounds to a digit that is not zero."""
    return 0.5 * 10.0**-scale.digits / scale.one


def count_phrase(number: int, noun: str, plural: str) -> str:
    """A number with its noun.

    Args:
        number: count.
        noun: singular.
        plural: plural.

    Example:
        >>> count_phrase(1, "query", "queries"), count_phrase(1200, "query", "queries")
        ('1 query', '1,200 queries')
    """
    return f"{number:,} {noun if number == 1 else plural}"


def interval(
    lowest: float | None, highest: float | None, scale: ValueUnit = FRACTIONS, show: Show = format_value
) -> str:
    """An interval in brackets.

    Args:
        lowest: such as the value under the worst order of ties; None or NaN where it is not known.
        highest: such as the value under the best one.
        scale: the unit.
        show: formatter of the ends: `format_value`, or `format_difference` for differences.

    Returns:
        Both ends in brackets, "–" where an end is missing.

    Example:
        >>> interval(0.2921, 0.3068), interval(-0.01, 0.02, show=format_difference)
        ('[0.2921, 0.3068]', '[-0.0100, +0.0200]')
    """
    if lowest is None or highest is None or lowest != lowest or highest != highest:
        return NOT_AVAILABLE
    return f"[{show(lowest, scale)}, {show(highest, scale)}]"


def percent(share: float | None) -> str:
    """A share in percent with two decimals, for sentences; tables print shares like values.

    Args:
        share: between 0 and 1, or None.

    Returns:
        The digits and the sign.

    Example:
        >>> percent(0.0312), percent(0.000001)
        ('3.12%', '<.01%')
    """
    if share is None:
        return NOT_AVAILABLE
    return "<.01%" if 0 < share < 0.00005 else f"{share:.2%}"
