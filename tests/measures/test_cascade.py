"""ERR against gdeval and against orders whose documents differ in grade."""

from __future__ import annotations

import itertools
from fractions import Fraction

import lists
import numpy as np
import pytest
import twin

from trueval.errors import MeasureError
from trueval.evaluation.arrays import evaluate_arrays
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.measures.orders import survival
from trueval.measures.orders.survival import GroupTakers, expected_products, expected_totals, second_moments
from trueval.run import Run

CLOSE = 1e-12


def test_by_hand() -> None:
    """Grades 1, unjudged, 3, 4 down the list: 1/16 + 15/16 · 7/16 / 3 + 15/16 · 9/16 · 15/16 / 4."""
    scores = evaluate_arrays([[4.0, 3.0, 2.0, 1.0]], [[1, np.nan, 3, 4]], ["ERR", "ERR@3"])
    first = Fraction(1, 16) + Fraction(15, 16) * Fraction(7, 16) / 3
    assert scores.expected[0] == pytest.approx(
        [float(first + Fraction(15, 16) ** 2 * Fraction(9, 16) / 4), float(first)]
    )


def test_gdeval_says_the_same() -> None:
    """Its five printed digits, without ties."""
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures, which brings gdeval.pl, is not installed")
    if not ir_measures.gdeval.is_available():
        pytest.skip("gdeval.pl needs perl")
    rng = np.random.default_rng(5)
    grades = {f"{q}": {f"d{i}": int(rng.integers(5)) for i in range(30) if rng.random() < 0.6} for q in range(1, 20)}
    run = {q: {f"d{i}": float(s) for i, s in enumerate(rng.permutation(30))} for q in grades}
    qrels = [ir_measures.Qrel(q, d, g) for q, judged in grades.items() for d, g in judged.items()]
    listed = [ir_measures.ScoredDoc(q, d, s) for q, scores in run.items() for d, s in scores.items()]
    scores = evaluate(Run.from_dict(run), Judgments.from_dict(grades), ["ERR@5", "ERR@20"])
    measures = [ir_measures.ERR @ 5, ir_measures.ERR @ 20]
    found = list(ir_measures.gdeval.iter_calc(measures, qrels, listed))
    assert len(found) == 2 * len(grades)
    for metric in found:
        ours = scores.expected[scores.query_ids.index(metric.query_id), measures.index(metric.measure)]
        assert ours == pytest.approx(metric.value, abs=0.51e-5)


def test_a_grade_above_the_largest_is_refused() -> None:
    with pytest.raises(MeasureError, match=r"gmax=3. Got 4. .* ERR\(gmax=4\)"):
        evaluate_arrays([[1.0]], [[4]], "ERR(gmax=3)@5")


def test_a_large_group_of_several_grades_agrees_with_samples() -> None:
    grades = {f"d{i:03}": float(i % 5) for i in range(0, 400, 7)}
    scores = dict.fromkeys([f"d{i:03}" for i in range(400)], 1.0)
    found = evaluate(Run.from_dict({"q": scores}), Judgments.from_dict({"q": grades}), ["ERR@10", "ERR"])
    drawn = list(twin.sampled_orders(scores, grades, 3000, np.random.default_rng(3)))
    for column, measure in enumerate(["ERR@10", "ERR"]):
        seen = twin.over_sample(drawn, measure)
        assert abs(seen.mean - found.expected[0, column]) < 5 * seen.mean_error
        assert abs(seen.variance - found.sd[0, column] ** 2) < 5 * seen.variance_error


def test_what_is_gone_is_the_mean_over_subsets() -> None:
    """Of three documents that take something and two that do not, over all subsets and pairs of subsets."""
    inner, outer = np.array([[0.5, 0.2, 0.9]]), np.array([[0.7, 0.4, 0.1]])
    first, second = (GroupTakers(each, 1 - each, np.array([3])) for each in (inner, outer))
    alone, both = expected_totals(np.array([5]), first, 5)[0], expected_products(np.array([5]), first, second, 5)[0]
    orders = list(itertools.permutations(range(5)))

    def taken(takes: np.ndarray, documents: tuple[int, ...]) -> float:
        return float(1 - np.prod([1 - [*takes[0], 0, 0][d] for d in documents]))

    for s in range(6):
        assert alone[s] == pytest.approx(np.mean([taken(inner, order[:s]) for order in orders]), abs=CLOSE)
        for u in range(6 - s):
            products = [taken(inner, order[:s]) * taken(outer, order[: s + u]) for order in orders]
            assert both[s, u] == pytest.approx(np.mean(products), abs=CLOSE)


@pytest.mark.parametrize(("tied", "takers", "ranks"), [(5, 3, 5), (5, 5, 5), (9, 2, 4), (6, 5, 2), (4, 1, 1)])
def test_second_moments_are_sums_over_pairs_of_ranks(tied: int, takers: int, ranks: int) -> None:
    """From what two numbers of ranks take together; a second group of the block has fewer of everything."""
    taken = np.array([[0.5, 0.2, 0.9, 1.0, 0.03][:takers], [0.7] + [0.0] * (takers - 1)])
    given = GroupTakers(taken, 1 - taken, np.array([takers, 1]))
    steps = np.array([[0.0, *range(1, ranks + 1)], [0.0, 1.0] + [0.0] * (ranks - 1)])
    joint = expected_products(np.array([tied, 2]), given, given, ranks)
    s, t = np.meshgrid(*[np.arange(ranks + 1)] * 2)
    pairs = joint[:, np.minimum(s, t), abs(s - t)] * steps[:, s] * steps[:, t]
    found = second_moments(np.array([tied, 2]), given, steps)
    assert found == pytest.approx(pairs.sum(axis=(1, 2)), rel=CLOSE)


def test_pairs_are_walked_of_the_documents_that_satisfy_not_of_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven such documents in a group take a table of eight by eight, however many tie with them."""
    widths = []
    together = survival.expected_products
    monkeypatch.setattr(survival, "expected_products", lambda *given: widths.append(given[-1]) or together(*given))
    for tied in (100, 1600):
        grades = np.where((np.arange(tied) + 1) % (tied // 7) == 0, 3.0, 0.0)
        assert evaluate_arrays([np.zeros(tied)], [grades], "ERR").sd[0, 0] > 0
    assert widths == [7, 7]


@pytest.mark.parametrize("policy", [{"depth": 2}, {"depth": 4}, {"judged_only": True}])
@pytest.mark.parametrize(
    "measure", ["ERR@3", "ERR", "bpref", "IPrec", "IPrec(recall=1)", "IPrec11", "RBP-residual", "NRBP", "alpha_nDCG@3"]
)
@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_depth_and_judged_only(measure: str, policy: dict[str, object]) -> None:
    """Every order cut after so many ranks, or without the documents that have no grade."""
    queries = lists.small_queries(40, seed=29) | lists.seven_document_queries()
    run = Run.from_dict({name: dict(query.scores) for name, query in queries.items()})
    judgments = Judgments.from_dict({name: dict(query.grades) for name, query in queries.items()})
    scores = evaluate(run, judgments, measure, **policy)
    for row, query in enumerate(queries.values()):
        kept = query.scores
        if "judged_only" in policy:
            kept = {d: s for d, s in kept.items() if twin.is_judged(query.grades.get(d))}
        orders: dict[twin.Ranking, int] = {}
        for ranking, count in twin.all_orders(kept, query.grades).items():
            depth = int(policy.get("depth", 100))  # type: ignore[call-overload]
            short = twin.Ranking(tuple(ranking.top(depth)), ranking.judged, min(ranking.listed, depth))
            orders[short] = orders.get(short, 0) + count
        truth = twin.over_orders(orders, measure)
        found = [getattr(scores, name)[row, 0] for name in ("expected", "lowest", "highest", "sd")]
        assert [*found[:3], found[3] ** 2] == pytest.approx([*map(float, truth)][:4], abs=CLOSE), query
