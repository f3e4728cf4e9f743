"""Candidate orders that follow the labels, found in either direction."""

import itertools
import math

import numpy as np
import polars as pl
import pytest

from trueval.errors import TruevalWarning
from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.label_order import OrderCheck, check_orders, label_order, order_notes
from trueval.judgments import Judgments
from trueval.run import Run


def candidates(order: str, queries: int = 30, size: int = 10, positives: int = 3, scores: str = "flat"):
    """A reranking set whose lists stand in a given order, and its judgments."""
    rng = np.random.default_rng(3)
    rows = []
    for query in range(queries):
        grades = np.array([1] * positives + [0] * (size - positives))
        if order == "last":
            grades = grades[::-1]
        elif order == "random":
            grades = rng.permutation(grades)
        for place, grade in enumerate(grades.tolist()):
            name = (
                f"{'apositive' if grade else 'negative'}_{query}_{place}"
                if order == "mteb"
                else f"d{rng.integers(1e9)}"
            )
            score = {"flat": 0.5, "sorted": float(size - place), "random": float(rng.random())}[scores]
            rows.append((f"q{query}", name, score, float(grade)))
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "grade"], orient="row")
    return Run.from_frame(frame.drop("grade"), name="run"), Judgments.from_frame(frame.drop("score"))


def test_positives_first_as_in_old_mteb() -> None:
    run, judgments = candidates("first")
    by_input, by_id = check_orders(run, judgments)
    assert (by_input.order, by_input.share, by_input.p, by_input.follows) == ("input", 1.0, 0.001, True)
    assert by_input.pairs == 30 * 3 * 7
    assert not by_id.follows
    (note,) = order_notes(run, judgments)
    assert "the higher grade comes first in 100.0% of 630 pairs" in note
    assert "of 630 pairs (p = 0.001)" in note
    assert "with tie order input it is the highest value" in note
    (many,) = order_notes(*candidates("first", queries=600))
    assert "of 12,600 pairs (p < 0.0001)" in many  # the normal limit underflows to 0, which no p is


def test_positives_last() -> None:
    run, judgments = candidates("last")
    assert check_orders(run, judgments)[0].share == 0.0
    (note,) = order_notes(run, judgments, tie_order="input")
    assert "comes last in 100.0%" in note
    assert "with tie order input it is the lowest value" in note


def test_names_of_current_mteb() -> None:
    run, judgments = candidates("mteb")
    (note,) = order_notes(run, judgments, tie_order="docid-desc")
    assert "the order of document ids follows the grades" in note
    assert "with tie order docid-desc it is the lowest value" in note
    (note,) = order_notes(run, judgments, tie_order="docid-asc")
    assert "with tie order docid-asc it is the highest value" in note


@pytest.mark.parametrize("scores", ["flat", "random"])
def test_a_random_order_says_nothing(scores: str) -> None:
    run, judgments = candidates("random", scores=scores)
    assert order_notes(run, judgments) == ()


def test_a_good_run_is_no_order_of_ties() -> None:
    """Lists in descending order of scores put good documents first because they are good."""
    run, judgments = candidates("first", scores="sorted")
    assert [check.order for check in check_orders(run, judgments)] == ["docid"]


def test_ties_of_a_sorted_run_are_checked_among_themselves() -> None:
    scores = [[2.0, 2.0, 1.0, 1.0]] * 20
    grades = [[1, 0, 1, 0]] * 20
    ids = [[f"x{(i * 7 + j * 3) % 11}_{j}" for j in range(4)] for i in range(20)]
    run, judgments = Run.from_arrays(scores, ids), Judgments.from_arrays(grades, ids)
    check = check_orders(run, judgments)[0]
    assert (check.among, check.share, check.pairs) == ("ties", 1.0, 40)


def test_lists_that_fall_only_from_one_to_the_next_are_no_sorted_run() -> None:
    """Scores that are equal in each list say nothing, whatever those of another list are."""
    scores, grades, ids = [[2.0, 2.0], [1.0, 1.0]], [[1, 0], [1, 0]], [["a", "b"], ["c", "d"]]
    checks = check_orders(Run.from_arrays(scores, ids), Judgments.from_arrays(grades, ids))
    assert [check.among for check in checks] == ["lists", "lists"]


def test_share_is_that_of_all_pairs() -> None:
    rng = np.random.default_rng(5)
    grades, strata = rng.integers(0, 4, 60).astype(float), rng.integers(0, 7, 60)
    places = rng.permutation(60)
    pairs = [
        (i, j) for i, j in itertools.permutations(range(60), 2) if strata[i] == strata[j] and grades[i] > grades[j]
    ]
    check = label_order("input", grades, strata, places, rng)
    assert check.pairs == len(pairs)
    assert check.share == pytest.approx(sum(places[i] < places[j] for i, j in pairs) / len(pairs))


def test_p_is_that_of_all_permutations() -> None:
    """Two strata of 4 documents with 2 positives: 36 arrangements, of which 2 are as extreme as all first."""
    grades, strata, places = np.array([1.0, 1, 0, 0] * 2), np.repeat([0, 1], 4), np.arange(8)
    check = label_order("input", grades, strata, places, np.random.default_rng(0))
    assert check.p == pytest.approx(2 / 36, abs=0.03)


def test_many_documents_use_the_limit_and_agree_with_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    strata, places = np.repeat(np.arange(40), 10), np.arange(400)
    grades = (rng.random(400) < 0.3 + 0.02 * (9 - places % 10)).astype(float)
    drawn = label_order("input", grades, strata, places, np.random.default_rng(1))
    monkeypatch.setattr("trueval.evaluation.label_order.SAMPLED", 10)
    assert label_order("input", grades, strata, places, rng).p == pytest.approx(drawn.p, abs=0.03)


def test_up_to_4000_documents_are_drawn_and_more_are_not() -> None:
    """A share of 999 permutations and ours is a multiple of 1/1000, which the limit hardly ever is."""
    for count, drawn in ((4000, True), (4001, False)):
        grades = (np.random.default_rng(6).random(count) < 0.3) * 1.0
        p = label_order("input", grades, np.zeros(count), np.arange(count), np.random.default_rng(0)).p
        assert (1000 * p == pytest.approx(round(1000 * p), abs=1e-9)) is drawn
        assert 0.01 < p < 0.99


def test_the_limit_has_the_variance_of_all_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strata of 3 and 4 documents: Σ(g - mean)² is 2/3 and 3/4, Σ(r - mean)² 2 and 5, and the variance 2/3 + 5/4.

    T = Σ (g - mean)(r - mean) is -1 and -3/2, and p = erfc(2.5 / sqrt(2 (2/3 + 5/4))).
    """
    monkeypatch.setattr("trueval.evaluation.label_order.SAMPLED", 1)
    grades, strata = np.array([1.0, 0, 0, 1, 0, 0, 0]), np.array([0, 0, 0, 1, 1, 1, 1])
    check = label_order("input", grades, strata, np.arange(7), np.random.default_rng(0))
    assert check.p == pytest.approx(math.erfc(2.5 / math.sqrt(2 * (2 / 3 + 5 / 4))), rel=1e-12)


def test_p_is_uniform_when_nothing_follows() -> None:
    rng = np.random.default_rng(2)
    strata, places = np.repeat(np.arange(10), 8), np.arange(80)
    found = [label_order("input", (rng.random(80) < 0.4) * 1.0, strata, places, rng).p for _ in range(60)]
    assert 0.3 < np.mean(np.array(found) < 0.5) < 0.7


def test_an_order_follows_by_more_than_chance_and_by_enough() -> None:
    for share, p, follows in ((0.56, 0.01, True), (0.44, 0.01, True), (0.54, 0.001, False), (0.9, 0.02, False)):
        assert OrderCheck("input", share, p, 1000, "lists").follows is follows


def test_nothing_to_compare() -> None:
    judgments = Judgments.from_dict({"q": {"a": 1, "b": 1}})
    assert check_orders(Run.from_dict({"q": {"a": 1.0, "b": 1.0}}), judgments) == ()
    assert check_orders(Run.from_dict({"q": {"x": 1.0}}), judgments) == ()
    alike = label_order("input", np.ones(3), np.zeros(3, np.int64), np.arange(3), np.random.default_rng(0))
    assert (alike.pairs, alike.p, alike.follows) == (0, 1.0, False)
    assert math.isnan(alike.share)


def test_a_large_tie_is_counted_in_bits_and_not_in_pairs() -> None:
    grades = np.arange(200_000) % 7.0
    check = label_order("input", grades, np.zeros(200_000, np.int64), np.arange(200_000), np.random.default_rng(0))
    assert check.pairs == 200_000**2 // 2 - 100_000 - sum(n * (n - 1) // 2 for n in np.bincount(grades.astype(int)))
    assert check.share == pytest.approx(0.5, abs=1e-3)
    assert not check.follows


def with_ties(order: str) -> tuple[Run, Judgments]:
    """Lists of two levels of scores, whose ids and places both follow the grades, or say nothing."""
    rng, rows = np.random.default_rng(4), []
    for query in range(60):
        for score in (2.0, 1.0):
            grades = [1, 1, 0, 0, 0] if order == "first" else rng.permutation([1, 1, 0, 0, 0]).tolist()
            rows += [(f"q{query}", f"{score}{place}", score, float(grade)) for place, grade in enumerate(grades)]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "grade"], orient="row")
    return Run.from_frame(frame.drop("grade"), name="run"), Judgments.from_frame(frame.drop("score"))


@pytest.mark.parametrize(
    ("tie_order", "effect"),
    [("input", "first in 100.0% of 720 pairs"), ("docid-asc", "the highest value"), ("docid-desc", "the lowest value")],
)
def test_evaluate_says_that_its_tie_order_follows_the_grades(tie_order: str, effect: str) -> None:
    with pytest.warns(TruevalWarning, match="follows the grades: among documents of equal score"):
        scores = evaluate(*with_ties("first"), "nDCG@5", tie_order=tie_order)
    (note,) = scores.notes
    assert effect in note
    assert f"with tie order {tie_order} it is" in note


def test_nothing_is_said_of_the_value_where_documents_without_a_grade_tie() -> None:
    """Four of them stand before every relevant document, so that the tie-broken value is the lowest."""
    run = Run.from_dict({f"q{query}": dict.fromkeys(map(str, range(10)), 1.0) for query in range(6)})
    judgments = Judgments.from_dict({f"q{query}": {str(i): int(i < 7) for i in range(4, 10)} for query in range(6)})
    with pytest.warns(TruevalWarning, match=r"first in 100.0% of 54 pairs .* where documents without a grade are in"):
        scores = evaluate(run, judgments, "nDCG@4", tie_order="input")
    assert scores.mean("nDCG@4").tie_broken == 0 < scores.mean("nDCG@4").highest
    assert "value" not in scores.notes[0].partition("The tie-broken value")[2]


@pytest.mark.parametrize(("order", "tie_order"), [("random", "input"), ("first", "random"), ("random", "docid-desc")])
def test_evaluate_is_silent_where_its_tie_order_says_nothing(order: str, tie_order: str) -> None:
    assert evaluate(*with_ties(order), "nDCG@5", tie_order=tie_order).notes == ()


def test_ties_are_those_of_the_tie_precision() -> None:
    run, judgments = with_ties("first")
    spread = Run.from_frame(run.frame.with_columns(score=pl.col("score") - pl.int_range(pl.len()) * 1e-6), name="run")
    assert evaluate(spread, judgments, "nDCG@5", tie_order="docid-asc").notes == ()
    with pytest.warns(TruevalWarning, match="follows the grades"):
        evaluate(spread, judgments, "nDCG@5", tie_order="docid-asc", tie_precision="bfloat16")
