"""Numbers as people read them: rounded here and nowhere else."""

DIGITS = 4
NOT_AVAILABLE = "–"


def fixed(value: float | None) -> str:
    """A value with four decimals.

    Args:
        value: any number, None where there is none.

    Returns:
        The digits, "<.0001" for a value above zero that would read as zero, and "–" for None.

    Example:
        >>> fixed(0.29213), fixed(0.0), fixed(3e-7), fixed(None)
        ('0.2921', '0.0000', '<.0001', '–')
    """
    if value is None:
        return NOT_AVAILABLE
    if 0 < value < 0.5 * 10**-DIGITS:
        return "<.0001"
    return f"{value:.{DIGITS}f}"


def signed(value: float | None) -> str:
    """A difference with its sign and four decimals.

    Args:
        value: any number, None where there is none.

    Returns:
        The sign and the digits, and "–" for None.

    Example:
        >>> signed(0.0017), signed(-0.25), signed(0.0), signed(-3e-7), signed(None)
        ('+0.0017', '-0.2500', '0.0000', '-<.0001', '–')
    """
    if value is None or value == 0:
        return fixed(value)
    return ("+" if value > 0 else "-") + fixed(abs(value))


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
