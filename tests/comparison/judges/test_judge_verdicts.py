"""Verdicts over judges: the worst case holds for real measures, ties included, and each judge is looked at."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from tests.comparison.judges.judge_worlds import judgments, world
from tests.comparison.made_scores import made_scores

import trueval as tv
from trueval.comparison.judges.error_bounds import bound_errors
from trueval.comparison.judges.judge_verdicts import _audit_counts, bounded_verdicts, judge_verdicts
from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.both_labels import LabelSets
from trueval.errors import InputError, PolicyError
from trueval.measures import parse_list
from trueval.policy.policy import OURS

MEASURES = parse_list("P(rel=2)@5 DCG@5 RBP(rel=2) Hits(rel=2)@5")
RATIOS = parse_list("nDCG@5 R(rel=2)@5 nDCG(gain='exp') R")


def difference(measure, runs, labels) -> float:
    first, second = (tv.evaluate(run, labels, [measure]).expected[:, 0] for run in runs)
    return float((first - second).mean())


@pytest.mark.parametrize("design", ["queries", "documents"])
def test_the_ends_hold_the_difference_by_people_where_their_labels_are_inside(design) -> None:
    inside = 0
    for seed in range(6):
        found = world(np.random.default_rng(seed), design, queries=20, documents=8, size=12)
        counts = _audit_counts(LabelSets(found.judge, found.audit, OURS))
        own = found.judge.frame["grade"].to_numpy().astype(int)
        bounds = bound_errors(counts, own, 0.95)
        true = np.zeros(bounds.least.shape, dtype=int)
        np.add.at(true, (own, found.people.frame["grade"].to_numpy().astype(int)), 1)
        holds = bool(((bounds.least <= true) & (true <= bounds.most)).all())
        inside += holds
        verdicts, refused = bounded_verdicts(found.runs, found.judge, found.audit, [*MEASURES, *RATIOS], OURS)
        assert not refused
        for verdict, measure in zip(verdicts, [*MEASURES, *RATIOS], strict=True):
            assert verdict.difference == pytest.approx(difference(measure, found.runs, found.judge), abs=1e-12)
            if holds:
                assert verdict.low - 1e-12 <= difference(measure, found.runs, found.people) <= verdict.high + 1e-12
            ahead = 1 if verdict.difference >= 0 else -1
            assert ahead * verdict.with_ties <= min(ahead * verdict.low, ahead * verdict.high) + 1e-12
    assert inside >= 4


def test_an_audit_of_everything_leaves_one_difference() -> None:
    found = world(np.random.default_rng(3), queries=10, documents=6, size=10)
    measures = [*MEASURES[:2], *RATIOS[:2]]
    verdicts, _ = bounded_verdicts(found.runs, found.judge, found.audit, measures, OURS)
    for verdict, measure in zip(verdicts, measures, strict=True):
        by_people = difference(measure, found.runs, found.people)
        assert verdict.low == pytest.approx(by_people, abs=1e-12)
        assert verdict.high == pytest.approx(by_people, abs=1e-12)


def test_a_judge_that_never_errs_is_robust_with_ties_and_the_fewest_labels_turn_it() -> None:
    """One wrong label of each query is needed: the first run has the relevant passage first, the other last."""
    grades = np.tile([1, 0, 0, 0], (8, 1))
    judge = judgments(grades)
    first = tv.Run.of({f"q{q}": {"d0": 4.0, "d1": 3.0, "d2": 2.0, "d3": 1.0} for q in range(8)}, name="first")
    last = tv.Run.of({f"q{q}": {"d1": 4.0, "d2": 3.0, "d3": 2.0, "d0": 1.0} for q in range(8)}, name="last")
    audit = world(np.random.default_rng(0), queries=8, documents=4, size=8).audit
    labels = audit.labels.with_columns(grade=(audit.labels["doc_id"] == "d0").cast(float))
    audit = dataclasses.replace(audit, labels=labels, scale=(0.0, 1.0))
    (verdict,), _ = bounded_verdicts([first, last], judge, audit, parse_list("P@1"), OURS)
    assert (verdict.verdict, verdict.difference, verdict.low, verdict.high) == ("robust", 1.0, 1.0, 1.0)
    # A label of d0 and one of d1 change the difference by 1/8 each: 8 of the 32 turn it.
    assert (verdict.turning, verdict.labels, verdict.error) == (8, 32, 0.25)
    (other,), _ = bounded_verdicts([last, first], judge, audit, parse_list("P@1"), OURS)
    assert (other.verdict, other.difference, other.low) == ("robust", -1.0, -1.0)


def test_a_judge_that_favors_a_system_is_bounded_by_system() -> None:
    """Errors on the passages of the first run alone: by system the second run's labels are trusted."""
    found = world(np.random.default_rng(5), queries=60, documents=10, size=50, errors=0.02, favor=0.5)
    measure = parse_list("P(rel=2)@5")
    (by_grade,), _ = bounded_verdicts(found.runs, found.judge, found.audit, measure, OURS)
    (by_system,), _ = bounded_verdicts(found.runs, found.judge, found.audit, measure, OURS, error="by-system")
    by_people = difference(measure[0], found.runs, found.people)
    for verdict in (by_grade, by_system):
        assert verdict.low <= by_people <= verdict.high
    assert by_system.low != by_grade.low


def test_measures_that_are_no_sum_over_passages_are_refused_with_what_to_take() -> None:
    found = world(np.random.default_rng(1), queries=10, documents=6, size=8)
    measures = parse_list("F1(rel=2)@5 RR@5 nDCG(base='list')@5")
    verdicts, refused = bounded_verdicts(found.runs, found.judge, found.audit, measures, OURS)
    assert not verdicts
    assert refused == [
        "F1(rel=2)@5: its norm depends on the labels too, so that it is no sum over them; take P.",
        "RR@5: it is no sum over passages; take one of P, Hits, DCG, RBP, P4+, Harm, nDCG, R.",
        "nDCG(base='list')@5: base='list' makes its norm one of the list, which other labels change in other ways.",
    ]
    with pytest.raises(PolicyError, match="--judge-error must be one of bounded, by-system"):
        bounded_verdicts(found.runs, found.judge, found.audit, MEASURES, OURS, error="none")


def test_each_judge_and_the_jackknife() -> None:
    values = {"A": ([0.5, 0.7], [0.4, 0.4]), "B": ([0.2, 0.3], [0.4, 0.5]), "C": ([0.5, 0.4], [0.5, 0.38])}
    scores = [[made_scores("x", first), made_scores("y", second)] for first, second in values.values()]
    (found,) = judge_verdicts(scores, list(values))
    assert found.differences == pytest.approx((0.2, -0.2, 0.01))
    assert found.mean == pytest.approx(0.01 / 3)
    assert found.without == pytest.approx((-0.095, 0.105, 0.0), abs=1e-12)
    assert (found.turned_by, found.deciding) == (("B",), "A")
    assert found.verdict == "turned by judge B"
    (same,) = judge_verdicts([scores[0], scores[0]], ["A", "A2"])
    assert (same.verdict, same.deciding) == ("robust", None)
    (equal,) = judge_verdicts([[scores[0][0], made_scores("y", [0.5, 0.7])]] * 2, ["A", "B"])
    assert equal.verdict == "no difference"
    with pytest.raises(InputError, match="need at least 2"):
        list(judge_verdicts(scores[:1], ["A"]))


def test_a_judge_without_the_queries_is_named() -> None:
    scores = [[made_scores("x", [0.1, 0.2]), made_scores("y", [0.2, 0.2])] for _ in range(2)]
    scores[1] = [made_scores(each.name, [np.nan, np.nan]) for each in scores[1]]
    with pytest.raises(InputError, match="no query has a value for x and y by the labels of B"):
        list(judge_verdicts(scores, ["A", "B"]))


def test_a_judge_that_sees_no_difference_leaves_no_robust_lead() -> None:
    """By A the first run leads, by B the runs are equal: neither judge turns the other, and the lead is not of both."""
    ahead = [made_scores("x", [0.5, 0.7]), made_scores("y", [0.4, 0.4])]
    level = [made_scores("x", [0.5, 0.7]), made_scores("y", [0.7, 0.5])]
    for scores in ([ahead, level], [level, ahead]):
        (found,) = judge_verdicts(scores, ["A", "B"])
        assert (found.verdict, found.turned_by) == ("depends on the judge", ())


def test_bounds_by_system_hold_together_for_all_pairs_and_measures() -> None:
    """Each pair and measure has bounds of its own: level 0.95 for four of them is 0.9875 for each."""
    found = world(np.random.default_rng(5), queries=60, documents=10, size=30, errors=0.1)
    together, _ = bounded_verdicts(found.runs, found.judge, found.audit, MEASURES, OURS, error="by-system")
    for verdict, measure in zip(together, MEASURES, strict=True):
        alone = [
            bounded_verdicts(found.runs, found.judge, found.audit, [measure], OURS, error="by-system", level=level)[0]
            for level in (0.9875, 0.95)
        ]
        assert (verdict.low, verdict.high) == (alone[0][0].low, alone[0][0].high)
        assert verdict.high - verdict.low > alone[1][0].high - alone[1][0].low


def test_a_comparison_in_python_takes_other_judges_and_an_audit() -> None:
    found = world(np.random.default_rng(3), queries=40, documents=10, size=30, errors=0.1)
    first, second = found.runs
    options = {"measures": "DCG@10", "resamples": 100, "audit": found.audit, "judge_error": "bounded"}
    compared = tv.compare([first, second], found.judge, judges={"people": found.people}, **options)
    assert compared.judges is not None
    (by_judge,) = compared.judges.by_judge
    assert compared.judges.judges == ("judgments", "people")
    for labels, difference in zip((found.judge, found.people), by_judge.differences, strict=True):
        assert difference == pytest.approx(tv.compare([first, second], labels, "DCG@10").differences[0].expected)
    (bounded,) = bounded_verdicts(found.runs, found.judge, found.audit, parse_list("DCG@10"), OURS)[0]
    assert compared.judges.bounded == (bounded,)
    assert "judges" in compared.to_dict()
    assert tv.compare([first, second], found.judge, "DCG@10", resamples=100).judges is None
    with pytest.raises(InputError, match="need an audit"):
        tv.compare([first, second], found.judge, "DCG@10", judge_error="bounded")
    with pytest.raises(InputError, match="'judgments' is that of the judgments themselves"):
        tv.compare([first, second], found.judge, "DCG@10", judges={"judgments": found.people})


def test_a_lead_in_ndcg_is_robust_where_few_labels_can_be_wrong_and_ends_where_many_can() -> None:
    """The first run lists by people's grades, the last against them; every query has been audited, or few have."""
    found = world(np.random.default_rng(2), queries=30, documents=8, size=29, errors=0.01)
    grades = found.people.frame["grade"].to_numpy().reshape(30, 8)
    runs = [
        tv.Run.of(
            {f"q{q}": {f"d{d}": float(sign * row[d]) for d in range(8)} for q, row in enumerate(grades)}, name=name
        )
        for name, sign in (("good", 1), ("bad", -1))
    ]
    measures = parse_list("nDCG@5 R(rel=2)@3")
    for verdict in bounded_verdicts(runs, found.judge, found.audit, measures, OURS)[0]:
        assert (verdict.verdict, verdict.turning) == ("robust", None)
        assert 0 < verdict.low < verdict.difference
    few = world(np.random.default_rng(2), queries=30, documents=8, size=4, errors=0.01).audit
    for verdict in bounded_verdicts(runs, found.judge, few, measures, OURS)[0]:
        assert verdict.verdict == "depends on the judge"
        assert verdict.low < 0


@pytest.mark.filterwarnings("ignore:.*finds nothing relevant")
def test_measures_of_a_threshold_that_no_grade_reaches_have_no_difference() -> None:
    found = world(np.random.default_rng(3), "documents", queries=10, documents=6, size=20)
    for error in ("bounded", "by-system"):
        verdicts, _ = bounded_verdicts(
            found.runs, found.judge, found.audit, parse_list("R(rel=9)@5 P(rel=9)@5"), OURS, error=error
        )
        for verdict in verdicts:
            assert (verdict.verdict, verdict.low, verdict.high, verdict.turning) == ("no difference", 0, 0, None)
            assert "-" not in f"{verdict.low}{verdict.high}"


def lists(*scores: tuple[float, ...]) -> dict[str, dict[str, float]]:
    return {f"q{query}": {f"d{at}": score for at, score in enumerate(row)} for query, row in enumerate(scores)}


@pytest.mark.parametrize(
    ("grades", "choices"),
    [
        ((-1, 1, 0, 1), {"judged_only": True}),  # nobody judged d0, so that d1 is first where it is left out
        ((1.5, 1, 0, 0.5), {"float_grades": "truncate"}),
        ((1.5, 1, 0, 0.5), {"convention": "ranx"}),
    ],
)
def test_bounds_are_of_the_values_that_are_compared(grades, choices) -> None:
    """By hand, of the last two cases: grades 1, 1, 0, 0, so that DCG@2 is 1 + 1/log2(3) and 0."""
    judge = tv.Judgments.from_dict({"q0": {f"d{at}": grade for at, grade in enumerate(grades)}, "q1": {"d0": 1}})
    runs = [tv.Run.of(lists(row, (1.0,)), name=name) for name, row in (("a", (4.0, 3, 2, 1)), ("b", (1.0, 2, 3, 4)))]
    items = pl.DataFrame({"query_id": ["q1"], "doc_id": ["d0"], "stratum": ["queries"]})
    labels = items.select("query_id", "doc_id", grade=pl.lit(1.0))
    audit = AuditSample("queries", items, labels, {"queries": 2}, (0.0, 2.0))
    options = {"audit": audit, "judge_error": "bounded", "resamples": 100, **choices}
    found = tv.compare(runs, judge, "DCG@2 P@1 RBP nDCG@2 R@2", **options)
    assert found.judges is not None
    for bounded, difference in zip(found.judges.bounded, found.differences, strict=True):
        assert bounded.measure == difference.measure
        assert bounded.difference == pytest.approx(difference.expected, abs=1e-12)
        assert bounded.low <= difference.expected <= bounded.high
    if "judged_only" not in choices:
        assert found.judges.bounded[0].difference == pytest.approx((1 + 1 / np.log2(3)) / 2)


def test_a_pair_without_a_query_that_counts_for_both_has_no_bounds() -> None:
    judge = tv.Judgments.from_dict({"q0": {"d0": 1}, "q1": {"d0": 1}})
    runs = [tv.Run.of({name: {"d0": 1.0}}, name=name) for name in ("q0", "q1")]
    items = pl.DataFrame({"query_id": ["q1"], "doc_id": ["d0"], "stratum": ["queries"]})
    labels = items.select("query_id", "doc_id", grade=pl.lit(1.0))
    audit = AuditSample("queries", items, labels, {"queries": 2}, (0.0, 1.0))
    found, refused = bounded_verdicts(runs, judge, audit, parse_list("nDCG@3 P@3"), OURS.but(missing="skip"))
    assert (found, refused) == (
        [],
        [f"{measure}: no query counts for both q0 and q1." for measure in ("nDCG@3", "P@3")],
    )
