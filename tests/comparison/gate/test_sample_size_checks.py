"""Gates that rest on too little: few queries, none with anything to find, a run that is its own baseline."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.comparison.made_scores import made_scores

import trueval as tv
from trueval.comparison.gate.gate import Limit, MaxDrop, MaxRange, Minimum, MinQueries, parse_limit
from trueval.comparison.gate.sample_size_checks import check_sample_size
from trueval.comparison.limits import EVERY, FEWEST
from trueval.errors import InputError, PolicyError
from trueval.evaluation.content_hashes import ContentHashes
from trueval.evaluation.scores import Scores

pytestmark = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")

RANGE = MaxRange(None, 0.5)


def evaluated(queries: int, measures: str = "RR P@1", grade: float = 1, judged: int = 10, **choices: object) -> Scores:
    """A run of so many of the judged queries, which lists the graded document first."""
    run = tv.Run.from_dict({f"q{query}": {"a": 2.0, "b": 1.0} for query in range(queries)}, name="run")
    judgments = tv.Judgments.from_dict({f"q{query}": {"a": grade, "b": 0} for query in range(judged)})
    return tv.evaluate(run, judgments, measures, **choices)


def failed(scores: Scores, *limits: Limit, **choices: object) -> list[tuple[str, str | None, float | None]]:
    """Name, measure and value of what failed."""
    found = tv.gate(scores, limits, **choices)
    return [(check.name, check.measure, check.value) for check in found if not check.passed]


def test_a_run_must_have_every_judged_query_unless_somebody_says_what_the_others_count_as() -> None:
    """Of queries that it lacks a run has the worst value, which no order of ties changes: any --max-range passes."""
    assert failed(evaluated(9), RANGE) == [("queries", None, 9)]
    assert failed(evaluated(9), RANGE, missing="worst") == []
    assert failed(evaluated(9, missing="skip"), RANGE) == []
    assert failed(evaluated(10), RANGE) == []
    (check, _, _) = tv.gate(evaluated(9), [RANGE])
    assert (check.limit, check.option, check.verdict) == (10, "--min-queries all", "failed")
    assert check.line.startswith(
        "run: 9 of 10 judged queries are in the run, and --min-queries all asks for 10. --missi"
    )


@pytest.mark.parametrize(
    ("least", "queries", "fails"),
    [
        ("all", 9, True),
        ("all", 10, False),
        ("90%", 9, False),
        ("91%", 9, True),
        ("9", 9, False),
        ("10", 9, True),
        ("1", 1, False),
        ("10%", 1, True),  # a share never makes one query enough
    ],
)
@pytest.mark.parametrize("missing", ["worst", "skip"])
def test_how_many_queries_a_run_must_have_can_be_said(least: str, queries: int, fails: bool, missing: str) -> None:
    found = tv.gate(evaluated(queries, missing=missing), [parse_limit("min-queries", least)], missing=missing)
    assert [(check.name, check.passed) for check in found] == [("queries", not fails)]


def test_more_queries_than_are_judged_cannot_be_had() -> None:
    (check,) = tv.gate(evaluated(10), [MinQueries(11)])
    assert not check.passed
    assert check.line.endswith("--min-queries 11 asks for 11. Judge more queries, or ask for fewer.")


def test_fewer_queries_than_can_separate_anything_are_accepted_by_number_only() -> None:
    """Judgments cut to one query make any run complete."""
    assert failed(evaluated(1, judged=1), RANGE) == [("queries", None, 1)]
    assert failed(evaluated(FEWEST - 1, judged=FEWEST - 1), RANGE) == [("queries", None, FEWEST - 1)]
    assert failed(evaluated(FEWEST, judged=FEWEST), RANGE) == []
    assert failed(evaluated(1, judged=1), RANGE, EVERY) == [("queries", None, 1)]
    assert failed(evaluated(1, judged=1), RANGE, MinQueries(1)) == []
    assert 2 / 2**FEWEST < 0.05 < 2 / 2 ** (FEWEST - 1)  # the least p of a randomization test
    (check, *_) = tv.gate(evaluated(1, judged=1), [RANGE])
    assert "RR, P@1 come from 1 of 1 judged query with a list and something to find." in check.line
    assert check.line.endswith("--min-queries 1 accepts so few.")


@pytest.mark.parametrize("empty", ["zero", "one", "skip"])
def test_nothing_to_find_fails_whatever_it_counts_as(empty: str) -> None:
    """With grades of 0 throughout, and empty="one", every run is perfect."""
    found = tv.gate(evaluated(10, "RR Judged@2", grade=0, empty=empty), [RANGE, Minimum("Judged@2", 1)])
    assert [check.name for check in found if check.measure != "Judged@2"] == ["relevant", "max-range"]
    assert all(check.passed for check in found if check.measure == "Judged@2")
    assert "run: RR: no query has anything to find, so nothing was measured." in found[0].line
    everything = failed(evaluated(10, grade=0, empty=empty), EVERY)
    assert everything == [("relevant", None, 0)]


def test_a_threshold_that_no_grade_reaches_finds_nothing() -> None:
    assert failed(evaluated(10, "RR(rel=2) nDCG@2"), RANGE) == [("relevant", "RR(rel=2)", 0)]
    assert failed(evaluated(10, "RR(rel=2) nDCG@2"), MaxRange("nDCG@2", 0)) == []


def test_queries_with_nothing_to_find_do_not_count() -> None:
    """29 of 30 queries without a relevant document are one query, whatever the mean is divided by."""
    run = tv.Run.from_dict({f"q{query}": {"a": 1.0} for query in range(30)})
    judgments = tv.Judgments.from_dict({f"q{query}": {"a": int(query < 5)} for query in range(30)})
    scores = tv.evaluate(run, judgments, "RR")
    assert scores.measurable == (5,)
    assert failed(scores, RANGE) == [("queries", None, 5)]
    assert failed(scores, RANGE, MinQueries(5)) == []
    assert failed(scores, RANGE, MinQueries(6)) == [("queries", None, 5)]


def test_scores_that_were_read_back_count_their_values() -> None:
    values = np.where(np.arange(10) < 7, 0.5, np.nan)
    made = made_scores("run", values, missing=("q0", "q1"))
    (check,) = check_sample_size(made, [RANGE], None, chosen=True)
    assert (check.name, check.value) == ("queries", 5)
    assert not list(check_sample_size(made_scores("run", values), [RANGE], None, chosen=True))


def test_runs_compared_on_too_few_queries_fail() -> None:
    """Each has seven of ten, and they share four."""
    one, other = (replace(made_scores(name, np.where(at, 0.5, np.nan)), measurable=(7,)) for name, at in HALVES)
    (few, _) = tv.gate(one, [MaxDrop(None, 0.5)], baseline=other, missing="skip")
    assert (few.name, few.value, few.limit, few.baseline, few.passed) == ("queries", 4, 6, "other", False)
    assert "one: only 4 queries can be compared with other. Fewer than 6 cannot separate two systems" in few.line
    (fine, kept) = tv.gate(one, [MaxDrop(None, 0.5), MinQueries(4)], baseline=other, missing="skip")
    assert (fine.passed, kept.passed) == (True, True)


HALVES = (("one", np.arange(10) < 7), ("other", np.arange(10) >= 3))


def test_few_clusters_are_few_observations() -> None:
    noise = np.random.default_rng(1).normal(0, 0.1, 40)
    run, base = made_scores("run", 0.5 + noise), made_scores("base", np.full(40, 0.5))
    two, ten = ({f"q{query}": f"{query % count}" for query in range(40)} for count in (2, 10))
    (few, drop) = tv.gate(run, [MaxDrop(None, 0.5)], baseline=base, clusters=two)
    assert (few.name, few.value, few.clusters, drop.passed) == ("queries", 2, 2, True)
    assert "run: only 2 clusters can be compared with base." in few.line
    assert len(tv.gate(run, [MaxDrop(None, 0.5)], baseline=base, clusters=ten)) == 1
    asked = tv.gate(run, [MaxDrop(None, 0.5), MinQueries(40)], baseline=base, clusters=two)
    assert all(check.passed for check in asked)


def test_a_run_that_is_its_own_baseline_fails() -> None:
    """It is not worse than itself, whatever it is."""
    scores = evaluated(10)
    for baseline in (scores, "run"):
        assert failed(scores, MaxDrop(None, 0), baseline=baseline, when_same="pass") == [("distinct", None, None)]
    same = [replace(scores, name=name, content=ContentHashes({"run": "the rows"})) for name in ("new", "old")]
    assert failed(same[0], MaxDrop(None, 0), baseline=same[1]) == [("distinct", None, None)]
    assert failed(same[0], MaxDrop(None, 0), baseline=same[1], when_same="pass") == []
    (check, *_) = tv.gate(same[0], [MaxDrop(None, 0)], baseline=same[1])
    assert "new holds the same rows as its baseline old, so nothing was compared." in check.line
    other = replace(same[1], content=ContentHashes({"run": "other rows"}))
    assert failed(same[0], MaxDrop(None, 0), baseline=other) == []


def test_runs_of_one_name_are_told_apart() -> None:
    """Of two runs called alike the second one's ids hid that those of the first are unknown."""
    judgments = tv.Judgments.from_dict({f"q{query}": {"a": 1} for query in range(10)})
    strange, fine = (
        tv.evaluate(tv.Run.from_dict({f"q{query}": {document: 1.0} for query in range(10)}), judgments, "RR")
        for document in ("x", "a")
    )
    for runs in ([strange, fine], [fine, strange]):
        assert [check.name for check in tv.gate(runs, [RANGE])] == ["judged"]


def test_a_mean_that_is_known_by_bounds_passes_by_its_lower_one() -> None:
    made = made_scores("run", np.full(10, 0.5))
    bounded = replace(made, exact=(False,), details=({"expected_within": 0.1},))
    low, open_, above, high = (tv.gate(bounded, [Minimum("nDCG@10", limit)])[0] for limit in (0.4, 0.45, 0.55, 0.65))
    assert (low.passed, open_.passed, above.passed, high.passed) == (True, False, False, False)
    assert (low.bounded, open_.verdict) == (True, "failed")
    assert (
        open_.line
        == "run: nDCG@10 is 0.5, or up to 0.1 less or more, as ties leave it: that may be below --min nDCG@10=0.45."
    )
    assert above.line == open_.line.replace("0.45", "0.55")
    assert high.line.endswith("is 0.5, below --min nDCG@10=0.65.")
    assert not tv.gate(made, [Minimum("nDCG@10", 0.4)])[0].bounded


def test_a_gate_without_runs_or_measures_is_refused() -> None:
    with pytest.raises(InputError, match="at least one run"):
        tv.gate([], [RANGE])
    with pytest.raises(PolicyError, match="needs a measure"):
        tv.gate(evaluated(10).of([]), [RANGE])
    with pytest.raises(PolicyError, match="--min-queries is given twice"):
        tv.gate(evaluated(10), [MinQueries(1), EVERY])


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "some", "0%", "101%", "nan%", "%", ""])
def test_a_number_of_queries_is_whole_or_a_share(text: str) -> None:
    with pytest.raises(PolicyError, match=r"--min-queries must be all, a whole number N >= 1, or a share such as 95%"):
        parse_limit("min-queries", text)


@pytest.mark.parametrize("text", ["all", "95%", "7", "0.5%"])
def test_a_number_of_queries_reads_as_it_is_written(text: str) -> None:
    assert str(parse_limit("min-queries", text)) == f"--min-queries {text}"
    for wrong in ({"count": 0}, {"share": math.nan}, {"count": 3, "share": 0.5}, {}):
        with pytest.raises(PolicyError, match="must be all"):
            MinQueries(**wrong)


def test_measurable_queries_follow_the_measures() -> None:
    scores = evaluated(9, "RR Judged@2 RR(rel=2)")
    assert scores.measurable == (9, 9, 0)
    assert scores.of(["RR(rel=2)", "RR"]).measurable == (0, 9)
    other = replace(scores, query_ids=tuple(f"p{at}" for at in range(10)))
    assert Scores.join([scores, other]).measurable == (18, 18, 0)
    assert Scores.join([scores, replace(other, measurable=())]).measurable == ()
