"""Columns of products: how documents are cut into tiles."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

LEAST: Final = 32  # rows and columns come in multiples of it; kernels for fewer rows sum in another order


def cut(sizes: Ints, width: int) -> tuple[Ints, int]:
    """Cut documents into tiles of about the same size.

    Args:
        sizes: [document] columns that each takes.
        width: columns that a tile has at least, where there are as many.

    Returns:
        [tile + 1] where each starts, and the columns that all are padded to.

    >>> cut(np.ones(100, dtype=np.int64), 30)
    (array([  0,  64, 100]), 64)
    """
    ends = sizes.cumsum()
    tiles = max(1, int(ends[-1]) // width)
    wanted = pad_size(-(-int(ends[-1]) // tiles)) * np.arange(1, tiles)
    cuts = np.unique(np.concatenate(([0], ends.searchsorted(wanted, side="right"), [len(sizes)])))
    return cuts, pad_size(int(np.diff(np.append(0, ends)[cuts]).max()))


def pad_size(size: int) -> int:
    """The next multiple of LEAST."""
    return -(-size // LEAST) * LEAST
