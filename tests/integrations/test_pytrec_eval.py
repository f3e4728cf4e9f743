"""pytrec_eval's RelevanceEvaluator with our values: theirs without ties, and the range that it hides."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed: make integrations")
from tests.integrations.pairs import FOLDERS, PLANTED, read

from trueval.errors import MeasureError, PolicyError
from trueval.evaluation.evaluate import evaluate
from trueval.integrations.pytrec_eval import RelevanceEvaluator, install

MEASURES = {
    *("map", "map_cut.5,10", "ndcg", "ndcg_cut", "P.5,20", "recall.100", "recip_rank", "Rprec", "bpref", "success"),
    *("iprec_at_recall", "11pt_avg", "gm_map", "gm_bpref", "num_ret", "num_rel", "num_rel_ret", "num_q", "set"),
}


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("name", FOLDERS)
def test_under_its_own_order_every_value_is_theirs(name: str, level: int) -> None:
    """`scores` has our own number under their order and their precision, beside the dict, which is then theirs."""
    for run, qrels in read(name):
        theirs = pytrec_eval.RelevanceEvaluator(qrels, MEASURES, level).evaluate(run)
        evaluator = RelevanceEvaluator(qrels, MEASURES, level, ties="tie-broken", tie_precision="float32")
        assert evaluator.evaluate(run) == theirs
        assert evaluator.scores is not None
        for measure, column in zip(evaluator.scores.measures, evaluator.scores.tie_broken.T, strict=True):
            values = dict(zip(evaluator.scores.query_ids, column.tolist(), strict=True))
            assert values.keys() == theirs.keys()
            if measure.inner is None:
                named = next(name for name, ours in evaluator._known.items() if ours == measure)
                assert values == pytest.approx({q: row[named] for q, row in theirs.items()}, abs=1e-9)


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_where_nothing_is_tied_every_value_is_theirs_to_rounding() -> None:
    (run, qrels), *_ = read("dl-hard")
    untied = {q: {d: 1.0 / rank for rank, d in enumerate(row, 1)} for q, row in run.items()}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(untied)
    found = RelevanceEvaluator(qrels, MEASURES).evaluate(untied)
    assert found.keys() == theirs.keys()
    for query, row in theirs.items():
        assert found[query] == pytest.approx(row, abs=1e-9)


def test_the_range_that_it_hides() -> None:
    run, qrels = PLANTED
    asked = {"recip_rank", "map", "num_ret"}
    assert pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)["q"]["recip_rank"] == 0.5
    evaluator = RelevanceEvaluator(qrels, asked)
    low, high = (Fraction(1, 2) + Fraction(2, 3)) / 2, (1 + Fraction(2, 3)) / 2
    middle = float((low + high) / 2)
    assert evaluator.evaluate(run)["q"] == pytest.approx({"recip_rank": 0.75, "map": middle, "num_ret": 3.0})
    assert evaluator.scores is not None
    assert evaluator.scores["RR"][:3] == (0.75, 0.5, 1.0)
    assert evaluator.scores["AP"][1:3] == pytest.approx((float(low), float(high)))


def test_the_geometric_mean_is_that_of_the_expected_values() -> None:
    run, qrels = {**PLANTED[0], "none": {"x": 1.0}}, {**PLANTED[1], "none": {"y": 1}}
    found = RelevanceEvaluator(qrels, ["gm_map"]).evaluate(run)
    logarithms = [row["gm_map"] for row in found.values()]
    assert logarithms[1] == pytest.approx(math.log(1e-5))
    ours = evaluate(run, qrels, "gm(AP)")["gm(AP)"].expected
    assert pytrec_eval.compute_aggregated_measure("gm_map", logarithms) == pytest.approx(ours)


@pytest.mark.parametrize(("ties", "value"), [("lowest", 0.5), ("highest", 1.0), ("tie-broken", 0.5)])
def test_other_statistics(ties: str, value: float) -> None:
    run, qrels = PLANTED
    assert RelevanceEvaluator(qrels, ["recip_rank"], ties=ties).evaluate(run) == {"q": {"recip_rank": value}}


def test_install_gives_it_to_whoever_looks_it_up_and_is_undone() -> None:
    run, qrels = PLANTED
    before = pytrec_eval.RelevanceEvaluator
    with install("highest"):
        assert pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run) == {"q": {"recip_rank": 1.0}}
    assert pytrec_eval.RelevanceEvaluator is before


def test_queries_are_those_of_both_and_none_without_any() -> None:
    run, qrels = {"q": {"a": 1.0}, "more": {"a": 1.0}}, {"q": {"a": 1}, "absent": {"a": 1}}
    evaluator = RelevanceEvaluator(qrels, ["recip_rank"])
    assert evaluator.evaluate(run) == {"q": {"recip_rank": 1.0}}
    assert (evaluator.evaluate({}), evaluator.scores) == ({}, None)
    assert evaluator.evaluate({"other": {"a": 1.0}}) == {}
    assert RelevanceEvaluator(qrels, ["num_q"]).evaluate(run) == {"q": {"num_q": 1.0}}


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(
        MeasureError, match=r"^infAP, ndcg_rel: the order of ties changes these .* has no expected value"
    ):
        RelevanceEvaluator({"q": {"a": 1}}, ["map", "infAP", "ndcg_rel"])
    assert RelevanceEvaluator({"q": {"a": 1}}, ["infAP"], ties="tie-broken").evaluate({"q": {"a": 1.0}})
    with pytest.raises(PolicyError, match="ties must be one of"):
        RelevanceEvaluator({"q": {"a": 1}}, ["map"], ties="mean")
    with pytest.raises(PolicyError, match="ties must be one of"):
        install("mean")
