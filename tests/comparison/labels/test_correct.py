"""Corrected measures: by hand, at a census where they must be what people's judgments give, and what is refused."""

from __future__ import annotations

import json
import math
import re
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from trueval import Judgments, Run, evaluate
from trueval.comparison.labels.audit_planning import labels_needed
from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.correct import correct
from trueval.comparison.labels.correction import CorrectedResults
from trueval.errors import InputError, PolicyError
from trueval.evaluation.corrected_values import EstimateWithInterval
from trueval.report.formats import to_json

# A run without one of the queries is looked at on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:.*missing from the run")

Grades = dict[str, dict[str, int]]
DOCUMENTS = "abcdefg"


def made(queries: int, seed: int, low: int = 0, high: int = 3) -> Grades:
    rng = np.random.default_rng(seed)
    return {f"q{i}": {d: int(rng.integers(low, high + 1)) for d in DOCUMENTS} for i in range(queries)}


def tied_run(queries: int, seed: int) -> dict[str, dict[str, float]]:
    """Scores of three values, with documents that nobody judged among them."""
    rng = np.random.default_rng(seed)
    return {f"q{i}": {d: float(rng.integers(3)) for d in f"{DOCUMENTS}xy"} for i in range(queries)}


def audit(people: Grades, queries: int, sampled: list[str], scale: tuple[float, float] = (0.0, 3.0)) -> AuditSample:
    rows = [(q, d, "queries", float(g)) for q in sampled for d, g in people[q].items()]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "stratum", "grade"], orient="row")
    return AuditSample("queries", frame.drop("grade"), frame.drop("stratum"), {"queries": queries}, scale)


def passages(people: Grades, rows: list[tuple[str, str]], scale: tuple[float, float] = (0.0, 3.0)) -> AuditSample:
    """Passages of one stratum."""
    of = [(q, d, "all", float(people[q][d])) for q, d in rows]
    frame = pl.DataFrame(of, schema=["query_id", "doc_id", "stratum", "grade"], orient="row")
    count = sum(len(each) for each in people.values())
    return AuditSample("documents", frame.drop("grade"), frame.drop("stratum"), {"all": count}, scale)


MEASURES = ["nDCG@3", "P@3", "RR", "AP", "Rprec"]


@pytest.mark.parametrize(
    "choices", [{}, {"empty": "skip"}, {"empty": "one"}, {"rel": 3}, {"convention": "pytrec_eval"}]
)
@pytest.mark.parametrize("target", ["new queries", "these queries"])
def test_at_a_census_the_corrected_value_is_the_one_by_peoples_judgments(target: str, choices: dict[str, str]) -> None:
    judge, people, run = made(12, 1), made(12, 2), tied_run(12, 3)
    judge["q3"], people["q4"] = dict.fromkeys(DOCUMENTS, 0), dict.fromkeys(DOCUMENTS, 0)  # empty under one of them
    del run["q7"]
    found = correct(run, judge, audit(people, 12, list(people)), MEASURES, target=target, **choices)
    by_people, by_judge = evaluate(run, people, MEASURES, **choices), evaluate(run, judge, MEASURES, **choices)
    for measure in map(str, MEASURES):
        one = found.of("run", measure)
        assert one.corrected.estimate == pytest.approx(by_people[measure].expected, abs=1e-12)
        assert one.people.estimate == pytest.approx(by_people[measure].expected, abs=1e-12)
        assert (one.judge, one.judge_queries) == (
            pytest.approx(by_judge[measure].expected, abs=1e-12),
            by_judge[measure].queries,
        )
        assert one.people_queries == by_people[measure].queries
        assert (one.corrected.se < 1e-9) == (target == "these queries")


def test_evidence_gain_leaves_out_queries_without_gold_under_each_labels() -> None:
    judge, people, run = made(9, 4, 1, 5), made(9, 5, 1, 5), tied_run(9, 6)
    people["q2"], judge["q5"] = dict.fromkeys(DOCUMENTS, 1), dict.fromkeys(DOCUMENTS, 2)
    found = correct(run, judge, audit(people, 9, list(people), (1.0, 5.0)), "RA-nWG@3 N-Recall4+@3")
    for measure in ("RA-nWG@3", "N-Recall4+@3"):
        expected = evaluate(run, people, measure)[measure]
        assert found.of("run", measure).corrected.estimate == pytest.approx(expected.expected, abs=1e-12)
        assert found.of("run", measure).people_queries == expected.queries == 8


def test_of_some_queries_the_numbers_are_those_of_the_formula() -> None:
    judge, people, run = made(10, 7), made(10, 8), tied_run(10, 9)
    sampled = ["q1", "q2", "q6", "q9"]
    new, these = (
        correct(run, judge, audit(people, 10, sampled), "nDCG@5", target=target).of("run", "nDCG@5")
        for target in ("new queries", "these queries")
    )
    j = evaluate(run, judge, "nDCG@5").expected[:, 0]
    h, own = evaluate(run, people, "nDCG@5").expected[[1, 2, 6, 9], 0], j[[1, 2, 6, 9]]
    assert new.people.estimate == pytest.approx(h.mean())
    assert new.untuned.estimate == pytest.approx(j.mean() + (h - own).mean())
    # f = .4, n = 4: t with 3 degrees of freedom is 3.182446
    variance = 0.6 * (h - own).var(ddof=1) / 4
    assert these.untuned.se == pytest.approx(math.sqrt(variance))
    assert new.untuned.se == pytest.approx(math.sqrt(variance + 0.4 * h.var(ddof=1) / 4))
    assert new.people.se == pytest.approx(math.sqrt(h.var(ddof=1) / 4))
    assert these.people.se == pytest.approx(math.sqrt(0.6 * h.var(ddof=1) / 4))
    # Above .5 the end above is that of t, and the end below that of Wilson with m (1 - m) / se^2 observations.
    assert these.untuned.high == pytest.approx(these.untuned.estimate + 3.182446 * math.sqrt(variance), rel=1e-6)
    m, t2 = these.untuned.estimate, 3.182446**2
    count = m * (1 - m) / variance
    below = (m + t2 / (2 * count) - math.sqrt(t2 * variance + (t2 / (2 * count)) ** 2)) / (1 + t2 / count)
    assert these.untuned.low == pytest.approx(below, rel=1e-6)
    assert (new.labels, new.queries, new.people_queries, new.judge_queries) == (28, 4, 4, 10)
    assert 0 <= new.weight <= 1


def test_where_people_agree_with_the_judge_nothing_is_corrected() -> None:
    judge, run = made(10, 7), tied_run(10, 9)
    sampled = audit(judge, 10, ["q1", "q2", "q6", "q9"])
    found = correct(run, judge, sampled, "AP").of("run", "AP")
    assert found.corrected.estimate == pytest.approx(found.judge)
    assert found.weight == pytest.approx(1)
    these = correct(run, judge, sampled, "AP", target="these queries").of("run", "AP")
    assert these.corrected.estimate == pytest.approx(found.judge)
    assert math.isnan(these.corrected.se)  # four queries without an error say nothing of the errors in six


def test_graded_queries_that_are_all_alike_give_no_interval() -> None:
    """Ten queries of 40 in which both runs find something: that says nothing of the 30 others."""
    people = {f"q{at}": dict.fromkeys(DOCUMENTS, int(at < 30)) | {"a": 1} for at in range(40)}
    judge = {query: {document: 1 - at % 2 for at, document in enumerate(DOCUMENTS)} for query in people}
    runs = {
        name: {query: {document: float(document == first) for document in DOCUMENTS} for query in people}
        for name, first in (("good", "a"), ("bad", "b"))
    }
    sampled = audit(people, 40, [f"q{at}" for at in range(10)])
    found = correct(runs, judge, sampled, "Success@1")
    for each in (found.of("bad", "Success@1"), found.difference("good", "bad", "Success@1")):
        assert math.isnan(each.corrected.low)
        assert math.isnan(each.people.high)
        assert "no interval" in " ".join(each.warnings)
        assert each.to_dict()["corrected"] == {
            "estimate": each.corrected.estimate,
            **dict.fromkeys(("low", "high", "se", "degrees")),
        }
        with pytest.raises(PolicyError, match=r"has no interval yet"):
            labels_needed(each, 0.1)
    kind = correct(runs, {query: dict.fromkeys(DOCUMENTS, 1) for query in people}, sampled, "Success@1")
    assert math.isnan(kind.difference("good", "bad", "Success@1").corrected.low)  # no difference by the judge either
    # Runs that no labels tell apart, and queries that are all graded, leave nothing open.
    same = correct({"one": runs["good"], "two": runs["good"]}, judge, sampled, "Success@1")
    assert same.difference("one", "two", "Success@1").corrected == EstimateWithInterval(0, 0, 0, 0, 9)
    turned = {query: {document: at + 1.0 for at, document in enumerate("ab")} for query in people}
    back = {query: {document: 2.0 - at for at, document in enumerate("ab")} for query in people}
    inside = correct({"one": turned, "two": back}, judge, sampled, "Success@2 Success@1")
    assert inside.difference("one", "two", "Success@2").corrected == EstimateWithInterval(0, 0, 0, 0, 9)
    assert math.isnan(inside.difference("one", "two", "Success@1").corrected.low)
    whole = correct(runs, judge, audit(people, 40, list(people)), "Success@1", target="these queries")
    assert whole.of("bad", "Success@1").corrected.se == pytest.approx(0, abs=1e-12)


def test_labels_of_few_queries_are_said_to_be_few_however_many_they_are() -> None:
    judge, people, run = made(30, 7), made(30, 8), tied_run(30, 9)
    warnings = {
        number: correct(run, judge, audit(people, 30, list(people)[:number]), "P@3").of("run", "P@3").warnings
        for number in (7, 19, 20)
    }
    assert [" ".join(each)[:32] for each in warnings.values()] == [
        "only 49 labels of people: below ",
        "only 19 queries graded whole: be",
        "",
    ]


def test_a_ratio_over_all_samples_is_nearly_the_value_by_peoples_judgments() -> None:
    """Queries that are empty by people's labels are left out; which ones, only the sample tells."""
    judge, people, run = made(9, 20, 0, 1), made(9, 21, 0, 1), tied_run(9, 22)
    people["q0"] = people["q5"] = judge["q2"] = dict.fromkeys(DOCUMENTS, 0)
    truth = evaluate(run, people, "P@3", empty="skip")["P@3"].expected
    found = [
        correct(run, judge, audit(people, 9, list(sampled)), "P@3", empty="skip").of("run", "P@3").corrected
        for sampled in combinations(people, 7)
    ]
    estimates = np.array([each.estimate for each in found])
    assert estimates.std() > 0
    assert abs(estimates.mean() - truth) < 0.1 * estimates.std()


def test_a_run_without_a_query_is_measured_on_the_others_where_the_policy_skips_it() -> None:
    judge, people, run = made(8, 1), made(8, 2), tied_run(8, 3)
    del run["q1"], run["q6"]
    sampled = ["q0", "q1", "q2", "q3"]
    found = correct(run, judge, audit(people, 8, sampled), "P@3", missing="skip").of("run", "P@3")
    assert (found.judge_queries, found.people_queries, found.strata[0].population, found.strata[0].audited) == (
        6,
        3,
        6,
        3,
    )
    worst = correct(run, judge, audit(people, 8, sampled), "P@3").of("run", "P@3")
    assert (worst.judge_queries, worst.people_queries) == (8, 4)
    assert worst.people.estimate == pytest.approx(0.75 * found.people.estimate)
    with pytest.raises(InputError, match=r"run lacks 2 of 8 judged queries, the first 'q1'"):
        correct(run, judge, audit(people, 8, sampled), "P@3", missing="error")


@pytest.mark.parametrize("choices", [{}, {"empty": "one"}, {"empty": "skip"}])
def test_queries_that_nobody_graded_cannot_be_drawn_and_keep_their_value(choices: dict[str, str]) -> None:
    judge, people, run = made(7, 1), made(7, 2), tied_run(7, 3)
    for labels in (judge, people):
        labels["q1"] = labels["q4"] = dict.fromkeys(DOCUMENTS, -1)
    asked = [query for query in people if query not in ("q1", "q4")]
    truth = evaluate(run, people, "nDCG@3", **choices)
    found = correct(run, judge, audit(people, 5, asked), "nDCG@3", **choices).of("run", "nDCG@3")
    values = truth.expected[:, 0][~np.isnan(truth.expected[:, 0])]
    assert found.people.estimate == pytest.approx(values.mean())
    assert found.corrected.estimate == pytest.approx(values.mean())
    assert found.corrected.se == pytest.approx(values.std(ddof=1) / math.sqrt(len(values)))
    samples = [
        correct(run, judge, audit(people, 5, list(each)), "nDCG@3", **choices).of("run", "nDCG@3")
        for each in combinations(asked, 3)
    ]
    assert np.mean([each.people.estimate for each in samples]) == pytest.approx(values.mean())
    assert np.mean([each.corrected.estimate for each in samples]) == pytest.approx(values.mean())


def test_single_passages_leave_out_queries_that_nobody_graded_where_they_have_no_value() -> None:
    judge, people, run = made(6, 1, 1, 5), made(6, 2, 1, 5), tied_run(6, 3)
    judge["q1"] = people["q1"] = dict.fromkeys(DOCUMENTS, -1)
    rows = [(query, document) for query in people if query != "q1" for document in DOCUMENTS]
    graded = {query: grades for query, grades in people.items() if query != "q1"}
    found = correct(run, judge, passages(graded, rows, (1.0, 5.0)), "P4+@3").of("run", "P4+@3")
    assert found.refused is None
    assert found.corrected.estimate == pytest.approx(evaluate(run, people, "P4+@3")["P4+@3"].expected)


@pytest.mark.parametrize("measure", ["P@3", "Hits@4", "DCG@5", "DCG(gain='exp')@5", "RBP", "P", "P(short='listed')@12"])
def test_single_passages_at_a_census_give_the_value_by_peoples_judgments(measure: str) -> None:
    judge, people, run = made(12, 1), made(12, 2), tied_run(12, 3)
    judge["q3"], people["q4"] = dict.fromkeys(DOCUMENTS, 0), dict.fromkeys(DOCUMENTS, 0)
    del run["q7"]
    every = [(q, d) for q in people for d in DOCUMENTS]
    for choices in ({}, {"missing": "skip"}, {"depth": 4}, {"judged_only": True}):
        found = correct(run, judge, passages(people, every), measure, target="these queries", **choices)
        one, expected = found.of("run", measure), evaluate(run, people, measure, **choices)[measure]
        assert one.refused is None
        assert one.corrected.estimate == pytest.approx(expected.expected, abs=1e-12)
        assert one.judge == pytest.approx(evaluate(run, judge, measure, **choices)[measure].expected, abs=1e-12)
        assert one.corrected.se == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("measure", ["P4+@3", "Harm@3"])
def test_shares_of_the_rubric_are_sums_over_passages_too(measure: str) -> None:
    judge, people, run = made(9, 4, 1, 5), made(9, 5, 1, 5), tied_run(9, 6)
    del run["q7"]  # worth 0 to P4+ and 1, the worst, to Harm
    every = [(q, d) for q in people for d in DOCUMENTS]
    found = correct(run, judge, passages(people, every, (1.0, 5.0)), measure).of("run", measure)
    assert found.corrected.estimate == pytest.approx(evaluate(run, people, measure)[measure].expected, abs=1e-12)


@pytest.mark.parametrize(
    ("measure", "says"),
    [
        ("nDCG@3", r"nDCG@3: its norm depends on people's grades of all.*design queries\), or correct DCG, a sum"),
        ("R@3", r"R@3: its norm depends on people's grades of all.*design queries\), or correct Hits, a sum"),
        ("RR", r"RR: single passages do not tell it.*design queries"),
        ("Harm(unjudged='upper')@3", "design queries"),
        ("gm(AP)", "geometric mean over queries; correct AP"),
        ("alpha_nDCG@3", "grades of facets"),
    ],
)
def test_what_single_passages_do_not_tell_is_refused_and_the_design_named(measure: str, says: str) -> None:
    judge, people = made(6, 1, 1, 5), made(6, 2, 1, 5)
    every = [(q, d) for q in people for d in DOCUMENTS]
    found = correct(tied_run(6, 3), judge, passages(people, every, (1.0, 5.0)), measure).corrections[0]
    assert found.refused is not None
    assert re.search(says, found.refused)
    assert found.to_dict() == {
        "measure": measure,
        "design": "documents",
        "target": "new queries",
        "level": 0.95,
        "refused": found.refused,
    }


def test_policies_that_ask_which_queries_are_empty_need_whole_queries() -> None:
    judge, people = made(6, 1), made(6, 2)
    every = [(q, d) for q in people for d in DOCUMENTS]
    found = correct(tied_run(6, 3), judge, passages(people, every), "P@3", empty="skip").corrections[0]
    assert found.refused == (
        "P@3: empty='skip' asks which queries have a relevant passage, and single passages do not tell that. Choose "
        "empty='zero', or draw whole queries (design queries)."
    )


@pytest.mark.parametrize("design", ["queries", "documents"])
def test_differences_use_the_same_items_and_turn_around_with_their_runs(design: str) -> None:
    judge, people = made(9, 1), made(9, 2)
    runs = {"a": tied_run(9, 3), "b": tied_run(9, 4), "c": tied_run(9, 5)}
    sampled = (
        audit(people, 9, ["q0", "q2", "q4", "q6", "q8"])
        if design == "queries"
        else passages(people, [(q, d) for q in people for d in DOCUMENTS[:5]])
    )
    given = {name: Run.of(run) for name, run in runs.items()}
    found = correct(given, judge, sampled, "P@3 DCG@3", baseline="b")
    assert [(each.run, each.second, each.measure) for each in found.differences] == [
        ("a", "b", "P@3"), ("a", "b", "DCG@3"), ("c", "b", "P@3"), ("c", "b", "DCG@3"),
    ]  # fmt: skip
    around = correct(given, judge, sampled, "P@3", baseline="a").difference("b", "a", "P@3")
    one = found.difference("a", "b", "P@3")
    assert one.corrected.estimate == pytest.approx(-around.corrected.estimate)
    assert one.corrected.low == pytest.approx(-around.corrected.high)
    assert one.judge == pytest.approx(found.of("a", "P@3").judge - found.of("b", "P@3").judge)
    assert one.people.estimate == pytest.approx(
        found.of("a", "P@3").people.estimate - found.of("b", "P@3").people.estimate
    )
    assert len(correct(runs, judge, sampled, "P@3").differences) == 3  # plain dicts by name, too


def test_queries_that_are_not_answered_whole_are_left_out_and_skipped_passages_said() -> None:
    judge, people, run = made(8, 1), made(8, 2), tied_run(8, 3)
    whole = audit(people, 8, ["q0", "q1", "q2", "q3"])
    labels = whole.labels.filter(
        ~((pl.col("query_id") == "q3") & (pl.col("doc_id") == "g"))
        & ~((pl.col("query_id") == "q2") & (pl.col("doc_id") == "a"))
    )
    some = AuditSample("queries", whole.items, labels, {"queries": 8}, (0.0, 3.0), frozenset({("q2", "a")}))
    found = correct(run, judge, some, "P@3").of("run", "P@3")
    assert (found.queries, found.labels, found.skipped) == (3, 20, 1)
    assert [warning.split(":")[0] for warning in found.warnings] == [
        "only 20 labels of people",
        "1 of 4 queries of the sample are not answered whole and are left out.",
        "1 passage that people skipped keep the judge's grade",
    ]


def test_labels_that_are_not_of_these_judgments_are_refused() -> None:
    judge, people, run = made(6, 1), made(6, 2), tied_run(6, 3)
    sampled = audit(people, 6, ["q0", "q1", "q2"])
    less = {q: dict(of) for q, of in judge.items()}
    del less["q1"]["c"]
    with pytest.raises(InputError, match=r"document 'c' of query 'q1' is in the audit and not judged here"):
        correct(run, less, sampled, "P@3")
    with pytest.raises(InputError, match=r"5 queries, and the sample was drawn from 6\. Give the judgments"):
        correct(run, {q: judge[q] for q in list(judge)[:5]}, sampled, "P@3")
    broken = {**judge, "q5": {**judge["q5"], "a": 10}}
    with pytest.raises(InputError, match=r"document 'a' of query 'q5' the grade 10, and people grade from 0 to 3"):
        correct(run, broken, sampled, "P@3")
    more = {**judge, "q0": {**judge["q0"], "new": 1}}  # judged after the sample was drawn: q0 is not whole any more
    assert correct(run, more, sampled, "P@3").of("run", "P@3").queries == 2
    nobody = AuditSample("queries", sampled.items, sampled.labels.clear(), {"queries": 6}, (0.0, 3.0))
    with pytest.raises(InputError, match=r"nobody has graded any of its 21 passages"):
        correct(run, judge, nobody, "P@3")


def test_choices_that_are_unknown_are_refused() -> None:
    judge, run = made(6, 1), tied_run(6, 3)
    sampled = audit(judge, 6, ["q0", "q1", "q2"])
    with pytest.raises(PolicyError, match="target must be one of 'new queries', 'these queries'"):
        correct(run, judge, sampled, "P@3", target="old queries")
    with pytest.raises(PolicyError, match=r"level must be between 0\.5 and 1"):
        correct(run, judge, sampled, "P@3", level=95)
    with pytest.raises(InputError, match="The baseline must be one of the runs run"):
        correct(run, judge, sampled, "P@3", baseline="other")
    with pytest.raises(InputError, match="Runs must have different names"):
        correct([Run.of(run, name="x"), Run.of(run, name="x")], judge, sampled, "P@3")
    with pytest.raises(InputError, match="was not corrected"):
        correct(run, judge, sampled, "P@3").of("run", "P@4")


def test_the_json_has_the_entries_of_the_design_page_and_no_nan() -> None:
    judge, people, run = made(6, 1), made(6, 2), tied_run(6, 3)
    found: CorrectedResults = correct(run, Judgments.of(judge), audit(people, 6, ["q0", "q1", "q2"]), "P@3 gm(AP)")
    told = json.loads(to_json(found.to_dict()))
    assert (told["kind"], told["format"], told["design"]) == ("corrected", 1, "queries")
    entry = told["runs"][0]["corrected"][0]
    assert {"measure", "design", "target", "level", "judge", "people", "corrected", "weight", "correlation"} <= set(
        entry
    )
    assert {"labels", "queries", "skipped", "warnings"} <= set(entry)
    assert set(entry["people"]) == {"estimate", "low", "high", "se", "degrees", "queries"}
    assert set(told["runs"][0]["corrected"][1]) == {"measure", "design", "target", "level", "refused"}
    assert [each["stratum"] for each in entry["strata"]] == ["queries"]
    assert sum(each["share"] for each in entry["open_queries"]) == pytest.approx(1)


def test_a_query_in_which_judge_and_people_differ_most_is_named_first() -> None:
    judge = made(8, 1)
    people = {q: dict(of) for q, of in judge.items()}
    people["q2"] = {d: 3 - g for d, g in judge["q2"].items()}
    found = correct(tied_run(8, 3), judge, audit(people, 8, ["q0", "q1", "q2", "q3", "q4"]), "DCG").of("run", "DCG")
    assert found.open[0].query == "q2"


@pytest.mark.parametrize(
    "above", [[0, 0, 0, 0, 0, 0, 0, 0], [1, 2, 1, 2, 1, 2, 1, 2], [2, 2, 2, 2, 2, 2, 2, 1], [0, 1, 2, 3] * 2]
)
def test_a_difference_that_the_judge_sees_alike_in_all_audited_queries_has_no_weight(above: list[int]) -> None:
    """Twenty queries, P@5: in the eight audited ones one run has one relevant passage more, .2, by the judge.

    .2 is stored as .2, .19999999999999996 or .20000000000000007, by how many the other run has.
    """
    rng = np.random.default_rng(0)
    judge, people = {}, {}
    for i in range(20):
        few = above[i] if i < 8 else int(rng.integers(5))
        many = few + 1 if i < 8 else int(rng.integers(5))
        judge[f"q{i}"] = {f"{run}{at}": int(at < count) for run, count in (("a", many), ("b", few)) for at in range(5)}
        people[f"q{i}"] = {d: int(rng.random() < 0.5) for d in judge[f"q{i}"]}
    runs = {run: {q: {f"{run}{at}": 9.0 - at for at in range(5)} for q in judge} for run in "ab"}
    audited = audit(people, 20, [f"q{i}" for i in range(8)], (0.0, 1.0))
    (found,) = correct(runs, judge, audited, "P@5").differences
    truth = np.mean([sum(g if d[0] == "a" else -g for d, g in people[f"q{i}"].items()) / 5 for i in range(8)])
    assert found.weight == 0.0
    assert math.isnan(found.correlation)
    assert found.corrected.estimate == pytest.approx(float(truth), abs=1e-12)
    assert found.corrected == found.people
