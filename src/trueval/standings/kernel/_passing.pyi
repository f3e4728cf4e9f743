"""The compiled counts (_passing.c): one pass over the scores of each row, in blocks for vector instructions."""

from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

Memory = Buffer | NDArray[Any]

def count(scores: Memory, low: Memory, high: Memory, at_least: Memory, above: Memory, /) -> None:
    """Count the scores of each row that pass its bounds; other threads run meanwhile.

    A score that is not a number passes nothing. Nothing may be empty.

    Args:
        scores: [row, column] float32 or float64; only columns need to be one after another.
        low: [row, bound] in the same format, ascending.
        high: [row, bound] in the same format, ascending.
        at_least: [row, bound] int64; written: how many scores of the row are at least the lower bound.
        above: [row, bound] int64; written: how many are above the upper one.

    Raises:
        ValueError: shapes do not fit, a format is another, or memory is not aligned.
        BufferError: an argument gives no memory, or must not be written.
    """
