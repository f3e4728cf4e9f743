"""Contexts of a question: those that ties leave open against all orders of its list, and what each kind holds."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest

from trueval.answers.generation.asked_questions import AskedQuestion, RankedDocument
from trueval.answers.generation.generation_tables import CONTEXTS
from trueval.answers.generation.question_contexts import context_orders, contexts_of


def ranked(*scores: float) -> tuple[RankedDocument, ...]:
    return tuple(RankedDocument("abcdefgh"[at], score) for at, score in enumerate(scores))


def every_context(rows: tuple[RankedDocument, ...], k: int) -> dict[tuple[str, ...], Fraction]:
    """The chance of each context, over all orders of the list that keep scores descending."""
    orders = [order for order in permutations(rows) if all(one.score >= other.score for one, other in pairwise(order))]
    counts = Counter(tuple(each.id for each in order[:k]) for order in orders)
    return {context: Fraction(count, len(orders)) for context, count in counts.items()}


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(
    "scores", [(3, 2, 1), (1, 1, 1), (3, 2, 2, 2, 1), (2, 2, 1, 1, 1), (5, 5, 4, 3, 3, 3)], ids=str
)
def test_contexts_and_their_chances_are_those_of_all_orders(scores: tuple[float, ...], k: int) -> None:
    found = context_orders(ranked(*scores), k, 10**6, 0)
    wanted = every_context(ranked(*scores), k)
    assert found.all
    assert {order: Fraction(1, found.possible) for order in found.orders} == wanted
    # The run's own order comes first.
    assert found.orders[0] == tuple("abcdefgh"[: min(k, len(scores))])


def test_drawn_contexts_are_different_and_estimate_the_mean_of_all() -> None:
    """Of 60 contexts 4 are drawn, over 2,000 seeds: every context is as likely as another."""
    rows = ranked(1, 1, 1, 1, 1)
    every = every_context(rows, 3)
    counts: Counter[tuple[str, ...]] = Counter()
    for seed in range(2000):
        found = context_orders(rows, 3, 4, seed)
        assert len({*found.orders}) == 4
        assert (found.possible, found.all) == (60, False)
        counts.update(found.orders)
    assert {*counts} == {*every}
    expected = 2000 * 4 / 60
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 110  # 59 degrees, far tail


def question(scores: tuple[float, ...], gold: tuple[str, ...]) -> AskedQuestion:
    return AskedQuestion("q", "Which?", ranked(*scores), gold, frozenset(gold), {})


def test_each_kind_of_context_holds_what_its_name_says() -> None:
    asked = question((6, 5, 4, 3, 2, 1), ("c", "x"))
    made = contexts_of(asked, CONTEXTS, k=3, distractors=2, orders=4, seed=0).by_name
    found = {name: each.orders for name, each in made.items()}
    assert found["none"] == ((),)
    assert found["system"] == (("a", "b", "c"),)
    assert found["gold"] == (("c", "x"),)
    assert sorted(found["gold+distractors"][0]) == ["a", "b", "c", "x"]
    assert sorted(found["reordered"][0]) == ["a", "b", "c"]
    assert found["reordered"] != found["system"]
    assert made == contexts_of(asked, CONTEXTS, k=3, distractors=2, orders=4, seed=0).by_name


def test_what_cannot_be_made_is_not_there() -> None:
    bare = contexts_of(question((2, 1), ()), CONTEXTS, k=1, distractors=2, orders=4, seed=0)
    assert {*bare.by_name} == {"none", "system"}
    few = contexts_of(question((2, 1), ("a",)), CONTEXTS, k=2, distractors=2, orders=4, seed=0)
    assert {*few.by_name} == {"none", "system", "gold", "reordered"}


def test_the_place_of_gold_among_distractors_is_drawn_evenly() -> None:
    places = Counter()
    for seed in range(900):
        asked = question((6, 5, 4), ("c",))
        made = contexts_of(asked, ("gold+distractors",), k=1, distractors=2, orders=1, seed=seed).by_name
        places[made["gold+distractors"].orders[0].index("c")] += 1
    assert np.all(np.abs(np.array([places[at] for at in range(3)]) - 300) < 4 * np.sqrt(900 * 2 / 9))
