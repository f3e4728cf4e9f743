"""Columns of products: how documents are cut into tiles, and which product holds some of them in their own columns."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, NamedTuple

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


class Layout(NamedTuple):
    """Where documents are in products like those of their tiles.

    Attributes:
        wanted: [document] places, ascending.
        which: [pair] its document.
        begin: [document] its first column.
        product: [document] number of the product.
    """

    wanted: Ints
    which: Ints
    begin: Ints
    product: Ints

    @property
    def products(self) -> int:
        """How many."""
        return int(self.product.max()) + 1


def lay_out(starts: Ints, cuts: Ints, places: Ints) -> Layout:
    """Lay documents out in as few products as can have each in the columns of its own tile.

    Args:
        starts: [document + 1] first column of each of all documents side by side, and the end.
        cuts: [tile + 1] first document of each tile, and the end.
        places: [pair] the documents.

    >>> lay_out(np.arange(9), np.array([0, 4, 8]), np.array([1, 5, 2, 1])).product
    array([0, 0, 1])
    """
    wanted, which = np.unique(places, return_inverse=True)
    begin = starts[wanted] - starts[cuts[cuts.searchsorted(wanted, side="right") - 1]]
    return Layout(wanted, which, begin, _apart(begin, starts[wanted + 1] - starts[wanted]))


def _apart(begin: Ints, sizes: Ints) -> Ints:
    """Give each document a product in which its columns are free, of as few as there can be.

    Args:
        begin: [document] its first column.
        sizes: [document] its columns.

    Returns:
        [document] number of the product.

    >>> _apart(np.array([0, 7, 1, 3]), np.array([2, 1, 2, 4]))
    array([0, 1, 1, 0])
    """
    product = np.zeros(len(begin), dtype=np.int64)
    free: list[tuple[int, int]] = []  # the first free column of each product, and its number
    for each in np.argsort(begin, kind="stable").tolist():
        if free and free[0][0] <= begin[each]:
            product[each] = heappop(free)[1]
        else:
            product[each] = len(free)
        heappush(free, (int(begin[each] + sizes[each]), int(product[each])))
    return product
