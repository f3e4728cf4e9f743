"""Numbers as people read them: rounded here and nowhere else."""

DIGITS = 4
NOT_AVAILABLE = "–"
LEAST = 0.5 * 10**-DIGITS  # what rounds to a digit that is not zero
NOISE = 1e-12  # sums of the same doubles in another order differ by less


def fixed(value: float | None) -> str:
    """A value with four decimals.

    Args:
        value: any number, None where there is none.

    Returns:
        The digits; "<.0001" and ">-.0001" for values above and below zero that would read as zero; "–" for None.

    Example:
        >>> fixed(0.29213), fixed(-0.0), fixed(3e-7), fixed(-3e-7), fixed(None)
        ('0.2921', '0.0000', '<.0001', '>-.0001', '–')
    """
    if value is None:
        return NOT_AVAILABLE
    if abs(value) < NOISE:
        return f"{0:.{DIGITS}f}"
    if abs(value) < LEAST:
        return "<.0001" if value > 0 else ">-.0001"
    return f"{value:.{DIGITS}f}"


def signed(value: float | None) -> str:
    """A difference with its sign and four decimals.

    Args:
        value: any number, None where there is none.

    Returns:
        The sign and the digits; what is or reads as zero, and None, as `fixed` has them.

    Example:
        >>> signed(0.0017), signed(-0.25), signed(-0.0), signed(3e-7), signed(-3e-7), signed(None)
        ('+0.0017', '-0.2500', '0.0000', '<.0001', '>-.0001', '–')
    """
    return fixed(value) if value is None or value < LEAST else f"+{fixed(value)}"


def counted(number: int, noun: str, plural: str) -> str:
    """A number with its noun.

    Args:
        number: how many.
        noun: for one.
        plural: for any other number.

    Example:
        >>> counted(1, "query", "queries"), counted(1200, "query", "queries")
        ('1 query', '1,200 queries')
    """
    return f"{number:,} {noun if number == 1 else plural}"


def interval(lowest: float | None, highest: float | None) -> str:
    """The values that ties allow.

    Args:
        lowest: the value under the worst order of ties.
        highest: the value under the best one.

    Returns:
        Both ends in brackets, "–" where an end is missing.

    Example:
        >>> interval(0.2921, 0.3068)
        '[0.2921, 0.3068]'
    """
    if lowest is None or highest is None:
        return NOT_AVAILABLE
    return f"[{fixed(lowest)}, {fixed(highest)}]"


def percent(share: float | None) -> str:
    """A share in percent with two decimals.

    Args:
        share: between 0 and 1, None where there is none.

    Returns:
        The digits and the sign.

    Example:
        >>> percent(0.0312), percent(0.000001)
        ('3.12%', '<.01%')
    """
    if share is None:
        return NOT_AVAILABLE
    return "<.01%" if 0 < share < 0.00005 else f"{share:.2%}"
