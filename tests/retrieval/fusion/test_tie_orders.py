"""Orders of equal scores: few are all gone through, many are drawn evenly."""

from collections import Counter
from itertools import pairwise, permutations

import numpy as np

from trueval.retrieval.fusion.tie_orders import TieOrderings
from trueval.run import Run

LISTS = {"q": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0, "e": 1.0, "f": 1.0}, "p": {"z": 2.0, "y": 1.0}}


def lists(run: Run) -> dict[str, tuple[str, ...]]:
    rows = run.frame.group_by("query_id", maintain_order=True).agg("doc_id").rows()
    return {query: tuple(docs) for query, docs in rows}


def every_order(depth: int) -> set[tuple[str, ...]]:
    scores = LISTS["q"]
    ways = permutations(scores)
    return {way[:depth] for way in ways if all(scores[one] >= scores[other] for one, other in pairwise(way))}


def test_all_orders_of_a_query_with_few():
    for depth, number in ((1, 1), (2, 2), (3, 2), (4, 6), (5, 12), (6, 12)):
        orders = TieOrderings(Run.of(LISTS), depth, 12, None, np.random.default_rng(0))
        assert orders.number.tolist() == [number, 1]
        seen = [lists(orders.at(draw)) for draw in range(number)]
        assert {each["q"] for each in seen} == every_order(depth)
        assert {each["p"] for each in seen} == {("z", "y")[:depth]}
        assert lists(orders.at(number)) == seen[0]
    assert TieOrderings(Run.of(LISTS), 4, 12, None, np.random.default_rng(0)).cut.tolist() == [3, 0]
    assert TieOrderings(Run.of(LISTS), 3, 12, None, np.random.default_rng(0)).cut.tolist() == [0, 0]


def test_what_a_precision_calls_equal_is_equal_for_what_follows():
    """Or the next stage would sort the documents by their scores again."""
    run = Run.of({"q": {"a": 3.0, "b": 1.999, "c": 2.0, "d": 1.0}})
    orders = TieOrderings(run, 3, 2, 0.1, np.random.default_rng(0))
    given = [orders.at(draw) for draw in range(2)]
    assert {lists(each)["q"] for each in given} == {("a", "b", "c"), ("a", "c", "b")}
    assert {tuple(each.documents["score"]) for each in given} == {(3.0, 2.0, 2.0)}
    assert orders.as_listed().documents["score"].to_list() == [3.0, 1.999, 2.0]


def test_orders_of_a_query_with_more_are_drawn_evenly():
    orders = TieOrderings(Run.of(LISTS), 4, 5, None, np.random.default_rng(7))
    assert orders.number.tolist() == [0, 1]
    counts = Counter(lists(orders.at(draw))["q"] for draw in range(480))
    assert set(counts) == every_order(4)
    assert max(abs(count - 80) for count in counts.values()) < 4.5 * (480 / 6 * 5 / 6) ** 0.5


def test_as_listed_and_under_a_precision():
    run = Run.of({"q": {"a": 1.0, "b": 0.5, "c": 0.5001}})
    orders = TieOrderings(run, 2, 10, "bfloat16", np.random.default_rng(0))
    assert lists(orders.as_listed()) == {"q": ("a", "b")}
    assert {lists(orders.at(draw))["q"] for draw in range(2)} == {("a", "b"), ("a", "c")}
    whole = TieOrderings(run, None, 10, None, np.random.default_rng(0))
    assert lists(whole.at(0)) == {"q": ("a", "c", "b")}
