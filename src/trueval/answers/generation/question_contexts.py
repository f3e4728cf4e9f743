"""The contexts of a question: what stands in its prompt, and the orders that ties leave open.

A context is the first K documents of a list. Documents with equal scores may come in any order, so where the list ties
inside its first K or at the cut, there are several contexts, each with the same chance

    1 / product over tie groups of m! / (m - s)!      m documents tie, s of them are in the context

All are tried where there are no more than `orders` of them; else so many different ones are drawn, and the mean of
their answers estimates that of all, without bias.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Final, NamedTuple

import numpy as np

from trueval.answers.generation.asked_questions import AskedQuestion, RankedDocument

NONE: Final = "none"
SYSTEM: Final = "system"
GOLD: Final = "gold"
NOISY: Final = "gold+distractors"
REORDERED: Final = "reordered"


class ContextOrders(NamedTuple):
    """The contexts that a list with ties may give.

    Attributes:
        orders: ids of each context, in the order of the prompt.
        possible: number of contexts, each with the chance 1 / possible.
    """

    orders: tuple[tuple[str, ...], ...]
    possible: int

    @property
    def all(self) -> bool:
        """Whether every context is there."""
        return len(self.orders) == self.possible


def context_orders(ranked: Sequence[RankedDocument], k: int, most: int, seed: object) -> ContextOrders:
    """The contexts of the first k documents of a list.

    Args:
        ranked: documents, best score first.
        k: number of documents in a context.
        most: maximum number of contexts.
        seed: what the drawn ones depend on; a JSON value.

    >>> rows = [RankedDocument("a", 3.0), RankedDocument("b", 2.0), RankedDocument("c", 2.0), RankedDocument("d", 2.0)]
    >>> context_orders(rows, 2, 4, 0)
    ContextOrders(orders=(('a', 'b'), ('a', 'c'), ('a', 'd')), possible=3)
    """
    groups = list(_groups(ranked, k))
    count = math.prod(math.perm(len(group), taken) for group, taken in groups)
    if count <= most:
        every = product(*(permutations(group, taken) for group, taken in groups))
        return ContextOrders(tuple(tuple(id for part in parts for id in part) for parts in every), count)
    rng = rng_of(seed, "orders")
    drawn: dict[tuple[str, ...], None] = {}
    while len(drawn) < most:  # of more than `most` contexts, so it ends
        parts = [[group[at] for at in rng.permutation(len(group))[:taken].tolist()] for group, taken in groups]
        drawn[tuple(id for part in parts for id in part)] = None
    return ContextOrders(tuple(drawn), count)


def _groups(ranked: Sequence[RankedDocument], k: int) -> Iterator[tuple[list[str], int]]:
    """Tie groups that reach into the first k, each with the number of its documents there."""
    start = 0
    while start < min(k, len(ranked)):
        end = start
        while end < len(ranked) and ranked[end].score == ranked[start].score:
            end += 1
        yield [each.id for each in ranked[start:end]], min(end, k) - start
        start = end


def rng_of(seed: object, *about: object) -> np.random.Generator:
    """A generator whose numbers follow from a seed and a subject."""
    digest = hashlib.sha256(json.dumps([seed, *about]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def distractors_of(question: AskedQuestion) -> tuple[str, ...]:
    """Documents of the system's list that hold no answer by the judgments, best first."""
    gold = {*question.gold}
    return tuple(each.id for each in question.ranked if each.id not in gold)


class QuestionContexts(NamedTuple):
    """The contexts of a question by name; absent if they cannot be made."""

    question: AskedQuestion
    by_name: dict[str, ContextOrders]


def contexts_of(
    question: AskedQuestion, names: Sequence[str], *, k: int, distractors: int, orders: int, seed: int
) -> QuestionContexts:
    """Make the contexts of a question.

    Gold documents are the first k of those judged relevant, best grade first; with distractors, in a drawn order. The
    system's in another order are its first context, in a drawn order that differs.

    Args:
        names: of the contexts, as in [answers].
        k: number of documents in a context.
        distractors: number beside the gold ones.
        orders: maximum number of contexts where ties leave several.
    """
    found: dict[str, ContextOrders] = {}
    system = context_orders(question.ranked, k, orders, [seed, question.query])
    gold = question.gold[:k]
    noise = distractors_of(question)[:distractors]
    if NONE in names:
        found[NONE] = _one(())
    if SYSTEM in names:
        found[SYSTEM] = system
    if GOLD in names and gold:
        found[GOLD] = _one(gold)
    if NOISY in names and gold and len(noise) == distractors:
        rng = rng_of(seed, "distractors", question.query)
        mixed = (*gold, *noise)
        found[NOISY] = _one([mixed[at] for at in rng.permutation(len(mixed)).tolist()])
    if REORDERED in names and len(system.orders[0]) > 1:
        found[REORDERED] = _one(_another_order(system.orders[0], rng_of(seed, "reordered", question.query)))
    return QuestionContexts(question, found)


def _one(documents: Sequence[str]) -> ContextOrders:
    return ContextOrders((tuple(documents),), 1)


def _another_order(documents: Sequence[str], rng: np.random.Generator) -> list[str]:
    while True:
        found = [documents[at] for at in rng.permutation(len(documents)).tolist()]
        if found != list(documents):
            return found
