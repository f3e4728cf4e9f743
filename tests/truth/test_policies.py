"""Policies that change the lists or the ties, against the twin over all orders of what they leave."""

from __future__ import annotations

import lists
import numpy as np
import pytest
import twin

from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.run import Run

QUERIES = lists.small_queries(40, seed=23) | lists.seven_document_queries()
MEASURES = ["nDCG", "nDCG@3", "DCG@2", "RR", "AP", "AP(norm='min')@3", "P", "P@4", "R@2", "F1", "F1@3", "Hits", "Rprec"]
MEASURES += ["Success@2", "RBP", "Judged", "Judged@3"]
CLOSE = 1e-12
JUDGMENTS = Judgments.from_dict({name: dict(query.grades) for name, query in QUERIES.items()})


def run_of(scores: dict[str, dict[str, float]]) -> Run:
    return Run.from_dict({name: listed for name, listed in scores.items() if listed})


def assert_equals(found: object, orders: dict[str, twin.Orders], measures: list[str] = MEASURES) -> None:
    for row, (name, possible) in enumerate(orders.items()):
        truths = [twin.over_orders(possible, measure) for measure in measures]
        where = f"{name}: {QUERIES[name]}"
        for statistic, values in zip(("expected", "lowest", "highest"), zip(*truths, strict=True), strict=False):
            np.testing.assert_allclose(
                getattr(found, statistic)[row], [float(v) for v in values], rtol=CLOSE, atol=CLOSE, err_msg=where
            )
        variances = [float(truth.variance) for truth in truths]
        np.testing.assert_allclose(found.sd[row] ** 2, variances, rtol=CLOSE, atol=CLOSE, err_msg=where)


def test_judged_at_k_of_a_list_cut_before_k_divides_by_what_is_left() -> None:
    run, judgments = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}), Judgments.from_dict({"q": {"a": 1, "b": 0}})
    found = evaluate(run, judgments, ["Judged", "Judged@3"], depth=2)
    np.testing.assert_array_equal(found.expected, [[1.0, 1.0]])


@pytest.mark.parametrize("depth", [1, 2, 3, 5, 7, 100])
def test_depth_cuts_every_order_after_so_many_ranks(depth: int) -> None:
    scores = {name: dict(query.scores) for name, query in QUERIES.items()}
    orders = {name: twin.cut(twin.all_orders(q.scores, q.grades), depth) for name, q in QUERIES.items()}
    assert_equals(evaluate(run_of(scores), JUDGMENTS, MEASURES, depth=depth), orders)


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_judged_only_leaves_the_judged_documents() -> None:
    scores = {name: dict(query.scores) for name, query in QUERIES.items()}
    judged = {
        name: {d: s for d, s in query.scores.items() if twin.is_judged(query.grades.get(d))}
        for name, query in QUERIES.items()
    }
    orders = {name: twin.all_orders(judged[name], query.grades) for name, query in QUERIES.items()}
    assert_equals(evaluate(run_of(scores), JUDGMENTS, MEASURES, judged_only=True), orders)


def near(rng: np.random.Generator, unit: float) -> dict[str, dict[str, float]]:
    """Spread scores by less than a precision can tell and by more, both signs."""
    spread = unit * np.array([-3.0, -1.25, -0.75, -0.5, -0.25, 0.0, 0.125, 0.5, 1.5])
    return {name: {d: 1 + float(rng.choice(spread)) for d in query.scores} for name, query in QUERIES.items()}


@pytest.mark.parametrize(("precision", "bits"), [("float32", 24), ("float16", 11), ("bfloat16", 8)])
def test_a_number_format_decides_what_is_tied(precision: str, bits: int) -> None:
    """Just above 1 a format of so many bits has steps of 2^(1 - bits), just below 1 of half of that."""
    scores = near(np.random.default_rng(bits), 2.0 ** (1 - bits))
    rounded = {name: {d: twin.round_to_bits(s, bits) for d, s in listed.items()} for name, listed in scores.items()}
    orders = {name: twin.all_orders(rounded[name], query.grades) for name, query in QUERIES.items()}
    assert_equals(evaluate(run_of(scores), JUDGMENTS, MEASURES, tie_precision=precision), orders)
    assert sum(sum(possible.values()) > 1 for possible in orders.values()) > 10


def test_a_grid_width_decides_what_is_tied() -> None:
    """rint(s / width): halves go to the even multiple (DESIGN, Why Standings)."""
    scores = near(np.random.default_rng(1), 0.25)
    rounded = {name: {d: float(round(s / 0.25)) for d, s in listed.items()} for name, listed in scores.items()}
    orders = {name: twin.all_orders(rounded[name], query.grades) for name, query in QUERIES.items()}
    assert_equals(evaluate(run_of(scores), JUDGMENTS, MEASURES, tie_precision=0.25), orders)


def test_a_threshold_for_all_is_the_threshold_of_each() -> None:
    scores = {name: dict(query.scores) for name, query in QUERIES.items()}
    orders = {name: twin.all_orders(query.scores, query.grades) for name, query in QUERIES.items()}
    plain, named = ["RR", "AP@3", "R@2", "nDCG@3"], ["RR(rel=2)", "AP(rel=2)@3", "R(rel=2)@2", "nDCG@3"]
    assert_equals(evaluate(run_of(scores), JUDGMENTS, plain, rel=2), orders, named)


@pytest.mark.parametrize("named", ["RR(rel=1)", "RR(rel=3)"])
def test_a_measure_that_names_its_threshold_keeps_it(named: str) -> None:
    scores = {name: dict(query.scores) for name, query in QUERIES.items()}
    orders = {name: twin.all_orders(query.scores, query.grades) for name, query in QUERIES.items()}
    assert_equals(evaluate(run_of(scores), JUDGMENTS, [named], rel=2), orders, [named])


@pytest.mark.parametrize("empty", ["zero", "skip"])
def test_a_query_without_relevant_documents_counts_or_is_left_out(empty: str) -> None:
    scores = {name: dict(query.scores) for name, query in QUERIES.items()}
    mean = evaluate(run_of(scores), JUDGMENTS, ["RR"], empty=empty).mean("RR")
    relevant = [name for name, query in QUERIES.items() if max(query.grades.values()) >= 1]
    counted = relevant if empty == "skip" else list(QUERIES)
    assert 0 < len(relevant) < len(QUERIES)
    truths = [twin.over_all_orders(QUERIES[n].scores, QUERIES[n].grades, "RR") for n in counted]
    assert mean.queries == len(counted)
    assert mean.expected == pytest.approx(float(sum(t.mean for t in truths)) / len(counted), abs=CLOSE)
    assert mean.lowest == pytest.approx(float(sum(t.lowest for t in truths)) / len(counted), abs=CLOSE)
    assert mean.highest == pytest.approx(float(sum(t.highest for t in truths)) / len(counted), abs=CLOSE)
    assert mean.sd == pytest.approx(float(sum(t.variance for t in truths)) ** 0.5 / len(counted), abs=CLOSE)
    assert mean.z == pytest.approx((mean.tie_broken - mean.expected) / mean.sd, abs=1e-9)
