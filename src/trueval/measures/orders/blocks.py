"""Blocks of tie groups of similar size, whose matrices have little padding and fit in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueval.standings.standings import Ints


def blocks(cells: Ints, most: int) -> Iterator[Ints]:
    """Indices of groups in blocks of similar size, each of at most `most` cells unless it is a single group.

    Args:
        cells: [group] number of cells in its row of the matrix; every row of a block has as many as the largest.
        most: maximum number of cells in a block.

    >>> [block.tolist() for block in blocks(np.array([4, 1, 1]), 6)]
    [[0], [1, 2]]
    """
    if int(cells.max(initial=0)) * len(cells) <= most:
        if len(cells):
            yield np.arange(len(cells))
        return
    order = np.argsort(cells, kind="stable")
    end = len(order)
    while end > 0:
        begin = max(0, end - max(1, most // max(1, int(cells[order[end - 1]]))))
        yield order[begin:end]
        end = begin
