"""Formatting of milliseconds, money and bytes, and removal of words that all names share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from trueval.report.number_texts import NOT_AVAILABLE
from trueval.report.units import Unit, unscaled_unit

_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")


def milliseconds(seconds: float | None) -> str:
    """A duration in milliseconds, with at least three digits.

    Args:
        seconds: of one query.

    Example:
        >>> [milliseconds(each) for each in (0.00042, 0.0123, 0.5, 2.9311, None)]
        ['0.42', '12.3', '500', '2,931', '–']
    """
    if seconds is None:
        return NOT_AVAILABLE
    value = 1000 * seconds
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def money(amount: float | None) -> str:
    """An amount of currency per 1,000 queries.

    Args:
        amount: at least 0.

    Example:
        >>> [money(each) for each in (1.25, 0.0004, 0.0, 1234.5, None)]
        ['1.25', '0.0004', '0.00', '1,234.50', '–']
    """
    if amount is None:
        return NOT_AVAILABLE
    return f"{amount:.2g}" if 0 < amount < 0.095 else f"{amount:,.2f}"


def size(count: float | None) -> str:
    """Bytes in the largest binary unit not above them.

    Args:
        count: of bytes.

    Example:
        >>> [size(each) for each in (0, 512, 4096, 4_096_000_000, None)]
        ['0 B', '512 B', '4.0 KiB', '3.8 GiB', '–']
    """
    if count is None:
        return NOT_AVAILABLE
    value, place = float(count), 0
    while value >= 1024 and place < len(_SIZES) - 1:
        value, place = value / 1024, place + 1
    return f"{value:.0f} {_SIZES[place]}" if place == 0 else f"{value:.1f} {_SIZES[place]}"


def share(value: float | None) -> str:
    """A share or probability with three decimals.

    >>> share(0.9412), share(1.0), share(None)
    ('.941', '1.000', '–')
    """
    if value is None:
        return NOT_AVAILABLE
    text = f"{value:.3f}"
    return text.removeprefix("0") if 0 <= value < 1 and text != "1.000" else text


def four_digits(value: object) -> str:
    """A number with four significant digits, such as a setting; text unchanged.

    >>> four_digits(12345.678), four_digits("int8"), four_digits(None)
    ('1.235e+04', 'int8', '–')
    """
    return NOT_AVAILABLE if value is None else f"{value:,.4g}" if isinstance(value, float | int) else str(value)


MILLISECONDS: Final[Unit] = unscaled_unit(milliseconds)  # of seconds
MONEY: Final[Unit] = unscaled_unit(money)
SHARE: Final[Unit] = unscaled_unit(share)
BYTES: Final[Unit] = unscaled_unit(size)
SETTING: Final[Unit] = unscaled_unit(four_digits)


class HasValue(Protocol):
    """What has a value, such as an estimate."""

    @property
    def value(self) -> float | None:
        """The value."""


def value_in(part: HasValue | None) -> float | None:
    """The value of a part of a result that may be missing; a column that takes it so keeps its place in the JSON."""
    return None if part is None else part.value


def apart(names: Sequence[str]) -> list[str]:
    """Names without their common first and last words.

    Args:
        names: of systems or configurations.

    Returns:
        What tells them apart, in the same order; the names as they are where there are fewer than two different ones,
        or where one would be empty.

    Example:
        >>> apart(["MiniLM dense 384d flat", "MiniLM dense 128d hnsw flat"])
        ['384d', '128d hnsw']
        >>> apart(["dense", "dense rerank"])
        ['dense', 'dense rerank']
    """
    split = [name.split(" ") for name in names]
    if len(set(names)) < 2:
        return list(names)
    head = _count_shared_words(split)
    tail = _count_shared_words([words[head:][::-1] for words in split])
    short = [words[head : len(words) - tail] for words in split]
    return [" ".join(words) for words in short] if all(short) else list(names)


def describe_shared_words(names: Sequence[str]) -> str:
    """A sentence on the words that `apart` removes; empty where it removes none.

    Args:
        names: of systems or configurations.

    Example:
        >>> describe_shared_words(["MiniLM dense 384d flat", "MiniLM dense 128d hnsw flat"])
        'Every name also begins with "MiniLM dense" and ends with "flat".'
    """
    short = apart(names)
    if short == list(names):
        return ""
    split = [name.split(" ") for name in names]
    head = _count_shared_words(split)
    tail = len(split[0]) - head - len(short[0].split(" "))
    parts = (("begins", split[0][:head]), ("ends", split[0][len(split[0]) - tail :]))
    told = [f'{verb} with "{" ".join(words)}"' for verb, words in parts if words]
    return f"Every name also {' and '.join(told)}."


def _count_shared_words(several: Sequence[Sequence[str]]) -> int:
    """Number of leading words that all lists share.

    >>> _count_shared_words([["a", "b", "c"], ["a", "b"], ["a", "b", "d"]])
    2
    """
    count = 0
    for words in zip(*several, strict=False):
        if len(set(words)) > 1:
            break
        count += 1
    return count
