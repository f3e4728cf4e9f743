"""Counts of scores that pass bounds, by the compiled kernel (_passing.c) where it is built."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueval.standings.standings import Ints

try:
    from trueval.standings.kernel import _passing
except ImportError:  # the package was installed without a compiler
    is_compiled = False
else:
    is_compiled = True


def count_passing(
    scores: NDArray[np.generic], low: NDArray[np.generic], high: NDArray[np.generic]
) -> tuple[Ints, Ints]:
    """Count the scores of each row at or above its lower bounds, and above its upper bounds; needs the kernel.

    Args:
        scores: [row, column] float32 or float64; no axis is empty.
        low: [row, bound] ascending, in the same format.
        high: [row, bound] ascending, in the same format.

    Returns:
        [row, bound] number of scores at or above the lower bound, and number above the upper one.
    """
    if scores.shape[1] > 1 and scores.strides[1] != scores.itemsize:
        scores = np.ascontiguousarray(scores)
    at_least, above = np.empty(low.shape, np.int64), np.empty(low.shape, np.int64)
    _passing.count(scores, np.ascontiguousarray(low), np.ascontiguousarray(high), at_least, above)
    return at_least, above
