"""Fusion: sums of fractions that tie exactly where the fractions do, and scores normalised list by list."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Literal

import numpy as np
import pytest

from trueval import Run
from trueval.errors import PolicyError
from trueval.retrieval.fusion.fuse import reciprocal_rank_fusion, weighted_fusion


def made_run(rng: np.random.Generator, queries: int, documents: int, ties: bool = False) -> Run:
    """A run of random lists over the same documents, some of which it lacks."""
    lists = {}
    for query in range(queries):
        chosen = rng.permutation(documents)[: rng.integers(1, documents + 1)]
        scores = rng.integers(0, 4, len(chosen)) if ties else rng.permutation(len(chosen))
        lists[f"q{query}"] = {f"d{doc}": float(score) for doc, score in zip(chosen, scores, strict=True)}
    return Run.from_dict(lists)


def exact_sums(runs: list[Run], k: Fraction, weights: list[Fraction], shared: bool) -> dict[tuple[str, str], Fraction]:
    """RRF by its formula, in rational arithmetic."""
    sums: dict[tuple[str, str], Fraction] = {}
    for run, weight in zip(runs, weights, strict=True):
        for query in run.query_ids:
            rows = run.frame.filter(query_id=query).select("doc_id", "score").rows()
            ordered = sorted(rows, key=lambda row: -row[1])
            for place, (doc, score) in enumerate(ordered, start=1):
                rank = 1 + sum(other > score for _, other in rows) if shared else place
                sums[query, doc] = sums.get((query, doc), Fraction(0)) + weight / (k + rank)
    return sums


@pytest.mark.parametrize("tied", ["listed", "shared"])
@pytest.mark.parametrize(
    ("runs", "k", "weights", "least"),
    [
        (2, 60, [1, 1], 5),
        (2, 10**9, [3, 1], 0),  # sums that differ in the 27th digit
        (3, 0, [1, 1, 1], 5),
        (3, 60, [0.7, 0.2, 0.1], 0),
        (4, 0.5, [0.5, 0.1, 1, 0.5], 1),
    ],
)
def test_scores_tie_exactly_where_fractions_are_equal(runs, k, weights, least, tied):
    rng = np.random.default_rng(runs)
    made = [made_run(rng, 12, 40, ties=tied == "shared") for _ in range(runs)]
    assert count_equal(made, k, weights, tied) >= (least or (tied == "shared"))  # or the test says nothing of ties


@pytest.mark.evidence
@pytest.mark.parametrize("k", [60, 0, 1, 0.1, 0.123456, 10**6, 10**9])
@pytest.mark.parametrize("weights", [[1, 1], [2, 1], [1, 1, 1], [0.7, 0.2, 0.1], [1, 0.333], [1, 1, 1, 1]])
def test_deep_lists_tie_exactly_where_fractions_are_equal(k, weights):
    rng = np.random.default_rng(len(weights))
    made = [made_run(rng, 4, 600) for _ in weights]
    count_equal(made, k, weights, "listed")


def count_equal(made: list[Run], k: float, weights: list[float], tied: Literal["listed", "shared"]) -> int:
    """Hold a fusion against rational arithmetic: order, ties and scores; returns the pairs of neighbours that tie."""
    fused = reciprocal_rank_fusion(made, k=k, weights=weights, tied=tied)
    exact = exact_sums(made, Fraction(str(k)), [Fraction(str(weight)) for weight in weights], tied == "shared")
    assert fused.run.documents.height == len(exact)
    equal = 0
    for (query, doc, score), (after, other, lower) in pairwise(fused.run.frame.rows()):
        assert score == pytest.approx(float(exact[query, doc]), rel=1e-13)
        if query == after:
            assert (score > lower) == (exact[query, doc] > exact[after, other])
            assert exact[query, doc] >= exact[after, other]
            equal += score == lower
    groups = Counter((query, total) for (query, _), total in exact.items()).values()
    assert fused.ties.tied == sum(size for size in groups if size > 1)
    return equal


def test_sums_that_differ_beyond_twice_the_digits_are_told_apart():
    # 0 + 4 + 7 + 11 = 1 + 2 + 9 + 10, and so are the sums of their squares and cubes (Prouhet, Tarry and Escott): with
    # a k of a thousand million the sums of the fractions differ in the 34th digit.
    ranks = {"a": (1, 5, 8, 12), "b": (2, 3, 10, 11)}
    runs = []
    for place in range(4):
        at = {of[place] - 1: doc for doc, of in ranks.items()}
        runs.append(Run.of({"q": [at.get(rank, f"{place} {rank}") for rank in range(12)]}))
    exact = {doc: sum(Fraction(1, 10**9 + rank) for rank in of) for doc, of in ranks.items()}
    assert 0 < exact["a"] / exact["b"] - 1 < Fraction(1, 10**33)
    fused = reciprocal_rank_fusion(runs, k=10**9)
    scores = fused.run.documents.rows()[:2]
    assert [doc for doc, _ in scores] == ["a", "b"]
    assert scores[0][1] > scores[1][1]


def test_ties_do_not_depend_on_the_order_of_terms():
    # Documents of ranks 1, 2 and 7 in three orders: a sum of rounded fractions has more than one value.
    assert len({sum(order) for order in permutations([1 / 61, 1 / 62, 1 / 67])}) > 1
    others = [f"other {place}" for place in range(4)]
    lists = [["a", "b", *others, "c"], ["b", "c", *others, "a"], ["c", "a", *others, "b"]]
    fused = reciprocal_rank_fusion([Run.of({"q": each}) for each in lists])
    scores = dict(fused.run.documents.select("doc_id", "score").rows())
    assert scores["a"] == scores["b"] == scores["c"]
    assert fused.ties == (7, 3, 1)
    assert [ties.tied for ties in fused.before] == [0, 0, 0]


def test_equal_sums_of_different_ranks_tie():
    # 1/3 + 1/6 = 1/4 + 1/4: with k = 0 a document of ranks 3 and 6 ties with one of ranks 4 and 4.
    first = Run.from_dict({"q": {"x": 8, "y": 7, "a": 6, "b": 5, "z": 4, "c": 3}})
    second = Run.from_dict({"q": {"u": 8, "v": 7, "w": 6, "b": 5, "t": 4, "a": 3}})
    scores = dict(reciprocal_rank_fusion([first, second], k=0).run.documents.select("doc_id", "score").rows())
    assert scores["a"] == scores["b"] == 0.5


def test_different_sums_with_one_nearest_float_stay_apart():
    # Weights of 15 digits: the sums differ in the 17th.
    first, second = Run.from_dict({"q": {"a": 2, "b": 1}}), Run.from_dict({"q": {"b": 2, "a": 1}})
    weights = [0.100000000000001, 0.1]
    fused = reciprocal_rank_fusion([first, second], k=10**6, weights=weights)
    a, b = (Fraction(str(w)) for w in weights)
    near, far = Fraction(1, 10**6 + 1), Fraction(1, 10**6 + 2)
    assert a * near + b * far > a * far + b * near
    assert float(a * near + b * far) == float(a * far + b * near)
    assert fused.run.documents["doc_id"].to_list() == ["a", "b"]
    assert fused.ties.tied == 0


def test_depth_cuts_the_lists_before_they_are_fused():
    first, second = Run.from_dict({"q": {"a": 3, "b": 2, "c": 1}}), Run.from_dict({"q": {"d": 3, "b": 2}})
    fused = reciprocal_rank_fusion([first, second], depth=1)
    assert fused.run.documents.rows() == [("a", 1 / 61), ("d", 1 / 61)]
    assert [ties.documents for ties in fused.before] == [1, 1]


def test_a_query_of_one_run_keeps_its_list():
    first, second = Run.from_dict({"q": {"a": 1}}), Run.from_dict({"p": {"a": 1}, "q": {"b": 1}})
    for fused in (reciprocal_rank_fusion([first, second]), weighted_fusion([first, second])):
        assert fused.run.query_ids.to_list() == ["q", "p"]
        assert fused.run.frame.filter(query_id="p").height == 1


def test_z_scores_are_those_of_each_list():
    rng = np.random.default_rng(5)
    scores = {f"d{place}": float(score) for place, score in enumerate(rng.normal(size=20))}
    flat = Run.from_dict({"q": dict.fromkeys(scores, 0.1)})
    fused = weighted_fusion([Run.from_dict({"q": scores}), flat], norm="z-score", weights=[2, 5])
    values = np.array(list(scores.values()))
    expected = dict(zip(scores, 2 * (values - values.mean()) / values.std(), strict=True))
    assert dict(fused.run.documents.select("doc_id", "score").rows()) == pytest.approx(expected)


@pytest.mark.parametrize("scale", [1e308, 1e200, 1e-200, 5e-324])
def test_norms_know_no_scale(scale: float):
    one, other = Run.from_dict({"q": {"a": scale, "b": 0.0, "c": -scale}}), Run.from_dict({"q": {"a": 1.0}})
    for norm, expected in (("min-max", [2.0, 1.5, 1.0]), ("z-score", [1.5**0.5, 0.0, -(1.5**0.5)])):
        scores = weighted_fusion([one, other], norm=norm).run.documents["score"].to_list()
        assert scores == pytest.approx(expected, rel=1e-15)


def test_what_a_list_lacks_is_worth_its_lowest_score():
    first, second = Run.from_dict({"q": {"a": 4.0, "b": -2.0}}), Run.from_dict({"q": {"c": 1.0, "a": -1.0, "d": 0.0}})
    scores = dict(weighted_fusion([first, second], norm="z-score").run.documents.select("doc_id", "score").rows())
    low, spread = -1.0, np.sqrt(2 / 3)
    assert scores["c"] == pytest.approx(low + 1 / spread)
    assert scores["b"] == pytest.approx(-1 - 1 / spread)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"weights": [1]}, "one weight"),
        ({"weights": [1, 0]}, "above 0"),
        ({"weights": [1, float("nan")]}, "above 0"),
        ({"depth": 0}, "depth"),
        ({"k": -1}, "k of"),
        ({"k": float("inf")}, "k of"),
        ({"weights": [1, 0.1234567890123456789]}, "fewer digits"),
    ],
)
def test_bad_choices_are_refused(options, told):
    run = Run.from_dict({"q": {"a": 1.0}})
    with pytest.raises(PolicyError, match=told):
        reciprocal_rank_fusion([run, run], **options)
    with pytest.raises(PolicyError, match="two runs"):
        weighted_fusion([run])
    with pytest.raises(PolicyError, match="infinite"):
        weighted_fusion([run, Run.from_dict({"q": {"a": float("inf")}})])
