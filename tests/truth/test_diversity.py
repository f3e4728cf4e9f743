"""Facets: pyndeval, every order by hand, and what facets must leave alone."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
import twin

from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

CLOSE = 1e-12
Facets = dict[str, set[str]]  # document -> facets that it is relevant to


def judgments_of(queries: Mapping[str, Facets], names: str = "abcde") -> Judgments:
    """Every document of a query judged for every facet, relevant or not."""
    lines = [
        {"query_id": query, "facet": facet, "doc_id": document, "grade": float(facet in facets)}
        for query, documents in queries.items()
        for document, facets in documents.items()
        for facet in names
    ]
    return Judgments.from_frame(pl.DataFrame(lines), facets=True)


def random_facets(documents: int, facets: int, rng: np.random.Generator) -> Facets:
    names = "abcde"[:facets]
    return {f"d{i:02}": {name for name in names if rng.random() < 0.4} for i in range(documents)}


# --- the plain definition ---------------------------------------------------------------------------------------------


def novelty_sum(order: list[str], about: Facets, weights: list[float], keep: float) -> float:
    seen: dict[str, int] = {}
    total = 0.0
    for document, weight in zip(order, weights, strict=False):
        for facet in about.get(document, ()):
            total += weight * keep ** seen.get(facet, 0)
        for facet in about.get(document, ()):
            seen[facet] = seen.get(facet, 0) + 1
    return total


def greedy(about: Facets, length: int, keep: float, by_name: bool) -> list[str]:
    """The ranking that takes the largest gain; ties to the largest name, or to the earliest facets."""
    order: list[str] = []
    while len(order) < min(length, len(about)):
        left = [d for d in about if d not in order]
        seen = {f: sum(f in about[d] for d in order) for f in "abcde"}
        gains = {d: round(sum(keep ** seen[f] for f in about[d]), 9) for d in left}
        best = [d for d in left if gains[d] == max(gains.values())]
        order.append(max(best) if by_name else max(best, key=lambda d: [f in about[d] for f in "abcde"]))
    return order


def alpha_ndcg(order: list[str], about: Facets, k: int, keep: float, by_name: bool = False) -> float:
    weights = [1 / math.log2(rank + 1) for rank in range(1, k + 1)]
    ideal = novelty_sum(greedy(about, k, keep, by_name), about, weights, keep)
    return novelty_sum(order, about, weights, keep) / ideal if ideal else 0.0


def nrbp(order: list[str], about: Facets, keep: float, beta: float) -> float:
    facets = len(set().union(*about.values()))
    total = novelty_sum(order, about, [beta**rank for rank in range(len(order))], keep)
    return (1 - keep * beta) / facets * total if facets else 0.0


def orders_of(scores: Mapping[str, float]) -> list[list[str]]:
    groups = twin.tie_groups(scores)
    return [list(itertools.chain(*parts)) for parts in itertools.product(*map(itertools.permutations, groups))]


def over(values: list[float]) -> list[float]:
    return [float(np.mean(values)), min(values), max(values), float(np.var(values))]


RNG = np.random.default_rng(31)
TIED = {
    f"q{i}": (random_facets(5 + i % 2, 2 + i % 4, RNG), {f"d{j:02}": float(RNG.integers(1 + i % 3)) for j in range(6)})
    for i in range(12)
}


@pytest.mark.parametrize("alpha", [0.5, 0.3, 1.0, 0.0, 0.05])
def test_every_order_of_tied_documents_with_facets(alpha: float) -> None:
    """One document of six is listed and not judged in every other query."""
    keep = 1 - alpha
    run = Run.from_dict({q: scores for q, (_, scores) in TIED.items()})
    judgments = judgments_of({q: about for q, (about, _) in TIED.items()})
    measures = [f"alpha_nDCG(alpha={alpha})@{k}" for k in (1, 2, 3, 5, 9)] + [f"NRBP(alpha={alpha}, beta=0.8)"]
    scores = evaluate(run, judgments, measures)
    assert all(scores.exact)
    for row, (about, listed) in enumerate(TIED.values()):
        orders = orders_of(listed)
        truths = [over([alpha_ndcg(order, about, k, keep) for order in orders]) for k in (1, 2, 3, 5, 9)]
        truths.append(over([nrbp(order, about, keep, 0.8) for order in orders]))
        for column, truth in enumerate(truths):
            found = [getattr(scores, name)[row, column] for name in ("expected", "lowest", "highest", "sd")]
            assert [*found[:3], found[3] ** 2] == pytest.approx(truth, abs=CLOSE), (about, listed, measures[column])
        named = twin.order_by(listed, "docid-desc")
        tie_broken = [alpha_ndcg(named, about, k, keep) for k in (1, 2, 3, 5, 9)] + [nrbp(named, about, keep, 0.8)]
        np.testing.assert_allclose(scores.tie_broken[row], tie_broken, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("documents", [6, pytest.param(8, marks=pytest.mark.evidence)])
def test_distinct_documents_in_one_group(documents: int) -> None:
    """Exact extremes and variance, up to the largest group that the formulas promise: 8, over all 40,320 orders."""
    about = {f"d{i}": {f for j, f in enumerate("abcd") if (i + 1) >> j & 1} for i in range(documents)}
    scores = evaluate(Run.from_dict({"q": dict.fromkeys(about, 1.0)}), judgments_of({"q": about}), "alpha_nDCG@5")
    truth = over([alpha_ndcg(list(order), about, 5, 0.5) for order in itertools.permutations(about)])
    found = [float(getattr(scores, name)[0, 0]) for name in ("expected", "lowest", "highest", "sd")]
    assert [*found[:3], found[3] ** 2] == pytest.approx(truth, abs=CLOSE)
    assert scores.exact == (True,)


def test_larger_groups_are_bounded_and_say_so() -> None:
    about = {f"d{i:02}": {f for j, f in enumerate("abcde") if i >> j & 1} for i in range(1, 32)}
    run, judgments = Run.from_dict({"q": dict.fromkeys(about, 1.0)}), judgments_of({"q": about})
    scores = evaluate(run, judgments, ["alpha_nDCG@10", "NRBP", "P@10"])
    assert scores.exact == (False, False, True)
    rng = np.random.default_rng(2)
    drawn = [rng.permutation(list(about)).tolist() for _ in range(1000)]
    values = np.array([[alpha_ndcg(order, about, 10, 0.5), nrbp(order, about, 0.5, 0.5)] for order in drawn])
    error = values.std(axis=0) / math.sqrt(len(drawn))
    assert (np.abs(values.mean(axis=0) - scores.expected[0, :2]) < 5 * error).all()
    np.testing.assert_allclose(values.std(axis=0), scores.sd[0, :2], rtol=0.1)
    assert (scores.lowest[0, :2] <= values.min(axis=0)).all()
    assert (scores.highest[0, :2] >= values.max(axis=0)).all()


def test_the_greedy_ideal_can_be_beaten() -> None:
    """All gain 3 at first and x is taken, but y and z together cover all of the six: their order is worth more."""
    about = {"x": {"a", "b", "c"}, "y": {"a", "d", "e"}, "z": {"b", "c", "f"}}
    scores = evaluate(
        Run.from_dict({"q": {"y": 3.0, "z": 2.0, "x": 1.0}}), judgments_of({"q": about}, "abcdef"), "alpha_nDCG@2"
    )
    by_hand = (3 + 3 / math.log2(3)) / (3 + 2.5 / math.log2(3))
    assert scores.expected[0, 0] == pytest.approx(by_hand, abs=CLOSE)
    assert by_hand > 1


# --- pyndeval ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.5, 0.25])
def test_pyndeval_says_the_same(alpha: float) -> None:
    """Without ties; the ideal breaks its own as ndeval does."""
    pyndeval = pytest.importorskip("pyndeval", reason="pyndeval, the peer for facets, is not installed")
    rng = np.random.default_rng(17)
    queries = {f"{i}": random_facets(25, 2 + i % 4, rng) for i in range(40)}
    runs = {q: {d: float(s) for d, s in zip(about, rng.permutation(25), strict=True)} for q, about in queries.items()}
    rows = [(q, f, d, int(f in facets)) for q, about in queries.items() for d, facets in about.items() for f in "abcde"]
    listed = [(q, d, score) for q, scores in runs.items() for d, score in scores.items()]
    names = [f"alpha-nDCG@{k}" for k in (1, 5, 10, 20)] + ["NRBP"]
    peer = pyndeval.ndeval(rows, listed, names, alpha=alpha, beta=0.5)
    ours = [f"alpha_nDCG(alpha={alpha}, ideal='ndeval')@{k}" for k in (1, 5, 10, 20)] + [f"NRBP(alpha={alpha})"]
    scores = evaluate(Run.from_dict(runs), judgments_of(queries), ours)
    for row, query in enumerate(scores.query_ids):
        np.testing.assert_allclose(scores.expected[row], [peer[query][name] for name in names], atol=1e-9)
    assert np.isfinite(scores.expected).all()


@pytest.mark.parametrize("levels", [1, 3, 8])
def test_ties_of_a_run_are_broken_by_pyndeval_as_by_ascending_id(levels: int) -> None:
    """In the run ascending, in the ideal descending; some tied documents are not judged, and one id is a prefix."""
    pyndeval = pytest.importorskip("pyndeval", reason="pyndeval, the peer for facets, is not installed")
    rng = np.random.default_rng(levels)
    queries = {f"{i}": random_facets(20, 2 + i % 4, rng) for i in range(30)}
    listed = {q: [*about, "d1", "Z", "é"] for q, about in queries.items()}
    runs = {q: {d: float(rng.integers(levels)) for d in rng.permutation(names).tolist()} for q, names in listed.items()}
    rows = [(q, f, d, int(f in facets)) for q, about in queries.items() for d, facets in about.items() for f in "abcde"]
    scored = [(q, d, score) for q, scores in runs.items() for d, score in scores.items()]
    names = [f"alpha-nDCG@{k}" for k in (1, 5, 10, 20)] + ["NRBP"]
    peer = pyndeval.ndeval(rows, scored, names)
    ours = [f"alpha_nDCG(ideal='ndeval')@{k}" for k in (1, 5, 10, 20)] + ["NRBP"]
    judgments = judgments_of(queries)
    scores = evaluate(Run.from_dict(runs), judgments, ours, tie_order="docid-asc")
    said = np.array([[peer[query][name] for name in names] for query in scores.query_ids])
    np.testing.assert_allclose(scores.tie_broken, said, rtol=0, atol=1e-9)
    descending = evaluate(Run.from_dict(runs), judgments, ours, tie_order="docid-desc").tie_broken
    assert (np.abs(descending - said) > 1e-3)[:, 1:].any(axis=0).all()


# --- what facets leave alone ------------------------------------------------------------------------------------------


def test_a_document_counts_once_with_its_best_grade() -> None:
    """The other measures see the documents, not the rows of the diversity judgments."""
    rows = [
        ("q", "a", "x", 1.0),
        ("q", "b", "x", 3.0),
        ("q", "a", "y", 0.0),
        ("q", "c", "y", -1.0),
        ("q", "b", "z", -1.0),
    ]
    rows += [("q", "a", "w", 2.0), ("q", "b", "w", 0.0)]
    frame = pl.DataFrame(rows, schema=["query_id", "facet", "doc_id", "grade"], orient="row")
    run = Run.from_dict({"q": {"x": 2.0, "y": 2.0, "z": 1.0}})
    measures = ["nDCG", "AP", "P@2", "R@2", "RR", "bpref", "Judged@3", "ERR", "RBP-residual", "IPrec11"]
    with_facets = evaluate(run, Judgments.from_frame(frame, facets=True), measures)
    without = evaluate(run, Judgments.from_dict({"q": {"x": 3, "y": 0, "z": -1, "w": 2}}), measures)
    for statistic in ("expected", "lowest", "highest", "tie_broken", "sd"):
        np.testing.assert_array_equal(getattr(with_facets, statistic), getattr(without, statistic))


@pytest.mark.parametrize("policy", [{"depth": 3}, {"judged_only": True}])
def test_depth_and_judged_only_with_facets(policy: dict[str, object]) -> None:
    run = Run.from_dict({q: scores for q, (_, scores) in TIED.items()})
    judgments = judgments_of({q: about for q, (about, _) in TIED.items()})
    scores = evaluate(run, judgments, ["alpha_nDCG@4", "NRBP"], **policy)
    for row, (about, listed) in enumerate(TIED.values()):
        kept = listed if "depth" in policy else {d: s for d, s in listed.items() if d in about}
        orders = [order[:3] if "depth" in policy else order for order in orders_of(kept)]
        truths = [
            over([alpha_ndcg(o, about, 4, 0.5) for o in orders]),
            over([nrbp(o, about, 0.5, 0.5) for o in orders]),
        ]
        for column, truth in enumerate(truths):
            found = [getattr(scores, name)[row, column] for name in ("expected", "lowest", "highest", "sd")]
            assert [*found[:3], found[3] ** 2] == pytest.approx(truth, abs=CLOSE), (about, listed)


def test_nrbp_by_hand() -> None:
    """Two facets: d1 covers both, d2 one again; (1 - 1/4)/2 (2 + 1/2 · 1/2)."""
    about = {"d1": {"a", "b"}, "d2": {"a"}}
    scores = evaluate(Run.from_dict({"q": {"d1": 2.0, "d2": 1.0}}), judgments_of({"q": about}), "NRBP")
    assert scores.expected[0, 0] == float(Fraction(3, 8) * (2 + Fraction(1, 4)))
