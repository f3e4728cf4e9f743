"""Heapsort with a judge: build a heap in which each document is above its children, and take the best off its top."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from trueval.golden.refine.judge_orders import Ask, ask_round
from trueval.standings.standings import Floats

# Places in the heap, and the heap → the place with the best document.
Best: TypeAlias = Callable[[list[int], list[int]], int]


def heapsort(grades: Floats, ask: Ask, rng: np.random.Generator, *, top: int = 20, children: int = 4) -> list[int]:
    """Rank by a heap of a given arity: one call finds the best of a node and its children.

    With one child less than documents in a batch this is setwise heapsort (Zhuang et al. 2024); with 2 children and
    calls about pairs it is `pairwise_heapsort`. The heap begins in the order of the grades.

    Args:
        grades: [document].
        ask: the judge.
        rng: where the order of showing comes from.
        top: how many are taken off.
        children: of a node.

    Returns:
        All documents; those after the first `top` in the order of what is left of the heap.

    >>> heapsort(np.arange(4.0), lambda batches: [sorted(batch) for batch in batches], np.random.default_rng(0))
    [0, 1, 2, 3]
    """

    def best(places: list[int], heap: list[int]) -> int:
        shown = tuple(int(each) for each in rng.permutation([heap[place] for place in places]))
        (order,) = ask_round(ask, [shown])
        return places[0] if order is None else heap.index(order.best_first[0])

    return _sort_by_heap(grades, best, top, children)


def pairwise_heapsort(grades: Floats, ask: Ask, rng: np.random.Generator, *, top: int = 20) -> list[int]:
    """Rank by a binary heap with pairwise calls (PRP with heapsort; Qin et al. 2023).

    Args:
        grades: [document].
        ask: the judge.
        rng: where the order of showing comes from.
        top: how many are taken off.
    """

    def best(places: list[int], heap: list[int]) -> int:
        winner = places[0]
        for place in places[1:]:
            shown = tuple(int(each) for each in rng.permutation([heap[winner], heap[place]]))
            (order,) = ask_round(ask, [shown])
            if order is not None:
                winner = heap.index(order.best_first[0])
        return winner

    # A parent is compared with the better one of its children: two calls a level.
    return _sort_by_heap(grades, best, top, 2)


def _sort_by_heap(grades: Floats, best: Best, top: int, children: int) -> list[int]:
    heap = [int(each) for each in np.argsort(-grades, kind="stable")]

    def sink(place: int, size: int) -> None:
        while below := range(children * place + 1, min(children * place + 1 + children, size)):
            winner = best([place, *below], heap)
            if winner == place:
                return
            heap[place], heap[winner] = heap[winner], heap[place]
            place = winner

    for place in range((len(heap) - 2) // children, -1, -1):
        sink(place, len(heap))
    found: list[int] = []
    size = len(heap)
    while size and len(found) < top:
        size -= 1
        found.append(heap[0])
        heap[0] = heap[size]
        if len(found) < top:  # nobody asks who would come after the last one
            sink(0, size)
    return [*found, *heap[:size]]
