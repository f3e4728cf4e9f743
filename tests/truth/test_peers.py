"""Other tools on the same generated data: equal where they are right, and our value the true one where they are not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import lists
import numpy as np
import pytest
import twin

from trueval.evaluation.arrays import evaluate_arrays
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trueval.evaluation.scores import Scores

CLOSE = 1e-12


def dictionaries(
    queries: int, documents: int, distinct: int, seed: int
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """Return run and judgments: scores of so many distinct values, integer grades, judged documents not listed."""
    rng = np.random.default_rng(seed)
    run, judgments = {}, {}
    for q in range(queries):
        ids = [f"d{i}" for i in rng.choice(10 * documents, documents, replace=False)]
        values = rng.permutation(np.resize(np.arange(distinct), documents)) * 0.25 - 3
        run[f"q{q}"] = dict(zip(ids, values.tolist(), strict=True))
        judged = [*rng.choice(ids, documents // 3, replace=False).tolist(), "m1", "m2", "m3"]
        judgments[f"q{q}"] = {d: int(rng.choice([0, 0, 1, 1, 2, 3])) for d in judged}
    return run, judgments


TIED = dictionaries(60, 40, 12, seed=1)
UNTIED = dictionaries(60, 40, 40, seed=2)


def ours(
    data: tuple[Mapping[str, Mapping[str, float]], Mapping[str, Mapping[str, int]]],
    measures: list[str],
    **policy: object,
) -> Scores:
    return evaluate(Run.from_dict(data[0]), Judgments.from_dict(data[1]), measures, **policy)


# --- pytrec_eval: document id descending, scores in float32 -----------------------------------------------------------

TREC_NAMES = {
    "map": "AP",
    "map_cut_10": "AP@10",
    "ndcg": "nDCG",
    "ndcg_cut_10": "nDCG@10",
    "P_5": "P@5",
    "P_100": "P@100",
    "recall_10": "R@10",
    "recip_rank": "RR",
    "Rprec": "Rprec",
    "success_5": "Success@5",
    "set_F": "F1",
    "num_rel_ret": "Hits",
}


def pytrec_eval_values(
    data: tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]], level: int = 1
) -> np.ndarray:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    names = {"map", "map_cut.10", "ndcg", "ndcg_cut.10", "P.5,100", "recall.10", "recip_rank", "Rprec", "success.5"}
    evaluator = pytrec_eval.RelevanceEvaluator(data[1], names | {"set_F", "num_rel_ret"}, relevance_level=level)
    found = evaluator.evaluate(data[0])
    return np.array([[found[q][name] for name in TREC_NAMES] for q in data[1]])


@pytest.mark.parametrize("data", [TIED, UNTIED], ids=["tied", "untied"])
@pytest.mark.parametrize("level", [1, 2])
def test_tie_broken_is_pytrec_evals_own_number(data: tuple[dict, dict], level: int) -> None:
    scores = ours(data, list(TREC_NAMES.values()), convention="pytrec_eval", rel=level)
    np.testing.assert_allclose(scores.tie_broken, pytrec_eval_values(data, level), atol=CLOSE)


def test_without_ties_the_expectation_is_pytrec_evals_number_too() -> None:
    scores = ours(UNTIED, list(TREC_NAMES.values()))
    np.testing.assert_allclose(scores.expected, pytrec_eval_values(UNTIED), atol=CLOSE)


def test_pytrec_eval_creates_ties_that_the_scores_do_not_have() -> None:
    """Scores one double apart are one float32: pytrec_eval then orders by id, the reverse of what the scores say."""
    listed = {f"d{i}": 1 - i * 1e-12 for i in range(7)}
    data = ({"q": listed}, {"q": {"d0": 1, "d3": 2}})
    true = twin.over_all_orders(listed, data[1]["q"], "RR")
    exact, created = ours(data, ["RR"]), ours(data, ["RR"], convention="pytrec_eval")
    assert (true.mean, true.variance) == (1, 0)
    assert exact.expected[0, 0] == exact.lowest[0, 0] == exact.highest[0, 0] == exact.tie_broken[0, 0] == 1
    peer = pytrec_eval_values(data)[0, list(TREC_NAMES).index("recip_rank")]
    assert created.tie_broken[0, 0] == pytest.approx(peer, abs=CLOSE)
    assert peer == pytest.approx(1 / 4)
    tied = twin.over_all_orders(dict.fromkeys(listed, 1.0), data[1]["q"], "RR")
    assert created.expected[0, 0] == pytest.approx(float(tied.mean), abs=CLOSE)
    assert created.lowest[0, 0] == pytest.approx(float(tied.lowest), abs=CLOSE)


# --- scikit-learn: expectation over ties, ideal of the list, linear gain ----------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 10, 25, 60, None])
@pytest.mark.parametrize("distinct", [1, 4, 12, 30], ids="{} distinct scores".format)
def test_expectation_is_scikit_learns_ndcg(k: int | None, distinct: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(distinct)
    scores = rng.integers(distinct, size=(40, 30)).astype(float)
    grades = rng.choice([0, 0, 0.5, 1, 2, 3], size=(40, 30))
    cut = f"@{k}" if k else ""
    found = evaluate_arrays(scores, grades, [f"nDCG(base='list'){cut}", f"DCG{cut}"])
    for row in range(40):
        one = (grades[row : row + 1], scores[row : row + 1])
        assert found.expected[row, 0] == pytest.approx(metrics.ndcg_score(*one, k=k), abs=CLOSE)
        assert found.expected[row, 1] == pytest.approx(metrics.dcg_score(*one, k=k), abs=CLOSE)


# --- ranx: right without ties -----------------------------------------------------------------------------------------

RANX_NAMES = {
    "ndcg@10": "nDCG@10",
    "ndcg_burges@10": "nDCG(gain='exp')@10",
    "dcg@10": "DCG@10",
    "map": "AP",
    "map@10": "AP@10",
    "mrr@10": "RR@10",
    "precision@5": "P@5",
    "recall@10": "R@10",
    "r-precision": "Rprec",
    "hits@10": "Hits@10",
    "hit_rate@5": "Success@5",
}
RANX_BINARY = {"rbp.80": "RBP(p=0.8)"}


def ranx_values(
    data: tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]], names: Mapping[str, str]
) -> np.ndarray:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    run, qrels = ranx.Run(data[0]), ranx.Qrels(data[1])
    ranx.evaluate(qrels, run, list(names))
    return np.array([[run.scores[name][q] for name in names] for q in data[1]])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # numba and its dependants warn; nothing of ours runs inside
def test_without_ties_expectation_is_ranxs_number() -> None:
    scores = ours(UNTIED, list(RANX_NAMES.values()))
    np.testing.assert_allclose(scores.expected, ranx_values(UNTIED, RANX_NAMES), atol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # as above
def test_rank_biased_precision_is_ranxs_number_of_binary_labels_alone() -> None:
    """Ranx multiplies by the grade, so that two documents score .56 where a reader gains .36 at the most."""
    binary = (UNTIED[0], {q: {d: min(grade, 1) for d, grade in row.items()} for q, row in UNTIED[1].items()})
    found = ours(binary, list(RANX_BINARY.values()))
    np.testing.assert_allclose(found.expected, ranx_values(binary, RANX_BINARY), atol=1e-9)
    graded = ({"q": {"a": 3.0, "b": 2.0}}, {"q": {"a": 2, "b": 1}})
    assert ranx_values(graded, RANX_BINARY)[0, 0] == pytest.approx(0.2 * 2 + 0.16)
    true = float(twin.over_all_orders(graded[0]["q"], graded[1]["q"], "RBP(p=0.8)").mean)
    assert ours(graded, ["RBP(p=0.8)"]).expected[0, 0] == pytest.approx(true, abs=CLOSE)
    assert true == pytest.approx(0.2 + 0.16)


# --- trm, the package of the paper's authors: right for binary grades within the list ---------------------------------

TRM_NAMES = {"ndcg": "nDCG", "mrr": "RR", "map": "AP", "recall": "R", "f1": "F1", "hits": "Hits", "precision": "P"}


def arrays(queries: int, documents: int, distinct: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(distinct, size=(queries, documents)) / 8, rng.random((queries, documents)) < 0.25


@pytest.mark.parametrize("distinct", [1, 3, 8, 1000])
def test_binary_lists_equal_trm(distinct: int) -> None:
    trm = pytest.importorskip("trm")
    scores, relevant = arrays(50, 25, distinct, seed=distinct)
    cutoffs = [1, 3, 10, 25]
    theirs = trm.evaluate(scores.tolist(), relevant.tolist(), list(TRM_NAMES), cutoffs).per_query
    for name, measure in TRM_NAMES.items():
        found = evaluate_arrays(scores, relevant.astype(float), [f"{measure}@{k}" for k in cutoffs], tie_order="input")
        for column, k in enumerate(cutoffs):
            for ours_of, trm_of in (
                (found.expected, "expected"),
                (found.lowest, "minimum"),
                (found.highest, "maximum"),
                (found.tie_broken, "oblivious"),
            ):
                theirs_of = [getattr(result, trm_of) for result in theirs[name][k]]
                np.testing.assert_allclose(ours_of[:, column], theirs_of, atol=CLOSE, err_msg=f"{measure}@{k} {trm_of}")


def test_precision_past_the_list_is_one_number_where_trm_has_two() -> None:
    """Trm divides the expectation by k and the extrema by the list: without any tie they contradict each other."""
    trm = pytest.importorskip("trm")
    theirs = trm.evaluate([[3.0, 2.0]], [[True, True]], ["precision"], [4]).metrics["precision"][4]
    assert (theirs.expected, theirs.minimum, theirs.maximum) == (0.5, 1.0, 1.0)
    found = evaluate_arrays([[3.0, 2.0]], [[1, 1]], ["P@4"])
    true = twin.over_all_orders({"a": 3.0, "b": 2.0}, {"a": 1, "b": 1}, "P@4")
    assert found.expected[0, 0] == found.lowest[0, 0] == found.highest[0, 0] == true.mean


def test_reciprocal_rank_of_graded_labels_is_never_above_one() -> None:
    trm = pytest.importorskip("trm")
    theirs = trm.evaluate([[3.0, 2.0]], [[2, 0]], ["mrr"], [2]).metrics["mrr"][2]
    assert theirs.expected == 2.0
    found = evaluate_arrays([[3.0, 2.0]], [[2, 0]], ["RR@2"])
    assert found.expected[0, 0] == twin.over_all_orders({"a": 3.0, "b": 2.0}, {"a": 2}, "RR@2").mean == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # as above
def test_input_order_is_kept_where_ranx_scrambles_it() -> None:
    """Twenty tied documents, the only relevant one third: ranx sorts from 16 documents on without keeping the order."""
    listed = {f"d{i:02}": 1.0 for i in range(20)}
    data = ({"q": listed}, {"q": {"d02": 1}})
    order = twin.order_by(listed, "input")
    true = float(twin.value(twin.ranking_of(order, data[1]["q"]), "RR@10"))
    found = ours(data, ["RR@10"], tie_order="input")
    assert found.tie_broken[0, 0] == pytest.approx(true, abs=CLOSE) == pytest.approx(1 / 3)
    assert found.expected[0, 0] == pytest.approx(sum(1 / rank for rank in range(1, 11)) / 20, abs=CLOSE)
    assert ranx_values(data, {"mrr@10": "RR@10"})[0, 0] != pytest.approx(1 / 3)


# --- ids and orders that make peers disagree with themselves ----------------------------------------------------------


def test_one_tie_order_holds_for_every_measure_of_a_call() -> None:
    """ir_measures shows RR = 1/3 and RR@10 = 1 of one list, by two providers with two tie orders."""
    queries = lists.seven_document_queries()
    run = Run.from_dict({q: dict(query.scores) for q, query in queries.items()})
    judgments = Judgments.from_dict({q: dict(query.grades) for q, query in queries.items()})
    found = evaluate(run, judgments, ["RR", "RR@10", "nDCG", "nDCG@10", "AP", "AP@10"])
    for pair in ((0, 1), (2, 3), (4, 5)):
        np.testing.assert_array_equal(found.tie_broken[:, pair[0]], found.tie_broken[:, pair[1]])
    assert not math.isnan(found.tie_broken.sum())
