"""Locks: pairs whose order is settled, kept acyclic, and the ranking that respects them."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from trueval.standings.standings import Bools, Floats


class Locks:
    """An acyclic graph of settled pairs, closed under transitivity.

    Args:
        pool: number of documents.

    >>> locks = Locks(3)
    >>> locks.add(0, 1), locks.add(1, 2), locks.add(2, 0)
    (True, True, False)
    >>> bool(locks.above[0, 2])
    True
    """

    def __init__(self, pool: int) -> None:
        self.above: Bools = np.zeros((pool, pool), np.bool_)  # [winner, loser], closed under transitivity

    def add(self, winner: int, loser: int) -> bool:
        """Lock a pair, unless existing locks imply the opposite: that would create a cycle.

        Returns:
            Whether the pair is locked now.
        """
        if self.above[loser, winner]:
            return False
        if not self.above[winner, loser]:
            over, under = self.above[:, winner].copy(), self.above[loser].copy()
            over[winner] = under[loser] = True
            self.above |= over[:, None] & under
        return True

    def settles(self, batch: tuple[int, ...]) -> bool:
        """Whether the locks determine the whole order of a batch.

        >>> locks = Locks(3)
        >>> locks.add(0, 1), locks.settles((0, 1)), locks.settles((0, 1, 2))
        (True, True, False)
        """
        among = self.above[np.ix_(batch, batch)]
        return bool((among | among.T).sum() == len(batch) * (len(batch) - 1))

    def ranking(self, scores: Floats) -> list[int]:
        """All documents in an order that respects the locks; among the available next ones, the highest score first.

        Kahn 1962. Equal scores come in the order of the pool.

        Args:
            scores: [document] scores.

        >>> locks = Locks(3)
        >>> locks.add(2, 0), locks.ranking(np.array([3.0, 2.0, 1.0]))
        (True, [1, 2, 0])
        """
        waiting = self.above.sum(axis=0)
        free = [(-float(scores[document]), int(document)) for document in np.flatnonzero(waiting == 0)]
        heapify(free)
        found: list[int] = []
        while free:
            document = heappop(free)[1]
            found.append(document)
            # `above` is transitively closed, so a document with no remaining document above it is available.
            waiting = waiting - self.above[document]
            for other in np.flatnonzero(self.above[document] & (waiting == 0)):
                heappush(free, (-float(scores[other]), int(other)))
        return found
