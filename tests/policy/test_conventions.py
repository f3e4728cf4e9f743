"""Each preset's tie-broken value is the tool's own number, with and without ties; every option does its row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.evaluation.arrays import evaluate_arrays
from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.explanation import explain
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.measures import parse, registry
from trueval.policy.conventions import CONVENTIONS, OURS, TOOLS
from trueval.policy.conventions import convention as preset
from trueval.policy.policy import CHOICES, OPTIONS, Policy
from trueval.run import Run

CLOSE = 1e-12
FLOAT32 = 1e-6  # torchmetrics computes in float32

Lists = Mapping[str, Mapping[str, float]]
Grades = Mapping[str, Mapping[str, int]]


def lists(documents: int, distinct: int, *, grades: Sequence[int] = (0, 0, 1, 1, 2, 3), seed: int = 1) -> Any:
    """Draw 25 queries: scores of so many distinct values, judged documents in and beside the list, one query empty."""
    rng = np.random.default_rng([seed, documents, distinct])
    run: dict[str, dict[str, float]] = {}
    judgments: dict[str, dict[str, int]] = {}
    for query in range(25):
        ids = [f"d{i}" for i in rng.choice(1000, documents, replace=False)]
        values = rng.permutation(np.resize(np.arange(distinct), documents)) * 0.25 + 0.25
        run[f"q{query:02}"] = dict(zip(ids, values.tolist(), strict=True))
        judged = [*rng.choice(ids, max(1, documents // 2), replace=False).tolist(), "m1", "m2", "m3"]
        judgments[f"q{query:02}"] = {d: int(rng.choice(grades)) for d in judged}
    judgments["q07"] = dict.fromkeys(judgments["q07"], 0)
    return run, judgments


def binary(data: tuple[Lists, Grades]) -> tuple[Lists, Grades]:
    return data[0], {q: {d: min(grade, 1) for d, grade in row.items()} for q, row in data[1].items()}


UNTIED = lists(12, 12)
SHORT = lists(12, 4)  # tied, and shorter than 16 documents
LONG = lists(40, 9)  # tied, and longer
DATA = {"untied": UNTIED, "short": SHORT, "long": LONG}


def ours(data: tuple[Lists, Grades], measures: Sequence[str], convention: str | Policy, **choices: Any) -> Scores:
    run, judgments = Run.from_dict(data[0]), Judgments.from_dict(data[1])
    return evaluate(
        run,
        judgments,
        list(measures),
        policy=convention.but(**choices) if isinstance(convention, Policy) else preset(convention, **choices),
    )


def assert_own_number(scores: Scores, theirs: np.ndarray, close: float = CLOSE) -> None:
    np.testing.assert_allclose(scores.tie_broken, theirs, rtol=close, atol=close)
    assert_expectation_and_range_stand_beside(scores)


def assert_expectation_and_range_stand_beside(scores: Scores) -> None:
    known = ~np.isnan(scores.expected)
    assert known.any()
    assert (scores.lowest[known] <= scores.expected[known]).all()
    assert (scores.expected[known] <= scores.highest[known]).all()


# --- the TREC family --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DATA)
def test_pytrec_eval(name: str) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    names = {"map_cut_5": "AP@5", "ndcg_cut_5": "nDCG@5", "P_50": "P@50", "recall_5": "R@5", "recip_rank": "RR"}
    data = DATA[name]
    asked = {"map_cut.5", "ndcg_cut.5", "P.50", "recall.5", "recip_rank"}
    found = pytrec_eval.RelevanceEvaluator(data[1], asked).evaluate(data[0])
    theirs = np.array([[found[q][each] for each in names] for q in data[1]])
    assert_own_number(ours(data, list(names.values()), "pytrec_eval"), theirs)


# Nothing of the second list is judged.
EMPTIED = ({"q1": {"a": 2.0, "b": 1.0}, "q2": {"x": 1.0}}, {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}})


def test_pytrec_eval_counts_a_list_of_which_no_document_is_judged() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    evaluator = pytrec_eval.RelevanceEvaluator(EMPTIED[1], {"map"}, judged_docs_only_flag=True)
    theirs = np.array([[each["map"]] for each in evaluator.evaluate(EMPTIED[0]).values()])
    with pytest.warns(TruevalWarning, match="it counts as an empty list"):
        assert_own_number(ours(EMPTIED, ["AP"], "pytrec_eval", judged_only=True), theirs)


# A query is given with an empty list.
GIVEN_EMPTY = ({"q1": {}, "q2": {"a": 2.0, "b": 1.0}}, {"q1": {"a": 1}, "q2": {"b": 1}})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*they count as empty lists")
def test_other_tools_count_a_list_that_is_given_and_is_empty() -> None:
    """None of them takes the query for missing, also not pytrec_eval, which leaves queries out that a run lacks."""
    pytrec_eval, ranx = pytest.importorskip("pytrec_eval"), pytest.importorskip("ranx")
    ir_measures = pytest.importorskip("ir_measures")
    run, judgments = GIVEN_EMPTY
    found = pytrec_eval.RelevanceEvaluator(judgments, {"map"}).evaluate(run)
    assert {query: each["map"] for query, each in found.items()} == {"q1": 0.0, "q2": 0.5}
    assert ours(GIVEN_EMPTY, ["AP"], "pytrec_eval").mean("AP").tie_broken == 0.25
    assert ranx.evaluate(ranx.Qrels(judgments), ranx.Run(run), "map") == 0.25
    assert ours(GIVEN_EMPTY, ["AP"], "ranx").mean("AP").tie_broken == 0.25
    assert ir_measures.calc_aggregate([ir_measures.AP], judgments, run)[ir_measures.AP] == 0.25


@pytest.mark.filterwarnings("ignore:.*(it counts as an empty list|tie order)")
@pytest.mark.parametrize("name", CONVENTIONS)
def test_an_emptied_list_is_no_missing_query_under_any_convention(name: str) -> None:
    """A query whose list is empty has no relevant document by base='list', so `empty` decides there."""
    scores = ours(EMPTIED, ["AP", "nDCG"], name, judged_only=True)
    assert scores.missing_queries == ()
    assert scores.expected.tolist() == [[1.0, 1.0], [0.0, 0.0]]
    left_out = ours(EMPTIED, ["AP", "nDCG"], name, judged_only=True, empty="skip")
    assert (left_out.mean("AP").queries == 1) == (CONVENTIONS[name].base == "list")


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("skip_first", [False, True])
def test_mteb(name: str, skip_first: bool) -> None:
    scoring = pytest.importorskip("mteb._evaluators.retrieval_metrics", reason="mteb is not installed")
    run, judgments = DATA[name]
    # one float32 apart from each other: pytrec_eval inside mteb sees ties that mteb's own MRR does not
    run = {q: {d: s * (1 + i * 1e-12) for i, (d, s) in enumerate(row.items())} for q, row in run.items()}
    own = scoring.mrr(judgments, run, [5])["MRR@5"]
    found = scoring.calculate_retrieval_scores(run, judgments, [5], skip_first_result=skip_first)
    names = {"ndcg_cut_5": "nDCG@5", "map_cut_5": "AP@5", "recall_5": "R@5", "P_5": "P@5", "success_5": "Success@5"}
    scores = ours((run, judgments), [*names.values(), "RR@5"], "mteb", skip_first=skip_first)
    all_scores = found.all_scores
    theirs = np.array([[all_scores[q][each] for each in names] for q in judgments])
    np.testing.assert_allclose(scores.tie_broken[:, :-1], theirs, atol=CLOSE)
    assert scores.mean("RR@5").tie_broken == pytest.approx(found.mrr["MRR@5"], abs=CLOSE)
    if not skip_first:
        np.testing.assert_allclose(scores.tie_broken[:, -1], own, atol=CLOSE)
    assert_expectation_and_range_stand_beside(scores)


# --- ranx -------------------------------------------------------------------------------------------------------------

RANX = {"ndcg@5": "nDCG@5", "map": "AP", "map@5": "AP@5", "mrr": "RR", "precision@50": "P@50", "recall@5": "R@5"}


def ranx_values(data: tuple[Lists, Grades]) -> np.ndarray:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    found = ranx.evaluate(ranx.Qrels(data[1]), ranx.Run(data[0]), list(RANX), return_mean=False)
    return np.array(list(found.values())).T


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # numba and its dependants warn; nothing of ours runs inside
@pytest.mark.parametrize("name", ["untied", "short"])
def test_ranx_below_sixteen_documents(name: str) -> None:
    assert_own_number(ours(DATA[name], list(RANX.values()), "ranx"), ranx_values(DATA[name]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # as above
def test_ranx_from_sixteen_documents_has_no_number_where_ties_matter() -> None:
    with pytest.warns(TruevalWarning, match="unstable sort"):
        scores = ours(LONG, list(RANX.values()), "ranx")
    known = ~np.isnan(scores.tie_broken)
    assert known.any()
    assert not known.all()
    np.testing.assert_array_equal(known, scores.lowest == scores.highest)
    np.testing.assert_allclose(scores.tie_broken[known], ranx_values(LONG)[known], atol=CLOSE)
    assert math.isnan(scores.mean("AP").tie_broken)
    assert scores.to_dict()["measures"]["AP"]["tie_broken"] is None  # type: ignore[index]
    assert "ranx sorts lists of 16 documents" in " ".join(scores.notes)


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
@pytest.mark.parametrize("length", [2, 15, 16, 17, 40])
def test_ranx_knows_the_order_of_lists_of_fewer_than_sixteen_documents(length: int) -> None:
    """The relevant document is the second of two tied ones: 1/2 as listed, 1 the other way round."""
    listed = {f"d{at:02}": 1.0 if at < 2 else 1.0 / at for at in range(length)}
    tied, apart = {"q": listed}, {"q": listed | {"d00": 2.0}}
    judgments = {"q": {"d01": 1}}
    assert ours((apart, judgments), ["RR"], "ranx").tie_broken.tolist() == [[0.5]]
    scores = ours((tied, judgments), ["RR"], "ranx")
    assert (scores.lowest[0, 0], scores.expected[0, 0], scores.highest[0, 0]) == (0.5, 0.75, 1.0)
    np.testing.assert_array_equal(scores.tie_broken, [[0.5 if length < 16 else np.nan]])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # as above
def test_ranx_has_no_bpref_where_nothing_judged_is_not_relevant() -> None:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    run = {"a": {"d1": 2.0, "d2": 1.0}, "b": {"d9": 1.0}, "c": {"d1": 2.0, "d2": 1.0}}
    judgments = {"a": {"d1": 1, "d2": 2}, "b": {"d1": 1}, "c": {"d1": 0, "d2": 1}}
    theirs = ranx.evaluate(ranx.Qrels(judgments), ranx.Run(run), ["bpref", "map"], return_mean=False)
    scores = ours((run, judgments), ["bpref", "AP"], "ranx")
    np.testing.assert_array_equal(scores.tie_broken[:, 0], theirs["bpref"])
    assert np.isnan(scores.tie_broken[:, 0]).tolist() == [True, False, False]
    assert scores.expected[:, 0].tolist() == [1, 0, 0]
    assert math.isnan(scores.mean("bpref").tie_broken)
    assert [note for note in scores.notes if "0 by 0" in note and "bpref (1)" in note]
    assert not np.isnan(ours((run, judgments), ["bpref"], "trec_eval").tie_broken).any()


def test_ranx_refuses_a_query_that_the_run_lacks() -> None:
    run = {q: row for q, row in UNTIED[0].items() if q != "q03"}
    with pytest.raises(InputError, match="q03"):
        ours((run, UNTIED[1]), ["AP"], "ranx")


# --- sentence-transformers --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # imports of transformers warn
@pytest.mark.parametrize("name", DATA)
def test_sentence_transformers(name: str) -> None:
    evaluation = pytest.importorskip(
        "sentence_transformers.evaluation", reason="sentence-transformers is not installed"
    )
    run, judgments = DATA[name]
    relevant = {q: {d for d, grade in row.items() if grade > 0} for q, row in judgments.items()}
    corpus = {d: d for row in (*run.values(), *judgments.values()) for d in row}
    k = {f"{each}_at_k": [5] for each in ("mrr", "ndcg", "accuracy", "precision_recall", "map")}
    evaluator = evaluation.InformationRetrievalEvaluator({q: q for q in run}, corpus, relevant, **k)
    hits = [[{"corpus_id": d, "score": s} for d, s in run[q].items()] for q in evaluator.queries_ids]
    found = evaluator.compute_metrics(hits)
    names = {"ndcg@k": "nDCG@5", "map@k": "AP@5", "mrr@k": "RR@5", "precision@k": "P@5", "recall@k": "R@5"}
    names["accuracy@k"] = "Success@5"
    scores = ours(DATA[name], list(names.values()), "sentence-transformers")
    for theirs, measure in names.items():
        estimate = scores.mean(measure)
        assert estimate.tie_broken == pytest.approx(found[theirs][5], abs=CLOSE), measure
        assert estimate.queries == len(evaluator.queries_ids) == 24  # the query without relevant documents is dropped
    assert_expectation_and_range_stand_beside(scores)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # as above
@pytest.mark.parametrize("name", DATA)
def test_cross_encoder(name: str) -> None:
    """Its measures tie in three ways: nDCG is the mean, AP takes one threshold, and RR has no order of its own."""
    evaluation = pytest.importorskip(
        "sentence_transformers.cross_encoder.evaluation", reason="sentence-transformers is not installed"
    )
    run, judgments = DATA[name]
    evaluator = evaluation.CrossEncoderRerankingEvaluator([], at_k=5)

    def values(query: str) -> tuple[float, float, float]:
        relevant = [int(judgments[query].get(d, 0) > 0) for d in run[query]]
        found = evaluator.compute_metrics(relevant, np.array(list(run[query].values()), dtype=np.float32))
        return found if any(relevant) else (0.0, 0.0, 0.0)  # as its samples without a relevant candidate count

    scores = ours(DATA[name], ["RR@5", "nDCG@5", "AP"], "cross-encoder")
    theirs = np.array([values(query) for query in judgments])
    assert_own_number(scores.of(["nDCG@5", "AP"]), theirs[:, 1:])
    known = ~np.isnan(scores.tie_broken[:, 0])
    assert known.all() == (name == "untied")
    assert scores.tie_broken[known, 0] == pytest.approx(theirs[known, 0])
    assert (scores.lowest[:, 0] - CLOSE <= theirs[:, 0]).all()
    assert (theirs[:, 0] <= scores.highest[:, 0] + CLOSE).all()


def test_explain_finds_the_three_ways_in_which_a_reranker_ties() -> None:
    """Two relevant documents of ten, all of one score: AP 2/10, and RR anything from 1/9 to 1."""
    data = {"q": dict.fromkeys("abcdefghij", 0.5)}, {"q": {"a": 1, "b": 1}}
    rows = {}
    for measure in ("RR@10", "AP", "nDCG@10"):
        found = explain(*data, measure, conventions=["cross-encoder"])
        rows[measure] = (found.ours.expected, found.row("cross-encoder"))
    ours_of_rr, rr = rows["RR@10"]
    assert round(ours_of_rr, 4) == 0.4287
    assert math.isnan(rr.value)
    assert "argsort backwards" in rr.why
    assert (rr.lowest, rr.highest) == (pytest.approx(1 / 9), 1.0)
    ours_of_ap, ap = rows["AP"]
    assert round(ours_of_ap, 4) == 0.3715
    assert ap.value == pytest.approx(2 / 10)
    assert [cause.words for cause in ap.causes] == [f"normalizer: {OPTIONS['norm'].words['threshold']}"]
    ours_of_ndcg, ndcg = rows["nDCG@10"]
    assert ndcg.value == pytest.approx(ours_of_ndcg)
    assert not ndcg.causes


# --- torchmetrics -----------------------------------------------------------------------------------------------------


def torchmetrics_values(data: tuple[Lists, Grades], functions: Sequence[str], **options: Any) -> np.ndarray:
    retrieval = pytest.importorskip("torchmetrics.functional.retrieval", reason="torchmetrics is not installed")
    torch = pytest.importorskip("torch")

    def value(query: str, name: str) -> float:
        listed = data[0][query]
        grades = torch.tensor([data[1][query].get(d, 0) for d in listed])
        return float(getattr(retrieval, f"retrieval_{name}")(torch.tensor(list(listed.values())), grades, **options))

    return np.array([[value(query, name) for name in functions] for query in data[1]])


TORCHMETRICS = {
    "normalized_dcg": "nDCG@{}",
    "average_precision": "AP@{}",
    "reciprocal_rank": "RR@{}",
    "precision": "P@{}",
    "recall": "R@{}",
    "hit_rate": "Success@{}",
}


def shifted(data: tuple[Lists, Grades]) -> tuple[Lists, Grades]:
    """Return the lists with a third of the scores at 0 or below: not retrieved, as torchmetrics has it."""
    return {q: {d: s - 1.0 for d, s in row.items()} for q, row in data[0].items()}, data[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torchmetrics warns on import
@pytest.mark.parametrize("k", [3, 10, 50])
@pytest.mark.parametrize("change", [binary, lambda data: shifted(binary(data))], ids=["positive", "some not positive"])
def test_torchmetrics_without_ties(k: int, change: Callable[[Any], Any]) -> None:
    data = change(UNTIED)
    scores = ours(data, [each.format(k) for each in TORCHMETRICS.values()], "torchmetrics")
    assert_own_number(scores, torchmetrics_values(data, list(TORCHMETRICS), top_k=k), FLOAT32)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # as above
@pytest.mark.parametrize("name", ["short", "long"])
def test_torchmetrics_with_ties(name: str) -> None:
    """NDCG is the expectation of ours; the others have no number where ties matter, and theirs lies in our range."""
    data = binary(DATA[name])
    with pytest.warns(TruevalWarning, match=r"torch\.topk"):
        scores = ours(data, [each.format(5) for each in TORCHMETRICS.values()], "torchmetrics")
    theirs = torchmetrics_values(data, list(TORCHMETRICS), top_k=5)
    np.testing.assert_allclose(scores.tie_broken[:, 0], theirs[:, 0], atol=FLOAT32)
    np.testing.assert_array_equal(scores.tie_broken[:, 0], scores.expected[:, 0])
    known = ~np.isnan(scores.tie_broken)
    assert not known[:, 1:].all()
    np.testing.assert_allclose(scores.tie_broken[known], theirs[known], atol=FLOAT32)
    assert (theirs[:, 1:] >= scores.lowest[:, 1:] - FLOAT32).all()
    assert (theirs[:, 1:] <= scores.highest[:, 1:] + FLOAT32).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # as above
def test_torchmetrics_graded_ndcg_and_r_precision() -> None:
    scores = ours(UNTIED, ["nDCG@5", "nDCG"], "torchmetrics")
    theirs = torchmetrics_values(UNTIED, ["normalized_dcg"], top_k=5), torchmetrics_values(UNTIED, ["normalized_dcg"])
    assert_own_number(scores, np.hstack(theirs), FLOAT32)
    data = binary(UNTIED)
    assert_own_number(ours(data, ["Rprec"], "torchmetrics"), torchmetrics_values(data, ["r_precision"]), FLOAT32)


def test_torchmetrics_refuses_grades_in_binary_measures() -> None:
    with pytest.raises(InputError, match="0 and 1"):
        ours(UNTIED, ["AP"], "torchmetrics")
    assert ours(UNTIED, ["AP(rel=2)"], "torchmetrics").mean("AP(rel=2)").queries == 25
    assert ours(UNTIED, ["AP"], "torchmetrics", rel=2).policy.labels == "threshold"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # as above
@pytest.mark.parametrize(("empty", "action"), [("zero", "neg"), ("one", "pos"), ("skip", "skip")])
def test_torchmetrics_actions_for_a_query_without_relevant_documents(empty: str, action: str) -> None:
    retrieval = pytest.importorskip("torchmetrics.retrieval", reason="torchmetrics is not installed")
    torch = pytest.importorskip("torch")
    data = binary(UNTIED)
    metric = retrieval.RetrievalMAP(empty_target_action=action)
    for index, (query, listed) in enumerate(data[0].items()):
        grades = torch.tensor([data[1][query].get(d, 0) for d in listed])
        metric.update(torch.tensor(list(listed.values())), grades, torch.full((len(listed),), index))
    estimate = ours(data, ["AP"], "torchmetrics", empty=empty).mean("AP")
    assert estimate.tie_broken == pytest.approx(float(metric.compute()), abs=FLOAT32)
    assert estimate.queries == (24 if empty == "skip" else 25)


# --- scikit-learn -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DATA)
def test_sklearn(name: str) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    run, judgments = binary(DATA[name])

    def values(query: str) -> list[float]:
        scores = list(run[query].values())
        grades = [judgments[query].get(d, 0) for d in run[query]]
        precision = metrics.average_precision_score(grades, scores) if any(grades) else 0.0
        both = [[grades], [scores]]
        return [metrics.ndcg_score(*both, k=5), metrics.ndcg_score(*both), metrics.dcg_score(*both, k=5), precision]

    scores = ours((run, judgments), ["nDCG@5", "nDCG", "DCG@5", "AP"], "sklearn")
    assert_own_number(scores, np.array([values(query) for query in judgments]))


def test_threshold_average_precision_is_no_orders_value() -> None:
    """Two relevant ones of three tied: the worst order gives (1/2 + 2/3) / 2 = .583, the best 1; one threshold, 2/3."""
    metrics = pytest.importorskip("sklearn.metrics")
    scores = evaluate_arrays([[1, 1, 1]], [[1, 1, 0]], "AP(norm='threshold')")
    assert scores.lowest[0, 0] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert scores.highest[0, 0] == 1
    assert scores.tie_broken[0, 0] == metrics.average_precision_score([1, 1, 0], [1, 1, 1]) == pytest.approx(2 / 3)
    outside = evaluate_arrays([[1, 1, 1, 1]], [[1, 0, 0, 0]], "AP(norm='threshold')")
    assert outside.tie_broken[0, 0] == outside.lowest[0, 0] == 1 / 4
    above = evaluate_arrays([[2, 1, 1]], [[0, 1, 1]], "AP(norm='threshold')")
    assert above.highest[0, 0] < above.tie_broken[0, 0] == metrics.average_precision_score([0, 1, 1], [2, 1, 1])


def test_sklearn_has_no_reciprocal_rank() -> None:
    with pytest.warns(TruevalWarning, match="no such measure"):
        scores = ours(binary(SHORT), ["RR"], "sklearn")
    assert math.isnan(scores.mean("RR").tie_broken)
    assert scores.mean("RR").expected > 0


# --- the paper --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distinct", [1, 4, 20])
def test_paper(distinct: int) -> None:
    trm = pytest.importorskip("trm", reason="tie-aware-retrieval-metrics is not installed")
    rng = np.random.default_rng(distinct)
    scores, relevant = rng.integers(distinct, size=(30, 20)) / 8, rng.random((30, 20)) < 0.25
    names = {"ndcg": "nDCG", "mrr": "RR", "map": "AP", "recall": "R", "f1": "F1", "hits": "Hits"}
    theirs = trm.evaluate(scores.tolist(), relevant.tolist(), list(names), [5]).per_query
    run = {f"q{i}": {f"d{j}": float(s) for j, s in enumerate(row)} for i, row in enumerate(scores)}
    judgments = {f"q{i}": {f"d{j}": int(r) for j, r in enumerate(row)} for i, row in enumerate(relevant)}
    for row in judgments.values():
        row["missed"] = 1  # judged but not in the list: the paper's ideal and R do not know it
    found = ours((run, judgments), [f"{each}@5" for each in names.values()], "paper")
    for column, name in enumerate(names):
        for statistic, of_trm in {"tie_broken": "oblivious", "expected": "expected", "lowest": "minimum"}.items():
            expected = [getattr(result, of_trm) for result in theirs[name][5]]
            np.testing.assert_allclose(getattr(found, statistic)[:, column], expected, atol=CLOSE, err_msg=name)


# --- options ----------------------------------------------------------------------------------------------------------


def test_every_choice_of_a_policy_is_a_documented_option() -> None:
    fields = set(Policy.__dataclass_fields__) - {"convention", "exceptions"}
    assert fields == set(OPTIONS)
    assert set(TOOLS) == set(CONVENTIONS)
    assert all(tool.policy.convention == name for name, tool in TOOLS.items())
    for name in ("norm", "short", "base"):
        owner = {"norm": "AP", "short": "P", "base": "AP"}[name]
        accepts = parse(owner).definition.parameters[name].accepts
        assert all(repr(word) in accepts for word in OPTIONS[name].words)


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.items() if option.words])
def test_an_unknown_value_of_an_option_is_refused_with_those_accepted(name: str) -> None:
    with pytest.raises(PolicyError) as caught:
        preset(None, **{name: "nonsense"})
    accepted = CHOICES if name == "tie_order" else OPTIONS[name].words
    assert all(word in str(caught.value) for word in accepted)


def test_a_choice_that_is_given_overrules_preset_and_exceptions() -> None:
    assert preset("mteb").of("RR").tie_precision is None
    assert preset("mteb").of("AP").tie_precision == "float32"
    assert preset("mteb", tie_precision="bfloat16").of("RR").tie_precision == "bfloat16"
    assert preset("sklearn", norm="min").of("AP").norm == "min"
    assert preset("sklearn").but(tie_order="input").of("nDCG").tie_order == "input"
    assert preset() == OURS


def test_exceptions_stand_in_the_json() -> None:
    entry = preset("torchmetrics").to_dict()
    assert entry["exceptions"]["nDCG"] == {"tie_order": "average"}  # type: ignore[index]
    assert preset().to_dict()["exceptions"] is None


def test_a_parameter_that_the_measure_names_is_no_policys_business() -> None:
    """R=8, five in the list, three of them in the top five: 2.4167 over 8, 5 or 3."""
    run, judgments = same_list()
    texts = ["AP(norm='R')@5", "AP(norm='min')@5", "AP(norm='hits')@5", "AP@5"]
    for convention in (None, "sentence-transformers"):
        values = evaluate(run, judgments, texts, convention=convention).expected[0].round(3).tolist()
        assert values[:3] == [0.302, 0.483, 0.806]
        assert values[3] == (0.302 if convention is None else 0.483)


def same_list() -> tuple[Run, Judgments]:
    relevance = "1011001001"
    run = Run.from_dict({"q": {f"d{i}": 10.0 - i for i in range(10)}})
    listed = {f"d{i}": int(flag) for i, flag in enumerate(relevance)}
    return run, Judgments.from_dict({"q": {**listed, "m1": 1, "m2": 1, "m3": 1}})


def test_whole_grades() -> None:
    data = ({"q": {"a": 3.0, "b": 2.0}}, {"q": {"a": 1.9, "b": 2.0}})
    dcg = 2 / math.log2(3)
    assert ours(data, ["DCG"], Policy()).expected[0, 0] == pytest.approx(1.9 + dcg)
    assert ours(data, ["DCG"], "trec_eval").expected[0, 0] == pytest.approx(1 + dcg)
    with pytest.raises(InputError, match=r"whole numbers.*1\.9"):
        ours(data, ["DCG"], "pytrec_eval")
    found = evaluate_arrays([[3, 2]], [[1.9, 2.0]], "DCG", policy=preset("trec_eval", tie_order="input"))
    assert found.expected[0, 0] == pytest.approx(1 + dcg)


def test_what_pytrec_eval_does_with_float_grades() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    with pytest.raises(TypeError, match="integer"):
        pytrec_eval.RelevanceEvaluator({"q": {"a": 1.5}}, {"map"})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # as above
def test_what_ranx_does_with_float_grades() -> None:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    run, judgments = {"q": {"a": 3.0, "b": 2.0}}, {"q": {"a": 1.9, "b": 2.0}}
    theirs = ranx.evaluate(ranx.Qrels(judgments), ranx.Run(run), "ndcg")
    assert ours((run, judgments), ["nDCG"], "ranx").tie_broken[0, 0] == pytest.approx(theirs, abs=CLOSE)
    assert ours((run, judgments), ["nDCG"], Policy()).tie_broken[0, 0] != pytest.approx(theirs, abs=1e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # as above
def test_adaptive_precision_of_torchmetrics_divides_by_the_list() -> None:
    data = binary(UNTIED)
    theirs = torchmetrics_values(data, ["precision"], top_k=50, adaptive_k=True)
    assert_own_number(ours(data, ["P(short='listed')@50"], "torchmetrics"), theirs, FLOAT32)


def test_a_grade_above_zero_is_a_member() -> None:
    data = ({"q": {"a": 3.0, "b": 2.0}}, {"q": {"a": 0.5, "b": 2.0}})
    assert ours(data, ["RR"], Policy()).expected[0, 0] == 0.5
    assert ours(data, ["RR"], "sentence-transformers").expected[0, 0] == 1
    assert ours(data, ["RR"], "sentence-transformers", rel=2).expected[0, 0] == 0.5


def test_short_lists() -> None:
    data = ({"q": {"a": 3.0, "b": 2.0}}, {"q": {"a": 1}})
    assert ours(data, ["P@4", "P(short='listed')@4"], Policy()).expected[0].tolist() == [0.25, 0.5]
    assert ours(data, ["P@4"], preset(short="listed")).expected[0, 0] == 0.5
    longer = ({"q": {name: 6.0 - place for place, name in enumerate("abcdef")}}, data[1])
    assert ours(longer, ["P@4", "P(short='listed')@4", "P", "P(short='listed')"], Policy()).expected[0].tolist() == [
        0.25,
        0.25,
        1 / 6,
        1 / 6,
    ]


def test_first_results_are_dropped_by_score_then_input() -> None:
    data = ({"q": {"x": 1.0, "q": 3.0, "twin": 3.0, "a": 2.0}, "gone": {"q": 1.0}}, {"q": {"a": 1}, "gone": {"q": 1}})
    with pytest.warns(TruevalWarning, match="it counts as an empty list"):
        scores = ours(data, ["RR"], preset(skip_first=True))
    assert scores.expected[:, 0].tolist() == [0.5, 0.0]
    assert scores.missing_queries == ()
    with pytest.raises(PolicyError, match="skip_first"):
        evaluate_arrays([[1.0]], [[1]], "RR", policy=preset(tie_order="input", skip_first=True))


def test_documents_that_are_not_retrieved_keep_their_ranks_and_their_place_in_the_base() -> None:
    data = ({"q": {"a": 1.0, "b": 0.0, "c": -1.0}}, {"q": {"a": 0, "b": 1, "c": 1}})
    scores = ours(data, ["RR", "R", "R(base='list')", "AP"], preset(nonpositive="not-retrieved"))
    assert scores.expected[0].tolist() == [0.0, 0.0, 0.0, 0.0]
    data[1]["q"]["a"] = 1
    scores = ours(data, ["RR", "R", "R(base='list')", "AP"], preset(nonpositive="not-retrieved"))
    np.testing.assert_allclose(scores.expected[0], [1, 1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("order", ["unspecified", "average"])
def test_an_order_that_is_not_known_leaves_what_no_order_changes(order: str) -> None:
    lost = order == "unspecified"
    with pytest.warns(TruevalWarning, match="leaves the order") if lost else nullcontext():
        scores = evaluate_arrays([[1.0, 1.0], [2.0, 1.0], [1.0, 1.0]], [[1, 0], [0, 1], [1, 1]], "RR", tie_order=order)
    np.testing.assert_array_equal(scores.tie_broken[:, 0], [math.nan if lost else 0.75, 0.5, 1.0])


def test_the_page_names_every_option_every_value_and_every_tool() -> None:
    page = (Path(__file__).parents[2] / "docs" / "conventions.md").read_text(encoding="utf-8")
    for name, option in OPTIONS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
        assert all(f"`{word}`" in row for word in option.words), row
        assert ("` *" in row) == any(name in measure.definition.parameters for measure in registry().values())
    for name, tool in TOOLS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
        assert tool.version in row
