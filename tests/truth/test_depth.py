"""A list ends at the depth: every measure, and every parameter of it, against the twin of the cut orders."""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import TYPE_CHECKING

import lists
import numpy as np
import pytest
import twin
from test_every_measure import CLOSE, FORMS, read, rubric, run_with_ranks, scores_of, with_cutoffs

from trueval.comparison.resampling.tie_order_values import TieOrders
from trueval.errors import PolicyError, TruevalWarning
from trueval.evaluation.arrays import evaluate_arrays
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.measures import parse
from trueval.policy.conventions import CONVENTIONS
from trueval.policy.policy import Policy
from trueval.run import Run

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores

SMALL = lists.small_queries(40, seed=31)
SEVEN = lists.seven_document_queries()
FEW = lists.Queries(SMALL | SEVEN)
OF_THE_LIST = [form for form in FORMS if "list" in form or "threshold" in form]
MORE = ["R(rel=2, base='list')", "F1(rel=2, base='list')", "Rprec(base='list')", "Rprec(rel=2, base='list')"]
MORE += [f"AP(base='list', norm='{norm}')" for norm in ("min", "hits", "threshold")]
MORE += [
    "nDCG(gain='rubric', base='list')",
    "nDCG(gain='binary', base='list')",
    "nDCG(gain={0: 0.5, 1: 3, 2: 1}, base='list')",
    "gm(AP(base='list'))",
]
ALL = [*FORMS, *MORE]


@cache
def cut_orders(name: str, on_rubric: bool, depth: int) -> twin.Orders:
    query = FEW[name]
    query = lists.on_rubric(query) if on_rubric else query
    return twin.cut(twin.all_orders(query.scores, query.grades), depth)


def assert_equals_the_twin(queries: lists.Queries, form: str, depth: int, step: int = 1) -> None:
    """Of every query each so many'th measure, of the next query or depth those after them: 1 for all."""
    measures = with_cutoffs(form, (1, 2, 4, 6))
    scores = scores_of(queries, measures, depth=depth)
    assert all(scores.exact)
    for row, name in enumerate(queries):
        for column, measure in list(enumerate(measures))[(row + depth) % step :: step]:
            truth = twin.over_orders(cut_orders(name, rubric(form), depth), str(measure))
            found = [getattr(scores, name)[row, column] for name in ("expected", "lowest", "highest", "sd")]
            true = [truth.mean, truth.lowest, truth.highest, truth.variance]
            close = pytest.approx([*map(float, true)], abs=CLOSE, rel=CLOSE, nan_ok=True)
            assert [*found[:3], found[3] ** 2] == close, f"{measure} of {queries[name]}"


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.evidence)])
@pytest.mark.parametrize("form", ALL)
def test_every_measure_is_that_of_the_lists_cut_at_the_depth(form: str, step: int) -> None:
    for depth in (1, 2, 3):
        assert_equals_the_twin(SMALL, form, depth, step)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [3, *(pytest.param(k, marks=pytest.mark.evidence) for k in (1, 2, 4, 5, 6, 7, 8))])
@pytest.mark.parametrize("form", ALL)
def test_every_measure_is_that_of_lists_of_seven_cut_at_the_depth(form: str, depth: int) -> None:
    assert_equals_the_twin(SEVEN, form, depth)


# --- the tie order ----------------------------------------------------------------------------------------------------


def first(query: lists.Query, tie_order: str, depth: int) -> lists.Query:
    """The same list, cut in a file: scores by rank, so that the order stays."""
    kept = twin.order_by(query.scores, tie_order, query.ranks)[:depth]
    scores = {document: query.scores[document] for document in kept}
    return lists.Query(scores, query.grades, {document: rank for rank, document in enumerate(kept, 1)})


@cache
def cut_in_a_file(queries: lists.Queries, tie_order: str, depth: int) -> lists.Queries:
    return lists.Queries({name: first(query, tie_order, depth) for name, query in queries.items()})


def evaluated(queries: lists.Queries, *forms: str, **choices: object) -> Scores:
    measures = [measure for form in forms for measure in with_cutoffs(form, (1, 3))]
    judgments = read(queries, rubric(forms[0]))[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        return evaluate(run_with_ranks(queries), judgments, measures, **choices)  # type: ignore[arg-type]


@pytest.mark.parametrize("on_rubric", [False, True])
@pytest.mark.parametrize("tie_order", ["input", "rank", "docid-desc"])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_the_tie_order_cuts_as_a_file_cut_in_that_order(depth: int, tie_order: str, on_rubric: bool) -> None:
    forms = [form for form in ALL if rubric(form) == on_rubric]
    whole = evaluated(FEW, *forms, tie_order=tie_order, depth=depth)
    cut = evaluated(cut_in_a_file(FEW, tie_order, depth), *forms, tie_order=tie_order)
    for column, measure in enumerate(whole.measures):
        known = ~np.isnan(whole.expected[:, column])  # a measure that some order leaves without a value has none here
        one, other = (scores.tie_broken[known, column] for scores in (whole, cut))
        np.testing.assert_allclose(one, other, rtol=CLOSE, atol=CLOSE, err_msg=str(measure))


CONVENTION_FORMS = ["nDCG", "DCG", "AP", "RR", "P", "R", "F1", "Hits", "Success", "Rprec", "bpref", "IPrec11"]


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("empty", ["zero", "one", "skip"])
def test_without_ties_a_convention_says_the_same_of_a_list_that_is_cut(convention: str, empty: str) -> None:
    for depth in (1, 2, 4):
        whole = evaluated(untied(), *CONVENTION_FORMS, convention=convention, depth=depth, empty=empty)
        cut_file = cut_in_a_file(untied(), "input", depth)
        cut = evaluated(cut_file, *CONVENTION_FORMS, convention=convention, empty=empty)
        for statistic in ("expected", "lowest", "highest", "tie_broken", "sd"):
            found = getattr(whole, statistic)
            np.testing.assert_array_equal(found, getattr(cut, statistic), err_msg=str(whole.measures))


@cache
def untied() -> lists.Queries:
    return lists.Queries(
        (
            name,
            lists.Query(
                {d: 3.0 - i for i, d in enumerate(query.scores)},
                {d: float(g >= 1) for d, g in query.grades.items() if g >= 0} or {"missed": 0.0},
                query.ranks,
            ),
        )
        for name, query in SMALL.items()
    )


@pytest.mark.parametrize("form", ["R(base='list')@2", "AP(base='list')", "nDCG(base='list')@5", "P(short='listed')@5"])
def test_single_orders_have_the_expected_value_as_their_mean(form: str) -> None:
    """The orders that win probabilities go through, one by one."""
    run = run_with_ranks(SEVEN)
    judgments = Judgments.from_dict({name: dict(query.grades) for name, query in SEVEN.items()})
    scores = evaluate(run, judgments, form, depth=3)
    found = TieOrders(run, judgments, Policy(depth=3), 0)
    for row, name in enumerate(SEVEN):
        atoms = found.distribution(parse(form), np.array([row]))
        assert atoms is not None, name
        assert float(atoms.values @ atoms.probabilities) == pytest.approx(scores.expected[row, 0], abs=1e-9)
        assert (atoms.values[0], atoms.values[-1]) == pytest.approx((scores.lowest[row, 0], scores.highest[row, 0]))


# --- orders that leave nothing in the list ----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["R(base='list')@2", "AP(base='list')", "nDCG(base='list')", "Rprec(base='list')"])
def test_an_order_without_relevant_documents_in_the_list_is_worth_what_an_empty_query_is(form: str) -> None:
    """One relevant of four tied, one place: it is in the list with chance 1/4, and else nothing is there to find."""
    scores, grades = [[1.0, 1.0, 1.0, 1.0]], [[1, 0, 0, 0]]
    zero, one, skip = (evaluate_arrays(scores, grades, form, depth=1, empty=e) for e in ("zero", "one", "skip"))
    assert (zero.expected[0, 0], zero.lowest[0, 0], zero.highest[0, 0]) == (0.25, 0, 1)
    assert zero.sd[0, 0] == pytest.approx(math.sqrt(3) / 4)
    assert (one.expected[0, 0], one.lowest[0, 0], one.highest[0, 0], one.sd[0, 0]) == (1, 1, 1, 0)
    assert math.isnan(skip.expected[0, 0])
    assert (zero.tie_broken[0, 0], one.tie_broken[0, 0]) == (1, 1)  # the input has it first
    with pytest.raises(ValueError, match="undefined for 1 queries"):
        evaluate_arrays(scores, grades, form, depth=1, empty="error")


def test_the_mean_over_orders_counts_the_empty_ones_as_1_where_the_policy_does() -> None:
    for name, query in SMALL.items():
        if not any(g >= 1 for g in query.grades.values()):
            continue
        possible = cut_orders(name, False, 2)
        values = {
            ranking: 1
            if not twin.relevant_count(ranking, twin.Notation.read("R(base='list')"))
            else twin.value(ranking, "AP(base='list')")
            for ranking in possible
        }
        mean = sum(values[ranking] * count for ranking, count in possible.items()) / sum(possible.values())
        found = evaluated(lists.Queries({name: query}), "AP(base='list')", depth=2, empty="one")
        assert found.expected[0, -1] == pytest.approx(float(mean), abs=CLOSE)
        assert found.lowest[0, -1] == pytest.approx(float(min(values.values())), abs=CLOSE)
        assert found.highest[0, -1] == pytest.approx(float(max(values.values())), abs=CLOSE)


# --- what is not a value ----------------------------------------------------------------------------------------------


def test_a_list_that_is_cut_is_as_long_as_the_depth() -> None:
    """Four relevant documents listed and a depth of two: as the same file cut to two lines."""
    run = Run.from_dict({"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}})
    judgments = Judgments.from_dict({"q": dict.fromkeys("abcd", 1)})
    texts = ["P(short='listed')@6", *(f"{n}(base='list')" for n in ("R", "nDCG", "F1", "Rprec", "AP"))]
    np.testing.assert_array_equal(evaluate(run, judgments, texts, depth=2).expected, np.ones((1, len(texts))))


def test_ties_past_the_depth_are_not_told_of() -> None:
    run = Run.from_dict({"q": {"a": 4.0, "b": 3.0, "c": 3.0, "d": 3.0, "e": 1.0, "f": 1.0, "g": 1.0, "h": 1.0}})
    judgments = Judgments.from_dict({"q": {"a": 1, "d": 1, "missed": 1}})
    found = {depth: evaluate(run, judgments, "RR", depth=depth) for depth in (1, 2, 4, 5, None)}
    fractions = {depth: scores.ties.tied_fraction for depth, scores in found.items()}
    assert fractions == {1: 0, 2: 1 / 2, 4: 3 / 4, 5: 4 / 5, None: 7 / 8}
    assert {d: s.ties.largest_group for d, s in found.items()} == {1: 1, 2: 3, 4: 3, 5: 4, None: 4}
    assert {d: s.ties.cut_queries for d, s in found.items()} == {1: (), 2: (), 4: (), 5: ("q",), None: ("q",)}
    assert {d: s.matched for d, s in found.items()} == {1: 1, 2: 2, 4: 2, 5: 2, None: 2}


def test_a_shorter_list_is_not_cut_because_the_depth_makes_it_as_long_as_others() -> None:
    run = Run.from_dict({"long": {f"d{i}": -float(i) for i in range(9)}, "short": {"a": 2.0, "b": 1.0, "c": 1.0}})
    judgments = Judgments.from_dict({"long": {"d0": 1}, "short": {"a": 1, "missed": 1}})
    assert evaluate(run, judgments, "RR", depth=2).ties.cut_queries == ()


def test_label_orders_past_the_depth_are_not_told_of() -> None:
    run = Run.from_dict({f"q{q}": {"a": 3.0, "b": 1.0, "c": 1.0, "d": 1.0, "e": 1.0} for q in range(40)})
    judgments = Judgments.from_dict({f"q{q}": {"a": 1, "b": 1, "c": 1, "d": 0, "e": 0} for q in range(40)})
    with pytest.warns(UserWarning, match="follows the grades"):
        evaluate(run, judgments, "RR", tie_order="input")
    assert evaluate(run, judgments, "RR", tie_order="input", depth=1).notes == ()


@pytest.mark.filterwarnings("ignore:.*queries without a tie-broken value")
def test_documents_that_are_not_retrieved_still_make_the_ideal_random() -> None:
    """torchmetrics: of two documents of score 0 one is in the list, counts as a target and is not retrieved."""
    scores, grades = [[1.0, 0.0, 0.0]], [[1, 1, 0]]
    found = evaluate_arrays(scores, grades, "R@2", convention="torchmetrics", depth=2)
    assert (found.expected[0, 0], found.lowest[0, 0], found.highest[0, 0]) == (0.75, 0.5, 1)
    assert math.isnan(found.tie_broken[0, 0])


@pytest.mark.filterwarnings("ignore:.*queries without a tie-broken value")
def test_thresholds_let_the_tied_documents_of_the_list_enter_together() -> None:
    """scikit-learn on the two documents that the order leaves: precision 1/2 at their common score, or 1."""
    scores, grades = [[1.0, 1.0, 1.0]], [[1, 0, 1]]
    ap = "AP(norm='threshold', base='list')"
    assert evaluate_arrays(scores, grades, ap, depth=2).tie_broken[0, 0] == 0.5
    assert math.isnan(evaluate_arrays(scores, grades, "AP", convention="sklearn", depth=2).tie_broken[0, 0])
    assert evaluate_arrays(scores, grades, "AP", convention="sklearn", depth=3).tie_broken[0, 0] == 2 / 3


def test_a_long_group_across_the_depth() -> None:
    """300 relevant of 1000 tied, 100 places: R is always 1 where one is in; AP against sampled orders."""
    rng = np.random.default_rng(5)
    grades = (np.arange(1000) < 300).astype(float)
    found = evaluate_arrays([np.zeros(1000)], [grades], ["R(base='list')", "AP(base='list')", "P"], depth=100)
    assert found.expected[0, [0, 2]].tolist() == pytest.approx([1, 0.3], abs=1e-9)
    values = []
    for _ in range(2000):
        drawn = rng.permutation(grades)[:100]
        values.append(float((drawn * np.cumsum(drawn) / np.arange(1, 101)).sum() / drawn.sum()))
    assert found.expected[0, 1] == pytest.approx(np.mean(values), abs=5 * np.std(values) / math.sqrt(2000))
    assert found.sd[0, 1] == pytest.approx(np.std(values), rel=0.1)


def test_a_group_that_can_turn_out_in_too_many_ways_is_refused() -> None:
    grades = np.arange(600) % 6
    with pytest.raises(PolicyError, match=r"depth 300 cuts a group of 600 equal scores .* Choose base='judgments'"):
        evaluate_arrays([np.zeros(600)], [grades], "nDCG(base='list')", depth=300)
