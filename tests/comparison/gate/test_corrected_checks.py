"""Gates on corrected values: whose interval decides, what it says, and what it refuses."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import norm, t
from tests.golden.audited_world import World, written

import trueval as tv
from trueval.comparison.checks import Check
from trueval.comparison.gate.corrected_checks import CorrectedChecks, drops, minima
from trueval.comparison.gate.gate import gate
from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.correct import correct
from trueval.comparison.labels.correction import CorrectedResults, Correction, EstimateWithInterval, StratumGain
from trueval.comparison.labels.design_estimate import interval
from trueval.comparison.limits import MaxDrop, Minimum
from trueval.errors import InputError, PolicyError
from trueval.evaluation.scores import Scores
from trueval.measures.span import UNIT


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return written(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def scores(world: World) -> list[Scores]:
    return [tv.evaluate(str(path), str(world.golden), "nDCG@5 AP(rel=4)") for path in world.runs]


@pytest.fixture(scope="module")
def found(world: World) -> CorrectedResults:
    runs = {path.stem: str(path) for path in world.runs}
    return correct(runs, str(world.golden), AuditSample.read(world.audit), "nDCG@5 AP(rel=4)", baseline="weak")


def one(estimate: float, se: float, degrees: float = 20.0, **more: object) -> CorrectedResults:
    """Corrected nDCG@5 of one run, with an interval."""
    bounded = EstimateWithInterval(estimate, estimate - se, estimate + se, se, degrees)
    people = EstimateWithInterval(estimate - 0.25, math.nan, math.nan, se, degrees)
    correction = Correction(
        "nDCG@5",
        "honest",
        None,
        "queries",
        "new queries",
        0.95,
        corrected=bounded,
        people=people,
        queries=21,
        labels=84,
        strata=(StratumGain("queries", 100, 21, 1e-6, 1.0, 0.0),),
    )
    return CorrectedResults(
        "queries",
        "new queries",
        0.95,
        ("honest",),
        (replace(correction, **more),),
        (),
        {},  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("limit", "verdict", "passed"),
    [(0.395, "passed", True), (0.396, "cannot tell", True), (0.604, "cannot tell", True), (0.605, "failed", False)],
)
def test_min_is_decided_by_the_whole_interval(scores: list[Scores], limit: float, verdict: str, passed: bool) -> None:
    # t with 20 degrees of freedom at 95%: 2.086, so the interval is 0.5 ± 0.1043.
    (check,) = minima(scores[:1], [Minimum("nDCG@5", limit)], CorrectedChecks(one(0.5, 0.05), "corrected", "pass"))
    assert (check.verdict, check.passed, check.labels) == (verdict, passed, "corrected")
    assert (check.low, check.high) == pytest.approx((0.5 - 0.05 * t.ppf(0.975, 20), 0.5 + 0.05 * t.ppf(0.975, 20)))


def test_rounding_of_an_end_does_not_fail_a_check(scores: list[Scores]) -> None:
    judged = CorrectedChecks(one(0.5, 0.05), "corrected", "pass")
    high = judged.interval(judged.corrected.of("honest", "nDCG@5").corrected, UNIT)[1]
    for beyond, verdict in ((1e-13, "cannot tell"), (1e-9, "failed")):
        (check,) = minima(scores[:1], [Minimum("nDCG@5", high + beyond)], judged)
        assert check.verdict == verdict


def test_what_is_unclear_fails_where_that_is_asked_for(scores: list[Scores]) -> None:
    (check,) = minima(scores[:1], [Minimum("nDCG@5", 0.5)], CorrectedChecks(one(0.5, 0.05), "corrected", "fail"))
    assert (check.verdict, check.passed) == ("cannot tell", False)
    assert "It fails, as --when-unclear says." in check.line


def test_people_are_looked_at_alone_where_that_is_asked_for(scores: list[Scores]) -> None:
    (check,) = minima(scores[:1], [Minimum("nDCG@5", 0.3)], CorrectedChecks(one(0.5, 0.01), "people", "pass"))
    assert (check.verdict, check.value, check.labels) == ("failed", 0.25, "people")
    assert "by people's labels alone is 0.25" in check.line


def test_without_an_interval_nothing_passes(scores: list[Scores]) -> None:
    judged = CorrectedChecks(one(math.nan, math.nan, refused="AP: no."), "corrected", "pass")
    (check,) = minima(scores[:1], [Minimum("nDCG@5", 0.0)], judged)
    assert (check.verdict, check.passed, check.low) == ("cannot tell", False, None)
    assert "has no interval, so --min nDCG@5=0 cannot pass: AP: no." in check.line


def test_graded_queries_that_are_all_alike_pass_no_gate(world: World) -> None:
    measure = "Success(rel=2)@5"
    runs = {path.stem: str(path) for path in world.runs}
    found = correct(runs, str(world.golden), AuditSample.read(world.audit), measure)
    every = [tv.evaluate(str(path), str(world.golden), measure) for path in world.runs]
    (check,) = gate(every[:1], [Minimum(measure, 0.9)], corrected=found, labels="corrected")
    assert (check.verdict, check.passed, check.value, check.low) == ("cannot tell", False, 1.0, None)
    assert "cannot pass: people's labels give none. the graded queries are all alike" in check.line


def test_a_warning_of_the_estimate_is_said(scores: list[Scores]) -> None:
    judged = CorrectedChecks(one(0.5, 0.01, warnings=("only 9 labels of people.",)), "corrected", "pass")
    (check,) = minima(scores[:1], [Minimum("nDCG@5", 0.1)], judged)
    assert check.line.endswith("only 9 labels of people.")


def test_checks_share_out_the_level(scores: list[Scores], found: CorrectedResults) -> None:
    alone = gate(scores[:1], [Minimum("nDCG@5", 0.5)], corrected=found, labels="corrected")
    three = gate(scores, [Minimum("nDCG@5", 0.5)], corrected=found, labels="corrected")
    value = found.of("honest", "nDCG@5").corrected
    for checks, count in ((alone, 1), (three, 3)):
        half = value.se * t.ppf(1 - 0.05 / (2 * count), value.degrees)
        ends = interval(value.estimate, value.se**2, value.degrees, 1 - 0.05 / count, UNIT)
        assert (checks[0].low, checks[0].high) == pytest.approx((ends.low, ends.high))
        assert checks[0].high == pytest.approx(value.estimate + half)  # of t, so near to 1
        assert checks[0].low < value.estimate - half


def test_a_drop_is_told_by_the_corrected_difference(scores: list[Scores], found: CorrectedResults) -> None:
    limits = [MaxDrop("nDCG@5", 0.01)]
    judged = {"when_unclear": "fail"}
    plain = gate(scores[:2], limits, baseline=scores[2], **judged)  # type: ignore[arg-type]
    assert [check.verdict for check in plain] == ["not worse", "not worse"]
    checks = gate(scores[:2], limits, baseline=scores[2], corrected=found, labels="corrected", **judged)  # type: ignore[arg-type]
    assert [(check.run, check.verdict, check.passed) for check in checks] == [
        ("honest", "not worse", True),
        ("flattered", "cannot tell", False),
    ]
    assert checks[0].baseline == "weak"
    assert checks[0].value == found.difference("honest", "weak", "nDCG@5").corrected.estimate


def test_less_is_better_turns_a_drop(scores: list[Scores]) -> None:
    bounded = EstimateWithInterval(0.2, 0.1, 0.3, 0.01, 20.0)
    row = Correction("Harm@5", "honest", "weak", "queries", "new queries", 0.95, corrected=bounded)
    found = CorrectedResults("queries", "new queries", 0.95, ("honest", "weak"), (), (row,), {})
    harm = replace(scores[0].of(["nDCG@5"]), measures=(tv.parse("Harm@5"),))
    (check,) = drops([harm], "weak", [MaxDrop(None, 0.1)], CorrectedChecks(found, "corrected", "pass"))
    assert (check.verdict, check.value) == ("worse", -0.2)
    assert check.low is not None
    assert check.low < check.high < 0  # type: ignore[operator]
    half = 0.01 * t.ppf(0.975, 20)
    assert (check.low, check.high) == pytest.approx((-0.2 - half, -0.2 + half))


def test_needed_is_enough_and_no_more(scores: list[Scores]) -> None:
    # Of 1,000 queries 21 are graded: the variance of the mean over new ones is 1,000² s² (1 / n - 1 / 1,000).
    spread = 0.05**2 / (1000**2 * (1 / 21 - 1 / 1000))
    judged = CorrectedChecks(
        one(0.5, 0.05, strata=(StratumGain("queries", 1000, 21, spread, 1.0, 0.0),)), "corrected", "pass"
    )
    (check,) = minima(scores[:1], [Minimum("nDCG@5", 0.45)], judged)
    assert check.verdict == "cannot tell"
    assert check.needed is not None

    def chance(graded: int) -> float:
        """That an interval of so many queries is above the limit, if the value is 0.5; t of now, as the width has."""
        se = math.sqrt(1000**2 * spread * (1 / graded - 1 / 1000))
        return float(norm.cdf(0.05 / se - t.ppf(0.975, graded - 1)))

    assert chance(check.needed + 5) > 0.8 > chance(check.needed - 5)
    # At the limit no number of labels decides; nor where what is left between queries is too much.
    assert minima_needed(scores, judged, 0.5) is None
    blocked = replace(judged, corrected=one(0.5, 0.05, fixed=0.05**2, strata=judged.corrected.corrections[0].strata))
    assert minima_needed(scores, blocked, 0.45) is None


def minima_needed(scores: list[Scores], judged: CorrectedChecks, limit: float) -> int | None:
    (check,) = minima(scores[:1], [Minimum("nDCG@5", limit)], judged)
    return check.needed


def test_a_gate_without_corrected_values_cannot_look_at_them(scores: list[Scores]) -> None:
    with pytest.raises(PolicyError, match="needs corrected="):
        gate(scores, [Minimum("nDCG@5", 0.5)], labels="corrected")


def test_a_measure_that_was_not_corrected_is_named(scores: list[Scores]) -> None:
    with pytest.raises(InputError, match=r"nDCG@5 of flattered was not corrected"):
        gate(scores[1:2], [Minimum("nDCG@5", 0.5)], corrected=one(0.5, 0.1), labels="corrected")


def test_labels_of_the_judge_leave_the_gate_as_it_was(scores: list[Scores], found: CorrectedResults) -> None:
    limits = [Minimum("nDCG@5", 0.94), MaxDrop("AP(rel=4)", 0.01)]
    with_them = gate(scores[:2], limits, baseline=scores[2], corrected=found)
    without = gate(scores[:2], limits, baseline=scores[2])
    assert with_them == without
    assert {check.labels for check in without} == {"judge"}


def test_the_json_says_whose_labels(scores: list[Scores], found: CorrectedResults) -> None:
    checks: tuple[Check, ...] = gate(scores[:1], [Minimum("nDCG@5", 0.5)], corrected=found, labels="people")
    assert [check.to_dict()["labels"] for check in checks] == ["people"]


def test_the_world_is_as_told(world: World, tmp_path: Path) -> None:
    assert written(tmp_path).judge == world.judge
