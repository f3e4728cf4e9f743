"""Judge orders: full orders of small batches, and the type of the function that returns them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from trueval.errors import InputError
from trueval.standings.standings import Bools, Floats, Ints

# Documents are indices into a pool, from 0; `refine` maps them to ids.
Batch: TypeAlias = tuple[int, ...]


class JudgeOrder(NamedTuple):
    """One order given by a judge.

    Attributes:
        best_first: documents of a batch, best first.
        shown: the same documents in the order shown to the judge.
    """

    best_first: Batch
    shown: Batch


# Concurrent batches in display order → an order of each, best first; None where the judge gave none.
Ask: TypeAlias = Callable[[Sequence[Batch]], Sequence[Sequence[int] | None]]


def ask_round(ask: Ask, batches: Sequence[Batch]) -> tuple[JudgeOrder | None, ...]:
    """Ask about several batches concurrently, and check the answers.

    Args:
        batches: batches in display order.

    Returns:
        An order for each batch, None where the judge gave none.

    Raises:
        InputError: the judge gave another number of answers, or one that does not order its batch.

    >>> ask_round(lambda batches: [sorted(batch) for batch in batches], [(2, 0, 1)])
    (JudgeOrder(best_first=(0, 1, 2), shown=(2, 0, 1)),)
    """
    answers = ask(batches)
    if len(answers) != len(batches):
        raise InputError(f"The judge must answer for each of {len(batches)} batches. Got {len(answers)} answers.")
    return tuple(map(_check_answer, answers, batches))


def _check_answer(answer: Sequence[int] | None, shown: Batch) -> JudgeOrder | None:
    if answer is None:
        return None
    found = tuple(map(int, answer))
    if sorted(found) != sorted(shown):
        raise InputError(
            f"The judge must order the documents {list(shown)} and no others. Got {list(found)}. Answers that are not "
            "a full order must come as None."
        )
    return JudgeOrder(found, shown)


@dataclass(frozen=True, eq=False)
class OrderBatch:
    """Orders as arrays; shorter ones are padded with -1.

    Attributes:
        items: [order, rank] document at each rank, best first.
        slots: [order, rank] slot in which it was shown, from 0.
        pool: number of documents in the pool.
    """

    items: Ints
    slots: Ints
    pool: int

    @classmethod
    def of(cls, orders: Iterable[JudgeOrder], pool: int) -> OrderBatch:
        """Collect orders into arrays.

        Args:
            orders: orders of documents below `pool`, each at most once per order.
            pool: number of documents in the pool.

        >>> OrderBatch.of([JudgeOrder((3, 1), (1, 3)), JudgeOrder((0, 2, 1), (0, 1, 2))], 4).items.tolist()
        [[3, 1, -1], [0, 2, 1]]
        """
        found = list(orders)
        places = max((len(order.best_first) for order in found), default=2)
        items = np.full((len(found), places), -1, np.int64)
        slots = items.copy()
        for row, order in enumerate(found):
            seen = {document: slot for slot, document in enumerate(order.shown)}
            items[row, : len(order.best_first)] = order.best_first
            slots[row, : len(order.best_first)] = [seen[document] for document in order.best_first]
        return cls(items, slots, pool)

    @property
    def present(self) -> Bools:
        """[order, rank] whether the rank holds a document rather than padding."""
        return self.items >= 0

    @property
    def sizes(self) -> Ints:
        """[order] number of documents."""
        found: Ints = self.present.sum(axis=1)
        return found

    def __len__(self) -> int:
        """Number of orders."""
        return len(self.items)

    def wins(self) -> Ints:
        """[winner, loser] number of orders that put the first document above the second.

        >>> OrderBatch.of([JudgeOrder((0, 1), (0, 1)), JudgeOrder((0, 1, 2), (2, 1, 0))], 3).wins().tolist()
        [[0, 2, 1], [0, 0, 1], [0, 0, 0]]
        """
        found = np.zeros((self.pool, self.pool), np.int64)
        for above in range(self.items.shape[1] - 1):
            for below in range(above + 1, self.items.shape[1]):
                both = self.items[:, below] >= 0
                np.add.at(found, (self.items[both, above], self.items[both, below]), 1)
        return found

    def exposures(self) -> Ints:
        """[document] number of orders that contain it."""
        found: Ints = np.bincount(self.items[self.present], minlength=self.pool)
        return found

    def slot_values(self) -> Floats:
        """[order, rank] slot in which each document was shown: -1/2 for the first, 1/2 for the last; 0 for padding."""
        last = np.maximum(self.sizes - 1, 1)[:, None]
        return np.where(self.present, self.slots / last - 0.5, 0.0)
