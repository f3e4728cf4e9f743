"""Large texts worked on in parts, on all processors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["byte_parts", "in_threads", "line_parts", "row_parts", "side_by_side"]

PART = 1 << 23  # bytes; small enough that the memory of one part serves the next
ROWS = 1 << 18  # rows; a few columns of a part stay in the processor's cache

Item = TypeVar("Item")
Result = TypeVar("Result")
Other = TypeVar("Other")


def line_parts(data: bytes, size: int) -> list[slice]:
    r"""Cut a text into parts of whole lines of so many bytes at least, but for the last.

    >>> line_parts(b"a\nb\nc\n", 3)
    [slice(0, 4, None), slice(4, 6, None)]
    """
    parts, start = [], 0
    while start < len(data):
        stop = data.find(b"\n", start + size - 1) + 1 or len(data)
        parts.append(slice(start, stop))
        start = stop
    return parts


def byte_parts(size: int) -> list[slice]:
    """Cut a text into parts, wherever its lines end.

    >>> byte_parts(3)
    [slice(0, 3, None)]
    """
    return [slice(start, min(start + PART, size)) for start in range(0, size, PART)]


def row_parts(rows: int) -> list[slice]:
    """Cut a table into parts of rows.

    >>> row_parts(3)
    [slice(0, 3, None)]
    """
    return [slice(start, min(start + ROWS, rows)) for start in range(0, rows, ROWS)]


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Give the results of some work in the order of its items.

    The work must let other threads run, as NumPy and polars do on large arrays.

    >>> in_threads(abs, [-1, 2])
    [1, 2]
    """
    items = list(items)
    if len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, items))


def side_by_side(first: Callable[[], Result], second: Callable[[], Other]) -> tuple[Result, Other]:
    """Do two things at once, each of which lets other threads run.

    >>> side_by_side(list, dict)
    ([], {})
    """
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(second)
        return first(), other.result()
