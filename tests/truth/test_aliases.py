"""Every alias with its tool at hand: the value of our measure is the tool's own number, on hostile small lists."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from trueval.errors import TruevalWarning
from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.measures import parse_list
from trueval.run import Run

CLOSE = 1e-9
Lists = dict[str, dict[str, float]]
Grades = dict[str, dict[str, int]]


def hostile(seed: int, *, ties: bool = True, most: int = 14) -> tuple[Lists, Grades]:
    """Short lists: one document, nothing relevant, nothing judged that is listed, all tied, ids that sort oddly."""
    rng = np.random.default_rng(seed)
    run, judgments = {}, {}
    for query in range(25):
        names = [*(f"d{i}" for i in range(9)), "D1", "d10", "é", "Z", "_", "d01"]
        listed = rng.permutation(names)[: int(rng.integers(1, most))].tolist()
        distinct = int(rng.integers(1, 5)) if ties else len(listed)
        scores = rng.permutation(np.resize(np.arange(distinct), len(listed))) * 0.5 - 1.0
        run[str(query + 1)] = dict(zip(listed, scores.tolist(), strict=True))
        judged = rng.permutation([*names, "absent", "m2"])[: int(rng.integers(1, 12))].tolist()
        grades = [0] if query % 6 == 0 else [0, 0, 1, 2, 3]
        judgments[str(query + 1)] = {document: int(rng.choice(grades)) for document in judged}
    return run, judgments


def ours(data: tuple[Lists, Grades], names: list[str], **choices: object) -> Scores:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        return evaluate(Run.from_dict(data[0]), Judgments.from_dict(data[1]), names, **choices)


TREC = {
    "ndcg": "ndcg",
    "ndcg_cut_3": "ndcg_cut.3",
    "ndcg_cut.10": "ndcg_cut.10",
    "map": "map",
    "map_cut_3": "map_cut.3",
    "recip_rank": "recip_rank",
    "P_5": "P.5",
    "P.10": "P.10",
    "recall_3": "recall.3",
    "recall.100": "recall.100",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "success_1": "success.1",
    "set_P": "set_P",
    "set_recall": "set_recall",
    "set_F": "set_F",
    "num_rel_ret": "num_rel_ret",
    "iprec_at_recall_0.50": "iprec_at_recall.0.50",
    "11pt_avg": "11pt_avg",
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("level", [1, 2])
def test_names_of_trec_eval_have_pytrec_evals_values(seed: int, level: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    data = hostile(seed)
    found = pytrec_eval.RelevanceEvaluator(data[1], set(TREC.values()), relevance_level=level).evaluate(data[0])
    scores = ours(data, list(TREC), convention="pytrec_eval", rel=level)
    # 11-point levels of short judgments round otherwise in trec_eval 10 and 9; the convention is that of 9.
    for column, (alias, asked) in enumerate(TREC.items()):
        name = asked.replace(".", "_", 1)
        theirs = [found[query][name] for query in scores.query_ids]
        np.testing.assert_allclose(scores.tie_broken[:, column], theirs, atol=CLOSE, err_msg=alias)


IR_MEASURES = [
    "nDCG@3",
    "NDCG",
    "nDCG(dcg='exp-log2')@3",
    "AP",
    "MAP",
    "AP(rel=2)@3",
    "RR",
    "MRR",
    "P@3",
    "Precision(rel=2)@3",
    "R@3",
    "Recall@3",
    "Rprec",
    "RPrec(rel=2)",
    "BPref",
    "Success@1",
    "SetP",
    "SetR(rel=2)",
    "SetF",
    "IPrec@0.5",
    "IPrec(rel=2)@0.1",
    "Judged@3",
    "ERR@3",
]
GDEVAL = {"nDCG(dcg='exp-log2')@3", "ERR@3"}


@pytest.mark.parametrize("seed", range(3))
def test_names_of_ir_measures_have_its_values(seed: int) -> None:
    """Without ties: its providers break them in two ways."""
    ir_measures = pytest.importorskip("ir_measures")
    data = hostile(seed, ties=False)
    scores = ours(data, IR_MEASURES)
    for text in IR_MEASURES:
        asked = ir_measures.parse_measure(text)
        found = {each.query_id: each.value for each in ir_measures.iter_calc([asked], data[1], data[0])}
        column = scores.index(text)
        # gdeval prints five decimals, and leaves out queries without a relevant document, which count 0 here.
        theirs = [found.get(query, 0.0) if text in GDEVAL else found[query] for query in scores.query_ids]
        close = 1e-5 if text in GDEVAL else CLOSE
        np.testing.assert_allclose(scores.tie_broken[:, column], theirs, atol=close, err_msg=text)


RANX = [
    "ndcg",
    "ndcg@3",
    "ndcg_burges@3",
    "dcg@3",
    "dcg_burges",
    "map",
    "map@3",
    "map@3-l2",
    "mrr",
    "mrr@3",
    "mrr@3-l2",
    "precision@3",
    "recall@3",
    "recall@3-l2",
    "hit_rate@3",
    "hits@3",
    "r-precision",
    "f1@3",
    "f1",
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # numba and its dependants warn; nothing of ours runs inside
def test_names_of_ranx_have_its_values() -> None:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    data = hostile(7)
    run = ranx.Run(data[0])
    ranx.evaluate(ranx.Qrels(data[1]), run, RANX)
    scores = ours(data, RANX, convention="ranx")
    for alias, measure in zip(RANX, parse_list(RANX), strict=True):
        theirs = [run.scores[alias][query] for query in scores.query_ids]
        np.testing.assert_allclose(scores.tie_broken[:, scores.index(measure)], theirs, atol=CLOSE, err_msg=alias)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # as above
def test_rbp_of_ranx_is_ours_on_grades_0_and_1() -> None:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    lists, graded = hostile(8, ties=False)
    binary = {query: {document: min(grade, 1) for document, grade in row.items()} for query, row in graded.items()}
    run = ranx.Run(lists)
    ranx.evaluate(ranx.Qrels(binary), run, ["rbp.95"])
    scores = ours((lists, binary), ["rbp.95"])
    theirs = [run.scores["rbp.95"][query] for query in scores.query_ids]
    np.testing.assert_allclose(scores.expected[:, 0], theirs, atol=CLOSE)
