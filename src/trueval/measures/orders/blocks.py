"""Tie groups in blocks of like size, so that the matrix of a block holds little padding and fits into memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueval.standings.standings import Ints


def blocks(cells: Ints, most: int) -> Iterator[Ints]:
    """Places of groups, those of a block with like numbers of cells, and `most` cells in all unless it is one group.

    Args:
        cells: [group] what its row of the matrix holds; a block has as many for each row as its largest.
        most: cells of a block.

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
