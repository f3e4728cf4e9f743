"""The budget of doubt from runs and judgments: ties exactly, labels of an audit, and what cannot be said."""

import dataclasses
import json
import math

import numpy as np
import polars as pl
import pytest
from tests.comparison.made_scores import made_scores

import trueval as tv
from trueval.comparison.budget.budget_result import Budget, rows
from trueval.comparison.budget.doubt_budget import BudgetChoices, UnitPrices, budget_of_scores
from trueval.comparison.labels.audit_sample import AuditSample
from trueval.errors import InputError, MeasureError, PolicyError

QUERIES = [f"q{at}" for at in range(12)]
DOCUMENTS = [f"d{at}" for at in range(8)]


def judged(seed: int, queries: list[str] = QUERIES) -> tv.Judgments:
    rng = np.random.default_rng(seed)
    grades = {q: dict(zip(DOCUMENTS, rng.choice(4, size=8).tolist(), strict=True)) for q in queries}
    return tv.Judgments.from_dict(grades)


def ranked(seed: int, digits: int = 1) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    return {q: dict(zip(DOCUMENTS, rng.random(8).round(digits).tolist(), strict=True)) for q in QUERIES}


def test_ties_are_the_mean_variance_over_their_orders_and_no_part_of_expected_values() -> None:
    runs, judgments = {"a": ranked(1), "b": ranked(2)}, judged(3)
    pair = tv.budget(runs, judgments, "nDCG@5").pair("nDCG@5", "a", "b")
    scores = [tv.evaluate(tv.Run.of(run), judgments, ["nDCG@5"]) for run in runs.values()]
    ties = sum(float((each.sd[:, 0] ** 2).sum()) for each in scores) / len(QUERIES) ** 2
    apart = scores[0].expected[:, 0] - scores[1].expected[:, 0]
    assert pair.source("ties").variance == pytest.approx(ties, rel=1e-12)
    assert pair.source("questions").variance == pytest.approx(apart.var(ddof=1) / len(QUERIES))
    assert abs(pair.value) == pytest.approx(abs(apart.mean()))
    assert pair.se**2 == pytest.approx(apart.var(ddof=1) / len(QUERIES))
    assert sum(each.share for each in pair.sources) == pytest.approx(1)
    assert pair.half_width < pair.tie_broken_half_width
    assert pair.degrees == pytest.approx(len(QUERIES) - 1)


def test_repeats_and_judges_are_sources_and_the_result_is_its_json() -> None:
    runs = {"a": ranked(1), "b": ranked(2)}
    repeats = {"a": [tv.Run.of(ranked(5), name="a2")], "b": [tv.Run.of(ranked(6), name="b2")]}
    found = tv.budget(runs, [judged(3), judged(4)], "nDCG@5 P@3", repeats=repeats, prices=UnitPrices(1, 0.1, 0.01))
    pair = found.measures[0].differences[0]
    assert [each.source for each in pair.sources] == [
        "questions",
        "repeats",
        "labels",
        "repeats and labels together",
        "ties",
    ]
    for each in pair.sources:
        assert each.low <= each.variance + 1e-12 or each.variance == 0
        assert each.low <= each.high
    assert {(each.effect, each.system) for each in pair.effects if each.system} == {
        (effect, name) for effect in ("R", "QR", "RJ", "QRJ") for name in "ab"
    }
    assert all(each.variance == max(each.untruncated, 0) for each in pair.effects)
    counted = sum(each.variance / each.divisor for each in pair.effects)
    assert pair.se**2 == pytest.approx(counted)
    assert Budget.from_dict(json.loads(json.dumps(found.to_dict()))).to_dict() == found.to_dict()
    assert found.to_polars().height == len(list(rows(found.to_dict()))) == 2 * 3 * 5
    assert any("wide interval" in note for note in found.notes)
    mean = found.measures[0].means[0]
    assert (mean.minus, mean.queries, len(mean.sources)) == (None, 12, 5)


def test_fixed_judges_leave_out_what_judges_as_such_differ_by() -> None:
    runs, judges = {"a": ranked(1), "b": ranked(2)}, [judged(3), judged(4), judged(5)]
    drawn, fixed = (tv.budget(runs, judges, "P@3", fixed_judges=each).measures[0].differences[0] for each in (0, 1))
    effect = next(each for each in drawn.effects if each.effect == "J")
    assert drawn.se**2 - fixed.se**2 == pytest.approx(effect.variance / effect.divisor)
    assert fixed.shorter.judges is None


@pytest.mark.filterwarnings("ignore:.*without judgments")
def test_a_judge_of_half_of_the_queries_counts_where_it_judged() -> None:
    """Each query counts once, as the mean over the judges that it has."""
    runs, judges = {"a": ranked(1), "b": ranked(2)}, [judged(3), judged(4, QUERIES[:6])]
    pair = tv.budget(runs, judges, "P@3").pair("P@3", "a", "b")
    apart = []
    for judge in judges:
        one, other = (tv.evaluate(tv.Run.of(run), judge, ["P@3"]).expected[:, 0] for run in runs.values())
        apart.append(one - other)
    both = (apart[0][:6] + apart[1]) / 2
    sign = 1 if pair.run == "a" else -1
    assert pair.value == pytest.approx(sign * np.concatenate([both, apart[0][6:]]).mean())
    assert pair.queries == 12


def audited(judge: tv.Judgments, queries: int) -> AuditSample:
    asked = judge.frame.filter(pl.col("query_id").is_in(QUERIES[:queries]))
    items = asked.select("query_id", "doc_id", stratum=pl.lit("queries"))
    said = asked.select(
        "query_id", "doc_id", grade=(pl.col("grade") + pl.Series([0, 1, 0, -1] * (2 * queries))).clip(0, 3)
    )
    return AuditSample("queries", items, said, {"queries": len(QUERIES)}, (0.0, 3.0))


def test_an_audit_decides_what_labels_add() -> None:
    """Questions have what no label removes, labels the rest of the variance of the corrected difference."""
    runs, judge = {"a": ranked(1), "b": ranked(2)}, judged(3)
    sample = audited(judge, 6)
    pair = tv.budget(runs, judge, "P@3", audit=sample).measures[0].differences[0]
    one = tv.correct(runs, judge, sample, "P@3").difference("a", "b", "P@3")
    assert abs(pair.value) == pytest.approx(abs(one.corrected.estimate))
    assert pair.source("questions").variance == pytest.approx(one.fixed)
    assert pair.source("labels").variance == pytest.approx(one.corrected.se**2 - one.fixed)
    assert pair.se == pytest.approx(one.corrected.se)
    assert {each.effect for each in pair.effects} == {"Q", "A"}
    whole = tv.budget(runs, judge, "P@3", audit=sample, half_width=pair.half_width * 0.9).measures[0].differences[0]
    bought = whole.shorter.audited
    assert bought is None or bought.labels == 8 * bought.audited
    priced = tv.budget(runs, judge, "P@3", audit=sample, prices=UnitPrices(5, 0.1, 0)).measures[0].differences[0]
    least = priced.shorter.cheapest
    # 6 of the 12 queries are not audited yet, and the new ones can be.
    assert least.audited <= 6 + least.questions
    # The judge grades the new queries, and people audit.
    assert least.labels == 8 * least.questions + 8 * least.audited
    assert least.cost == pytest.approx(5 * least.questions + 0.1 * least.labels)
    with pytest.raises(PolicyError, match="An audit is of one judge"):
        tv.budget(runs, [judge, judged(4)], "P@3", audit=sample)


def test_an_audit_of_everything_leaves_no_doubt_about_labels() -> None:
    judge = judged(3)
    pair = (
        tv.budget({"a": ranked(1), "b": ranked(2)}, judge, "P@3", audit=audited(judge, 12)).measures[0].differences[0]
    )
    assert pair.source("labels").variance == pytest.approx(0, abs=1e-18)
    assert math.isfinite(pair.half_width)
    assert pair.shorter.questions is not None


def test_what_the_data_cannot_tell_is_said() -> None:
    notes = " ".join(tv.budget({"a": ranked(1), "b": ranked(2)}, judged(3), "P@3").notes)
    assert "every system ran once" in notes
    assert "there is one judge and no audit" in notes
    same = {"a": [tv.Run.of(ranked(1), name="copy")]}
    notes = " ".join(tv.budget({"a": ranked(1), "b": ranked(2)}, judged(3), "P@3", repeats=same).notes)
    assert "b ran once" in notes
    assert "the 2 repeats of a have the same value on every query" in notes


@pytest.mark.filterwarnings("ignore:.*without judgments")
def test_bad_input_is_one_sentence_with_the_cure() -> None:
    runs, judge = {"a": ranked(1), "b": ranked(2)}, judged(3)
    binary = tv.Judgments.from_dict({q: {"d0": 1, "d1": 0} for q in QUERIES})
    with pytest.raises(InputError, match=r"grades go up to 1, and those of .* up to 3. Judges must grade on one scale"):
        tv.budget(runs, [judge, binary], "P@3")
    with pytest.raises(InputError, match=r"Repeats must be of one of the runs a, b. Got 'c'"):
        tv.budget(runs, judge, "P@3", repeats={"c": [ranked(1)]})
    with pytest.raises(InputError, match=r"must be as many for each run. Got 2 of a, 1 of b"):
        tv.budget(runs, judge, "P@3", repeats={"a": [ranked(5)]}, shared_repeats=True)
    with pytest.raises(InputError, match="at least 2 runs"):
        tv.budget({"a": ranked(1)}, judge, "P@3")
    with pytest.raises(InputError, match=r"The baseline must be one of the runs a, b. Got 'c'"):
        tv.budget(runs, judge, "P@3", baseline="c")
    with pytest.raises(InputError, match="1 query has a value for a, and a budget needs at least two"):
        tv.budget(runs, judged(3, ["q0"]), "P@3")
    with pytest.raises(MeasureError, match=r"a geometric mean .* Take AP instead"):
        tv.budget(runs, judge, "GMAP")
    for choices, words in (({"level": 95}, "level must be"), ({"half_width": 0}, "half_width must be a number > 0")):
        with pytest.raises(PolicyError, match=words):
            tv.budget(runs, judge, "P@3", **choices)


def test_equal_runs_have_no_interval_and_nothing_to_buy() -> None:
    scores = {name: [[made_scores(name, [0.5, 0.25, 1.0])]] for name in "ab"}
    judge = tv.Judgments.from_dict({f"q{at}": {"d": 1} for at in range(3)})
    pair = budget_of_scores(scores, [judge], BudgetChoices()).measures[0].differences[0]
    assert (pair.value, pair.half_width, pair.shorter) == (0.0, 0.0, None)
    assert all(math.isnan(each.share) for each in pair.sources)


def test_an_audit_corrects_the_mean_over_repeats() -> None:
    """People who grade as the judge does change no value; questions vary by as much as in the first runs."""
    runs, judge = {"a": ranked(1), "b": ranked(2)}, judged(3)
    asked = judge.frame.select("query_id", "doc_id", "grade")
    items = asked.select("query_id", "doc_id", stratum=pl.lit("queries"))
    sample = AuditSample("queries", items, asked, {"queries": len(QUERIES)}, (0.0, 3.0))
    repeats = {"a": [tv.Run.of(ranked(seed), name=str(seed)) for seed in (5, 6, 7)]}
    for shared in (False, True):
        more = {**repeats, "b": [tv.Run.of(ranked(seed), name=str(seed)) for seed in (8, 9, 10)]} if shared else repeats
        plain, audited_pair = (
            tv.budget(runs, judge, "P@3", repeats=more, audit=audit, shared_repeats=shared).measures[0]
            for audit in (None, sample)
        )
        for one, other in zip(plain.means, audited_pair.means, strict=True):
            assert (other.run, other.value) == (one.run, pytest.approx(one.value))
        (one,), (other,) = plain.differences, audited_pair.differences
        assert other.value == pytest.approx(one.value)
        effects = {(each.effect, each.system): each for each in other.effects}
        first = tv.correct(runs, judge, sample, "P@3").difference("a", "b", "P@3")
        assert effects["Q", None].untruncated == pytest.approx(first.fixed * len(QUERIES))
        assert {"R", "QR"} <= {effect for effect, _ in effects}
    copies = {"a": [tv.Run.of(ranked(1), name="copy")]}
    one, other = (
        tv.budget(runs, judge, "P@3", repeats=each, audit=sample).measures[0].differences[0] for each in (None, copies)
    )
    assert (other.value, other.half_width) == (pytest.approx(one.value), pytest.approx(one.half_width))


def test_an_audited_query_takes_all_its_labels_where_some_query_has_no_value() -> None:
    """One of 12 queries has nothing relevant and is skipped: an audited query still takes its 8 labels."""
    frame = judged(3).frame.with_columns(grade=pl.when(pl.col("query_id") == "q0").then(0.0).otherwise(pl.col("grade")))
    judge, runs = dataclasses.replace(judged(3), frame=frame), {"a": ranked(1), "b": ranked(2)}
    found = tv.budget(runs, judge, "P@3", audit=audited(judge, 6), prices=UnitPrices(5, 0.1, 0), empty="skip")
    pair = found.measures[0].differences[0]
    least = pair.shorter.cheapest
    assert pair.queries == 11
    # All are audited: 12 of 12 is 12 / 11 of those with a value, so that the last audited one is a part of one.
    assert 0 <= 8 * least.questions + 8 * least.audited - least.labels < 8
