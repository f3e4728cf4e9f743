"""Explanations: the numbers of CONVENTIONS, the causes of their differences, and that causes are found and minimal."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from trueval.errors import MeasureError, PolicyError
from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.explanation import ConventionRow, Explanation, explain
from trueval.judgments import Judgments
from trueval.measures import parse
from trueval.policy.conventions import OURS, TOOLS, convention
from trueval.policy.policy import Policy
from trueval.run import Run

TREC_FAMILY = ("trec_eval", "pytrec_eval", "mteb")


def topics(row: ConventionRow) -> list[str]:
    return [cause.topic for cause in row.causes]


def options(row: ConventionRow) -> list[str]:
    return [cause.option for cause in row.causes]


def of(run: dict[str, dict[str, float]], judgments: dict[str, dict[str, float]], measure: str) -> Explanation:
    return explain(Run.from_dict(run), Judgments.from_dict(judgments), measure)


def same_list() -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Ten documents, relevance 1011001001, and three relevant ones that the run did not find: R = 8."""
    run = {"q": {f"d{i}": 10.0 - i for i in range(10)}}
    judgments = {"q": {f"d{i}": float(flag) for i, flag in enumerate("1011001001")} | dict.fromkeys(("x", "y", "z"), 1)}
    return run, judgments


# --- the two examples that every tool's manual could have -------------------------------------------------------------


def test_one_list_has_three_average_precisions() -> None:
    """1/1 + 2/3 + 3/4 = 2.4167, over R = 8, min(R, 5) = 5 or 3 hits."""
    found = of(*same_list(), "AP@5")
    assert found.ours.expected == pytest.approx((1 + 2 / 3 + 3 / 4) / 8)
    for name in (*TREC_FAMILY, "ranx"):
        assert round(found.row(name).value, 3) == 0.302
        assert found.row(name).causes == ()
    assert round(found.row("sentence-transformers").value, 3) == 0.483
    assert round(found.row("torchmetrics").value, 3) == 0.806
    assert topics(found.row("sentence-transformers")) == topics(found.row("torchmetrics")) == ["normalizer"]
    assert found.row("sentence-transformers").causes[0].theirs == "min"
    assert found.row("torchmetrics").causes[0].theirs == "hits"
    assert found.row("paper").value == found.row("sentence-transformers").value
    assert topics(found.row("paper")) == ["base"]
    assert math.isnan(found.row("sklearn").value)
    assert found.row("sklearn").why == "sklearn has no AP@5"


def test_one_list_has_two_ndcgs() -> None:
    """Gains 3, 0, 1, 2, 0 of judged 3, 3, 2, 2, 1, 1, 0: .611 by the judgments, .916 by the list."""
    run = {"q": {f"d{i}": 5.0 - i for i in range(5)}}
    judgments = {"q": {"d0": 3.0, "d1": 0.0, "d2": 1.0, "d3": 2.0, "x": 3.0, "y": 2.0, "z": 1.0}}
    found = of(run, judgments, "nDCG@5")
    gain = 3 + 1 / 2 + 2 / math.log2(5)
    ideal = sum(g / math.log2(rank + 1) for rank, g in enumerate([3, 3, 2, 2, 1], 1))
    assert found.ours.expected == pytest.approx(gain / ideal)
    assert round(found.ours.expected, 3) == 0.611
    for name in ("torchmetrics", "sklearn", "paper"):
        assert round(found.row(name).value, 3) == 0.916
        assert topics(found.row(name)) == ["base"]
    assert topics(found.row("sentence-transformers")) == ["gain"]


# --- every other cause ------------------------------------------------------------------------------------------------

TIED = {"q": {"a": 2.0, "b": 2.0, "c": 1.0}, "r": {"a": 3.0, "b": 2.0, "c": 1.0}}
ONE_EACH = {"q": {"a": 1.0}, "r": {"a": 1.0}}


def test_tie_order() -> None:
    found = of(TIED, ONE_EACH, "RR@5")
    assert found.ours.expected == pytest.approx((3 / 4 + 1) / 2)
    assert found.row("trec_eval").value == pytest.approx((1 / 2 + 1) / 2)
    assert found.row("sentence-transformers").value == 1 == found.row("paper").value
    assert options(found.row("trec_eval")) == ["tie_order"]
    row = found.row("torchmetrics")
    assert math.isnan(row.value)
    assert row.difference == 0
    assert "topk" in row.why
    assert (row.lowest, row.highest) == (0.75, 1.0)
    assert [(move.query, topic) for move in found.moves for topic in [move.causes[0].topic]] == [("q", "tie")]


def test_scores_as_float32_need_order_and_precision() -> None:
    found = of({"q": {"a": 1.0, "b": 1.0 - 1e-12}}, {"q": {"a": 1.0}}, "RR")
    assert found.row("trec_eval").causes == ()
    assert found.row("pytrec_eval").value == 0.5
    assert sorted(options(found.row("pytrec_eval"))) == ["tie_order", "tie_precision"]
    assert found.row("mteb").causes == ()  # its own reciprocal rank compares doubles


def test_missing_query() -> None:
    found = of({"q": {"a": 1.0}}, ONE_EACH, "RR")
    assert found.ours.expected == 0.5
    assert found.row("pytrec_eval").value == 1
    assert topics(found.row("pytrec_eval")) == ["missing query"]
    refused = found.row("trec_eval")
    assert math.isnan(refused.value)
    assert refused.expected is None
    assert "'r'" in refused.why
    assert topics(refused) == ["missing query"]
    (move,) = found.moves
    assert (move.query, move.ours, move.difference) == ("r", 0.0, 1.0)
    assert math.isnan(move.theirs)
    assert move.causes[0].topic == "missing query"


def test_empty_query() -> None:
    found = of(TIED, {"q": {"c": 1.0}, "r": {"a": 0.0}}, "RR@5")
    assert found.ours.expected == pytest.approx(1 / 6)
    assert found.row("sentence-transformers").value == pytest.approx(1 / 3)
    assert topics(found.row("sentence-transformers")) == ["empty query"]


def test_labels() -> None:
    found = of({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 0.5, "b": 2.0}}, "RR@5")
    assert (found.ours.expected, found.row("sentence-transformers").value) == (0.5, 1.0)
    assert options(found.row("sentence-transformers")) == ["labels"]
    assert options(found.row("torchmetrics")) == ["labels"]
    assert "0 and 1" in found.row("torchmetrics").why
    assert options(found.row("pytrec_eval")) == ["float_grades"]
    graded = of({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1.5, "b": 2.0}}, "nDCG")
    assert options(graded.row("trec_eval")) == ["float_grades"]


def test_scores_of_zero_and_less() -> None:
    found = of({"q": {"a": 2.0, "b": -1.0}}, {"q": {"b": 1.0}}, "RR")
    assert (found.ours.expected, found.row("torchmetrics").value) == (0.5, 0.0)
    assert topics(found.row("torchmetrics")) == ["score <= 0"]


def test_threshold_average_precision() -> None:
    found = of({"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, {"q": {"a": 1.0, "b": 1.0, "c": 0.0}}, "AP")
    assert found.row("sklearn").value == pytest.approx(2 / 3)
    assert [cause.theirs for cause in found.row("sklearn").causes] == ["threshold"]


def test_what_the_measure_names_no_convention_changes() -> None:
    found = of(*same_list(), "AP(norm='hits', rel=1, base='judgments')@5")
    values = {row.convention: row.value for row in found.rows if row.convention not in ("sklearn", "cross-encoder")}
    assert set(map(float, np.round(list(values.values()), 3))) == {0.806}
    (note,) = (note for note in found.notes if "names" in note)
    assert "names base and norm" in note
    assert "Explain AP(rel=1)@5" in note


@pytest.mark.parametrize("text", ["AP(rel=1)@5", "AP@5", "RBP(p=0.5)"])
def test_what_no_convention_would_choose_otherwise_is_not_remarked(text: str) -> None:
    found = of(*same_list(), text)
    assert not [note for note in found.notes if "names" in note]


def test_queries_that_move_most_come_first() -> None:
    """Rank 2 of many: P-A's list base lifts a query with R = 4 and one listed from 1/4 to 1, one with R = 2 to 1."""
    run = {q: {"a": 2.0, "b": 1.0} for q in ("even", "two", "four")}
    missed = {"even": 0, "two": 1, "four": 3}
    judgments = {q: {"a": 1.0, **{f"m{i}": 1.0 for i in range(n)}} for q, n in missed.items()}
    found = explain(Run.from_dict(run), Judgments.from_dict(judgments), "R", conventions=["paper"])
    assert [(move.query, move.difference) for move in found.moves] == [("four", 0.75), ("two", 0.5)]
    one = explain(Run.from_dict(run), Judgments.from_dict(judgments), "R", examples=1)
    assert [move.query for move in one.moves] == ["four"]


# --- found, not written down ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")  # a query is missing, orders are open
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("measure", ["AP@5", "AP", "nDCG@5", "RR", "P@20", "R@5"])
def test_causes_make_the_difference_and_no_smaller_set_does(seed: int, measure: str) -> None:
    rng = np.random.default_rng(seed)
    run = {f"q{q}": {f"d{i}": float(rng.integers(-1, 5)) for i in range(12)} for q in range(8)}
    judgments = {q: {d: float(rng.random() < 0.3) for d in [*row, "m1", "m2"]} for q, row in run.items()}
    run.pop("q3")
    found = of(run, judgments, measure)
    base = replace(OURS, tie_order="average")

    whole, graded = Run.from_dict(run), Judgments.from_dict(judgments)

    @cache
    def values_under(chosen: Policy) -> np.ndarray | None:
        try:
            scores = evaluate(whole, graded, measure, policy=chosen)
        except ValueError:
            return None
        return np.where(np.isnan(scores.tie_broken), scores.expected, scores.tie_broken)[:, 0]

    def values(row: ConventionRow, names: tuple[str, ...]) -> np.ndarray | None:
        theirs = TOOLS[row.convention].policy.of(parse(found.measure).innermost.name)
        return values_under(replace(base, **{name: getattr(theirs, name) for name in names}))

    def same(row: ConventionRow, names: tuple[str, ...], other: tuple[str, ...]) -> bool:
        one, two = values(row, names), values(row, other)
        return one is two is None or (one is not None and two is not None and np.allclose(one, two, equal_nan=True))

    for row in found.rows:
        if row.why.endswith(f"has no {measure}"):
            continue
        theirs = TOOLS[row.convention].policy.of(parse(found.measure).innermost.name)
        differ = tuple(n for n in theirs.to_dict() if n not in ("convention", "exceptions"))
        differ = tuple(n for n in differ if getattr(theirs, n) != getattr(base, n))
        assert same(row, tuple(options(row)), differ), row
        assert all(same(row, tuple(switch.option for switch in other), differ) for other in row.others), row
        for size in range(len(row.causes)):
            assert not any(same(row, each, differ) for each in combinations(differ, size)), row


def test_the_json_has_no_number_that_is_none() -> None:
    entry = of({"q": {"a": 1.0}}, ONE_EACH, "AP@5").to_dict()
    text = json.dumps(entry, allow_nan=False)
    assert json.loads(text)["conventions"][0]["value"] is None
    assert entry["measure"] == "AP@5"


def test_conventions_of_real_runs(dl_hard_folder: object) -> None:
    """AP@100 of DL-Hard's BM25: the paper's list base and the min(R, k) of sentence-transformers stand out."""
    folder = str(dl_hard_folder)
    found = explain(Run.read(f"{folder}/bm25.run.gz"), Judgments.read(f"{folder}/qrels.trec"), "AP@100")
    assert options(found.row("sentence-transformers"))[0] == "norm"
    assert options(found.row("paper"))[0] == "base"
    assert abs(found.row("paper").causes[0].alone) > 0.01 > abs(found.row("paper").causes[-1].alone)
    assert len(found.moves) == 5


def test_choices_hold_for_every_tool() -> None:
    run = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    judgments = Judgments.from_dict({"q": {"a": 0, "b": 2, "c": 3}})
    cut = explain(run, judgments, "AP", depth=2, rel=2)
    assert cut.ours.expected == 0.25  # b at rank 2, one of two relevant documents
    assert {row.convention: row.value for row in cut.rows if row.convention in ("trec_eval", "ranx")} == {
        "trec_eval": 0.25,
        "ranx": 0.25,
    }
    assert all(cause.option not in ("depth", "rel", "labels") for row in cut.rows for cause in row.causes)


def test_tools_can_be_compared_with_another_policy() -> None:
    lists, grades = same_list()
    run, judgments = Run.from_dict(lists), Judgments.from_dict(grades)
    found = explain(run, judgments, "AP@5", policy=convention("torchmetrics"), conventions=["torchmetrics", "ranx"])
    assert [row.convention for row in found.rows if abs(row.difference) < 1e-9] == ["torchmetrics"]
    with pytest.raises(PolicyError, match="Did you mean depth"):
        explain(run, judgments, "AP@5", deptf=3)


def test_a_geometric_mean_is_not_explained_query_by_query() -> None:
    judgments, run = Judgments.from_dict({"q": {"a": 1}}), Run.from_dict({"q": {"a": 2.0, "b": 1.0}})
    with pytest.raises(MeasureError, match="Explain AP instead"):
        explain(run, judgments, "gm(AP)")
