"""Gates as library code: limits in, findings out."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t
from tests.comparison.made_scores import LOSS, made_scores

import trueval as tv
from trueval.comparison.compare import compare_scores
from trueval.comparison.gate.drop_checks import verdict_of
from trueval.comparison.gate.gate import Limit, MaxDrop, MaxRange, Minimum, MinQueries, parse_limit
from trueval.errors import InputError, MeasureError, PolicyError
from trueval.evaluation.content_hashes import ContentHashes
from trueval.evaluation.scores import results
from trueval.policy.policy import Policy

QUERIES = 40
JUDGMENTS = tv.Judgments.from_dict({f"q{query}": {"a": 1} for query in range(QUERIES)})


def run(name: str, first: float = 2.0, second: float = 1.0) -> tv.Run:
    """A run that lists the relevant document and another one."""
    return tv.Run.from_dict({f"q{query}": {"a": first, "b": second} for query in range(QUERIES)}, name=name)


def scores(name: str, *values: float, measures: str = "RR P@1") -> tv.Scores:
    return tv.evaluate(run(name, *values), JUDGMENTS, measures)


GOOD, TIED, BAD = scores("good"), scores("tied", 1, 1), scores("bad", 1, 2)


def test_a_check_holds_the_numbers_that_decided() -> None:
    """Tied, RR is 1 or 1/2: expected 3/4."""
    wide, low = tv.gate(TIED, [MaxRange("RR", 0.25), Minimum("RR", 0.75)])
    assert wide.to_dict() == {
        "name": "max-range",
        "measure": "RR",
        "baseline": None,
        "limit": 0.25,
        "value": 0.5,
        "low": 0.5,
        "high": 1.0,
        "level": None,
        "bounded": False,
        "queries": None,
        "clusters": None,
        "needed": None,
        "rare_losses": None,
        "concentration": None,
        "labels": "judge",
        "verdict": "failed",
        "passed": False,
    }
    assert (wide.run, wide.line) == ("tied", "tied: the range of RR is 0.5, above --max-range RR=0.25.")
    assert (low.value, low.low, low.high, low.passed, low.verdict) == (0.75, 0.5, 1.0, True, "passed")


def test_a_limit_without_a_measure_is_about_each() -> None:
    found = tv.gate([GOOD, TIED], [MaxRange(None, 0.5)])
    assert [(check.run, check.measure, check.passed) for check in found] == [
        ("good", "RR", True),
        ("good", "P@1", True),
        ("tied", "RR", True),
        ("tied", "P@1", False),
    ]


def test_a_drop_is_held_against_the_joint_interval() -> None:
    """BAD loses 1/2 on every query, without ties: the interval is the point itself."""
    check, kept = tv.gate([BAD, GOOD], [MaxDrop("RR", 0.4), MaxDrop("RR", 0.5)], baseline=GOOD)
    assert (check.run, check.baseline, check.level, check.queries) == ("bad", "good", 0.95, QUERIES)
    assert (check.value, check.low, check.high, check.verdict, check.passed) == (-0.5, -0.5, -0.5, "worse", False)
    assert (kept.verdict, kept.passed, kept.needed) == ("not worse", True, None)
    (gain,) = tv.gate(GOOD, [MaxDrop("RR", 0)], baseline=BAD, level=0.9)
    assert (gain.value, gain.level, gain.verdict, gain.passed) == (0.5, 0.9, "not worse", True)


def test_the_drop_of_a_measure_of_which_less_is_better_is_a_rise() -> None:
    judgments = tv.Judgments.from_dict({f"q{query}": {"a": 5, "b": 1} for query in range(QUERIES)})
    good, bad = (tv.evaluate(run(*each), judgments, "Harm@1") for each in (("good",), ("bad", 1, 2)))
    (check,) = tv.gate(bad, [MaxDrop(None, 0.9)], baseline=good)
    assert (check.value, check.high, check.verdict) == (-1, -1, "worse")
    assert tv.gate(good, [MaxDrop(None, 0)], baseline=bad)[0].passed


def test_the_ends_of_a_rise_change_places() -> None:
    """The interval of a loss is that of the rise of Harm, turned: [-high, -low]."""
    rises = 0.1 + np.random.default_rng(1).exponential(0.1, 40)
    base, run = (made_scores(name, each, measures="Harm@5") for name, each in (("b", np.zeros(40)), ("r", rises)))
    (row,) = compare_scores([run, base], baseline="b").differences
    (check,) = tv.gate(run, [MaxDrop(None, 0.15)], baseline=base)
    low, high = row.simultaneous_realized_interval
    assert (check.low, check.high) == (-high, -low)
    assert check.low is not None
    assert check.high is not None
    assert check.low < check.value < check.high < 0
    assert [tv.gate(run, [MaxDrop(None, limit)], baseline=base)[0].verdict for limit in (low - 0.01, high + 0.01)] == [
        "worse",
        "not worse",
    ]


@pytest.mark.parametrize("seed", range(12))
def test_a_rise_under_ties_is_held_against_the_distribution_over_all_orders(seed: int) -> None:
    """Harm@1 of tied documents is 0 or 1 by their order; the rise of its mean is a sum of such, by convolution."""
    rng = np.random.default_rng(seed)
    count, ids = int(rng.integers(6, 13)), "abcd"
    grades = {f"q{at}": dict(zip(ids, rng.choice([1, 5], 4).tolist(), strict=True)) for at in range(count)}
    tied = {query: {each: float(rng.integers(0, 2)) for each in ids} for query in grades}
    strict = {query: {each: float(-at) for at, each in enumerate(ids)} for query in grades}
    run, base = (
        tv.evaluate(tv.Run.from_dict(scores, name=name), grades, "Harm@1 P(rel=5)@1")
        for name, scores in (("tied", tied), ("strict", strict))
    )
    chances = np.ones(1)
    for query, listed in tied.items():
        first = [each for each in ids if listed[each] == max(listed.values())]
        harmful = float(np.mean([grades[query][each] == 1 for each in first]))
        chances = np.convolve(chances, [1 - harmful, harmful])
    least = sum(grades[query]["a"] == 1 for query in grades)
    losses = (np.arange(count + 1) - least) / count  # of each number of harmful documents, against the baseline's
    limit = float(rng.choice([0.0, 0.1, 0.4]))
    generic, harm, good = (
        next(check for check in tv.gate(run, [each], baseline=base) if check.measure == measure)
        for each, measure in (
            (MaxDrop(None, limit), "Harm@1"),
            (parse_limit("max-drop", f"Harm@1={limit}"), "Harm@1"),
            (MaxDrop("P(rel=5)@1", limit), "P(rel=5)@1"),
        )
    )
    assert generic.value == pytest.approx(-float(chances @ losses), abs=1e-12)
    for check in (generic, harm):
        assert check.low is not None
        assert check.high is not None
        assert chances[(losses < -check.high - 1e-12) | (losses > -check.low + 1e-12)].sum() <= 0.055
        beyond = float(chances[losses > limit + 1e-12].sum())
        assert {"not worse": beyond <= 0.05, "worse": beyond >= 0.95}.get(check.verdict, True)
    assert (good.low, good.high) == pytest.approx((harm.low, harm.high), abs=0.1)  # 1 - Harm@1, noise drawn anew


RNG = np.random.default_rng(7)
NOISE = RNG.normal(0, 0.2, 50)
NOISE -= NOISE.mean()
BASE = made_scores("base", np.full(50, 0.5))


def lost(loss: float, spread: float = 1.0, reach: float = 0.0) -> tv.Scores:
    """A run that lost so much of nDCG@10 on average, with noise between queries and ties."""
    return made_scores("run", 0.5 - loss + spread * NOISE, reach)


@pytest.mark.parametrize(
    ("limit", "verdict", "when", "passed"),
    [
        (0.15, "not worse", "fail", True),
        (0.01, "cannot tell", "pass", True),
        (0.01, "cannot tell", "fail", False),
    ],
)
def test_a_loss_that_the_queries_do_not_decide_is_said(limit: float, verdict: str, when: str, passed: bool) -> None:
    """A loss of .0333 with a limit of .01 once passed without a word."""
    (check,) = tv.gate(lost(0.0333), [MaxDrop("nDCG@10", limit)], baseline=BASE, when_unclear=when)
    assert (check.verdict, check.passed) == (verdict, passed)
    assert check.low is not None
    assert check.high is not None
    assert check.low < -0.0333 < check.high
    assert f"lost 0.0333 against base; the 95% interval of the difference [{check.low:+.4f}" in check.line
    assert (check.needed is not None) == (verdict == "cannot tell")
    assert (f"It {'passes' if passed else 'fails'}, as --when-unclear says" in check.line) == (verdict == "cannot tell")
    assert "bounded over all orders" not in check.line


def test_a_loss_beyond_the_limit_everywhere_is_worse() -> None:
    (check,) = tv.gate(lost(0.3), [MaxDrop("nDCG@10", 0.01)], baseline=BASE, when_unclear="pass")
    assert (check.verdict, check.passed) == ("worse", False)
    assert check.high is not None
    assert check.high < -0.01


def test_as_many_queries_as_needed_would_decide() -> None:
    """Of sd s and a distance d = .0333 - .01 to the limit, n fulfills (t(.975) + t(.8)) s / sqrt(n) <= d."""
    (check,) = tv.gate(lost(0.0333), [MaxDrop("nDCG@10", 0.01)], baseline=BASE)
    sd, needed = NOISE.std(ddof=1), check.needed
    assert needed is not None

    def reach(queries: int) -> float:
        return float((t.ppf(0.975, queries - 1) + t.ppf(0.8, queries - 1)) * sd / math.sqrt(queries))

    assert reach(needed) <= 0.0233 < reach(needed - 1)
    assert f"about {needed:,} would decide it with a chance of 80%" in check.line
    # Ties add their variance, .1 squared on every query.
    (tied,) = tv.gate(lost(0.0333, reach=0.1), [MaxDrop("nDCG@10", 0.01)], baseline=BASE)
    assert tied.needed == pytest.approx(needed * (sd**2 + 0.01) / sd**2, rel=0.01)


def test_no_number_of_queries_decides_a_loss_of_the_limit_itself() -> None:
    (check,) = tv.gate(lost(0.25), [MaxDrop("nDCG@10", 0.25)], baseline=made_scores("base", np.full(50, 0.5)))
    assert (check.verdict, check.needed) == ("cannot tell", None)
    assert "no number of queries would decide" in check.line


def test_rounding_does_not_break_a_limit() -> None:
    """A loss of .1 on every query is 0.09999999999999998 or 0.10000000000000003 in double precision."""
    for value in (0.3, 0.4, 0.7, 0.8, 0.9):
        base = made_scores("base", np.full(7, value))
        (check,) = tv.gate(made_scores("run", np.full(7, value - 0.1)), [MaxDrop(None, 0.1)], baseline=base)
        assert check.verdict == "not worse", value
    assert verdict_of(-0.1 - 1e-9, -0.1 - 1e-9, 0.1) == "worse"


@pytest.mark.parametrize("tenths", range(1, 10))
def test_rounding_of_a_mean_does_not_break_a_limit(tenths: int) -> None:
    """Six values of .1 have the mean 0.09999999999999999, and six ranges of .1 one of 0.10000000000000009."""
    value = tenths / 10
    for queries in range(6, 40):
        made = made_scores("run", np.full(queries, value), 0.05, measures="P@10")
        for limit in (Minimum("P@10", value), MaxRange(None, 0.1)):
            (check,) = tv.gate(made, [limit])
            assert check.passed, check.line
            assert f"not {'below' if limit.name == 'min' else 'above'} {limit}" in check.line
    for broken in (Minimum("P@10", value + 1e-9), MaxRange(None, 0.1 - 1e-9)):
        (check,) = tv.gate(made, [broken])
        assert (check.passed, check.verdict) == (False, "failed")
        assert ", not " not in check.line


def test_rounding_of_large_values_does_not_break_a_limit() -> None:
    """DCG has values in the thousands, whose sums are rounded by more than 1e-12."""
    made = [made_scores("run", np.full(queries, 54321.1), 1e-3, measures="DCG@10") for queries in range(6, 80)]
    assert min(each.mean("DCG@10").expected for each in made) < 54321.1 - 1e-12
    for each in made:
        for check in tv.gate(each, [Minimum("DCG@10", 54321.1), MaxRange(None, 2e-3)]):
            assert check.passed, check.line


def test_rounding_of_large_values_does_not_break_an_allowed_drop() -> None:
    """54321.1 - .1 is 54321.0, and their difference 0.09999999999854481 or so: a loss of .1 for any sum of it."""
    for value in (54321.1, 10000.2, 1e6 + 0.7):
        for lost in (0.1, 0.2, 0.7):
            base = made_scores("base", np.full(9, value), measures="DCG@10")
            run = made_scores("run", np.full(9, value - lost), measures="DCG@10")
            for limit, verdict in ((lost, "not worse"), (lost - 1e-6, "worse")):
                (check,) = tv.gate(run, [MaxDrop("DCG@10", limit)], baseline=base)
                assert check.verdict == verdict, (value, lost, check.low)


def test_checks_of_one_call_are_simultaneous() -> None:
    """More checks, wider intervals: one limit on three runs is asked more than one on a single run."""
    runs = [replace(lost(0.0333), name=name) for name in ("run", "second", "third")]
    runs = [replace(run, expected=np.roll(run.expected, at, axis=0)) for at, run in enumerate(runs)]
    (alone,) = tv.gate(runs[0], [MaxDrop(None, 0.01)], baseline=BASE)
    three = tv.gate(runs, [MaxDrop(None, 0.01)], baseline=BASE)
    assert len(three) == 3
    assert three[0].low is not None
    assert alone.low is not None
    assert three[0].low < alone.low - 0.003
    assert (three[0].needed or 0) > (alone.needed or 0)


def test_an_identical_run_is_not_worse_whatever_its_ties_are() -> None:
    """Two realizations of the same tied lists differ, so the joint interval is wide; but nothing is worse."""
    tied = made_scores("run", 0.5 + NOISE, 0.3)
    (check,) = tv.gate(tied, [MaxDrop(None, 0)], baseline=replace(tied, name="base"), when_unclear="fail")
    assert check.low is not None
    assert check.low < 0
    assert (check.value, check.verdict, check.passed) == (0, "not worse", True)
    assert check.line.startswith("run: nDCG@10 is the same on every query as in base, which keeps --max-drop 0.")
    limits = [MaxDrop(None, 0), MinQueries(1)]
    _, one = tv.gate(made_scores("run", [0.5]), limits, baseline=made_scores("base", [0.5]))
    assert (one.low, one.verdict, one.passed) == (None, "not worse", True)


def test_without_an_interval_nothing_passes() -> None:
    limits = [MaxDrop(None, 0), MinQueries(1)]
    _, one = tv.gate(made_scores("run", [0.6]), limits, baseline=made_scores("base", [0.5]))
    assert (one.low, one.verdict, one.passed) == (None, "cannot tell", False)
    assert "has no interval against base, so --max-drop 0 cannot pass" in one.line


def test_clusters_bind() -> None:
    """Copies of 25 queries are no 50 queries: with clusters the interval is that of 25, sqrt(2) as wide."""
    base, run = made_scores("base", np.full(50, 0.5)), made_scores("run", 0.5 + np.tile(NOISE[:25], 2))
    copies = {f"q{query}": f"topic {query % 25}" for query in range(50)}
    (alone,) = tv.gate(run, [MaxDrop(None, 0)], baseline=base)
    (bound,) = tv.gate(run, [MaxDrop(None, 0)], baseline=base, clusters=copies)
    assert (alone.clusters, bound.clusters, bound.queries) == (None, 25, 50)
    assert bound.value == alone.value
    widths = [(check.high or 0) - (check.low or 0) for check in (bound, alone)]
    assert widths[0] / widths[1] == pytest.approx(math.sqrt(2), rel=0.08)
    with pytest.raises(InputError, match="no cluster for the query 'q0'"):
        tv.gate(run, [MaxDrop(None, 0)], baseline=base, clusters={"q1": "a"})


def lacking(name: str, values: np.ndarray, missing: tuple[str, ...], policy: Policy | None = None) -> tv.Scores:
    """Scores of a run that lacks some queries: the worst value on each."""
    values = np.array(values, dtype=float)
    values[[int(query[1:]) for query in missing]] = 0.0
    return made_scores(name, values, missing=missing, policy=policy)


def test_a_baseline_that_lacks_queries_does_not_let_any_drop_pass() -> None:
    """It counts 0 on 30 of 50 queries, so a run that lost .1 on every query seems to gain."""
    missing = tuple(f"q{query}" for query in range(30))
    base, run = lacking("base", np.full(50, 0.5), missing), made_scores("run", np.full(50, 0.4))
    queries, drop = tv.gate(run, [MaxDrop(None, 0.05)], baseline=base)
    assert (queries.name, queries.value, queries.limit, queries.passed) == ("queries", 20, 50, False)
    assert "20 of 50 judged queries are in every run and in base (base lacks 30)" in queries.line
    assert (drop.queries, drop.verdict) == (20, "worse")
    assert drop.value == pytest.approx(-0.1)
    # Who says that missing queries count as worst, or are left out, is taken at his word.
    (worst,) = tv.gate(run, [MaxDrop(None, 0.05)], baseline=base, missing="worst")
    assert (worst.queries, worst.passed) == (50, True)
    skipping = Policy(missing="skip")
    values = np.where(np.arange(50) < 30, np.nan, 0.5)
    (skipped,) = tv.gate(
        made_scores("run", np.full(50, 0.4), policy=skipping),
        [MaxDrop(None, 0.05)],
        baseline=made_scores("base", values, missing=missing, policy=skipping),
    )
    assert (skipped.queries, skipped.verdict) == (20, "worse")


def test_a_baseline_of_the_same_name_is_another_run() -> None:
    (check,) = tv.gate(lost(0.3), [MaxDrop(None, 0.01)], baseline=replace(BASE, name="run"))
    assert (check.run, check.baseline, check.verdict) == ("run", "run (baseline)", "worse")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"content": ContentHashes({"judgments": "b"})}, "different judgments, so"),
        ({"content": ContentHashes({"judgments": "a", "corpus": "d"})}, "different documents, so"),
        ({"content": ContentHashes({"judgments": "a", "unjudged": 1.0})}, "different grades of unjudged documents, so"),
        ({"policy": Policy(rel=2)}, r"different policies \(rel 2 and 1\), so"),
        ({"query_ids": tuple(f"q{at}" for at in range(1, 51))}, r"different queries \(2 are evaluated for one"),
        (
            {"policy": Policy(depth=5), "content": ContentHashes({"judgments": "b"})},
            r"different judgments and policies \(depth 5 and None\), so",
        ),
    ],
)
def test_a_gate_refuses_what_was_measured_otherwise(change: dict[str, object], said: str) -> None:
    known = ContentHashes({"judgments": "a", "corpus": "c", "run": "r"})
    base = replace(BASE, content=known)
    (check,) = tv.gate(replace(lost(0), **{"content": known, **change}), [MaxDrop(None, 0.5)], baseline=base)
    assert (check.name, check.passed, check.verdict) == ("comparable", False, "failed")
    assert re.search(f"run and base were measured on {said}", check.line), check.line


def test_what_changes_no_number_is_not_refused() -> None:
    """The name of a convention, the run itself, a hash that one of the two lacks."""
    base = replace(BASE, content=ContentHashes({"judgments": "a", "run": "r"}), policy=Policy(convention="own", seed=4))
    run = replace(lost(0.3), content=ContentHashes({"judgments": "a", "run": "s", "corpus": "c"}))
    (check,) = tv.gate(run, [MaxDrop(None, 0.01)], baseline=base)
    assert check.name == "max-drop"


def test_a_folder_of_results_is_a_baseline(tmp_path: Path) -> None:
    def write(*runs: tv.Scores) -> None:
        text = json.dumps(results(runs, per_query=True, content=True))
        (tmp_path / "results.json").write_text(text, encoding="utf-8")

    write(GOOD)
    stored, told = (tv.gate(BAD, [MaxDrop("RR", 0.4)], baseline=each)[0] for each in (tmp_path, GOOD))
    assert (stored.value, stored.low, stored.high, stored.verdict) == (told.value, told.low, told.high, "worse")
    assert stored.baseline == f"{tmp_path}#good"
    write(GOOD, TIED)
    (chosen,) = tv.gate(BAD, [MaxDrop("RR", 0.4)], baseline=f"{tmp_path}#tied")
    assert chosen.value == -0.25
    same = replace(BAD, name="tied")
    (alike,) = tv.gate(same, [MaxDrop("RR", 0.4)], baseline=tmp_path)
    assert alike.value == -0.25
    with pytest.raises(InputError, match="it holds several runs"):
        tv.gate([same, BAD], [MaxDrop("RR", 0.4)], baseline=tmp_path)
    with pytest.raises(InputError, match="it holds several runs"):
        tv.gate(BAD, [MaxDrop("RR", 0.4)], baseline=tmp_path)
    write(tv.evaluate(run("good"), tv.Judgments.from_dict({f"q{at}": {"b": 1} for at in range(QUERIES)}), "RR P@1"))
    (refused,) = tv.gate(BAD, [MaxDrop("RR", 0.4)], baseline=tmp_path)
    assert (refused.name, refused.passed) == ("comparable", False)
    assert "were measured on different judgments, so" in refused.line
    with pytest.raises(InputError, match=r"no such baseline. It must be Scores, one of the runs \(bad\)"):
        tv.gate(BAD, [MaxDrop("RR", 0.4)], baseline="nowhere")


def test_a_baseline_may_be_the_name_of_a_run() -> None:
    (check,) = tv.gate([GOOD, BAD], [MaxDrop("RR", 0.4)], baseline="good")
    assert (check.run, check.baseline, check.verdict) == ("bad", "good", "worse")


def test_less_of_a_loss_is_better() -> None:
    more, less = (made_scores(name, np.full(9, value), measures=(LOSS,)) for name, value in (("m", 0.5), ("l", 0.2)))
    (check,) = tv.gate(less, [MaxDrop(None, 0)], baseline=more)
    assert (check.value, check.low, check.high) == pytest.approx((0.3, 0.3, 0.3), abs=1e-14)


def test_a_baseline_must_have_the_measures() -> None:
    with pytest.raises(MeasureError, match=r"The baseline base was not evaluated by RR. It has nDCG@10"):
        tv.gate(BAD, [MaxDrop("RR", 0.4)], baseline=BASE)


def test_when_unclear_is_pass_or_fail() -> None:
    with pytest.raises(PolicyError, match=r"when_unclear must be one of pass, fail. Got 'maybe'"):
        tv.gate(BAD, [MaxDrop("RR", 0.4)], baseline=GOOD, when_unclear="maybe")


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_nothing_judged_fails_alone() -> None:
    strange = tv.Run.from_dict({"q0": {"x": 1.0}}, name="strange")
    found = tv.evaluate(strange, JUDGMENTS, "RR")
    (check,) = tv.gate(found, [MaxRange(None, 1)])
    assert (check.name, check.run, check.measure, check.value, check.passed) == ("judged", "strange", None, None, False)
    assert tv.gate(found, []) == ()


@pytest.mark.parametrize(
    ("name", "text", "limit"),
    [
        ("max-range", "0.02", MaxRange(None, 0.02)),
        ("max-range", "nDCG(gain='exp')@10=0", MaxRange("nDCG(gain='exp')@10", 0)),
        ("max-drop", "AllGold@3=1e-3", MaxDrop("AllGold@3", 0.001)),
        ("min", "P@5=0.5", Minimum("P@5", 0.5)),
    ],
)
def test_limits_are_read_as_the_command_line_has_them(name: str, text: str, limit: Limit) -> None:
    found = parse_limit(name, text)
    assert found == limit
    assert parse_limit(name, str(found).partition(" ")[2]) == found


@pytest.mark.parametrize(
    ("name", "text"),
    [("max-range", "wide"), ("max-drop", "-1"), ("max-drop", "nan"), ("min", "0.5"), ("min", "RR=inf")],
)
def test_a_limit_that_cannot_be_read_names_its_option(name: str, text: str) -> None:
    with pytest.raises(PolicyError, match=f"--{name} must be .*such as .* Got {text}"):
        parse_limit(name, text)


def test_limits_that_nothing_can_be_held_against_are_refused() -> None:
    for make in (lambda: MaxRange(None, -1), lambda: MaxDrop("RR", math.nan), lambda: Minimum(None, 0.5)):
        with pytest.raises(PolicyError, match="must be"):
            make()
    with pytest.raises(PolicyError, match="Of Harm@5, less is"):
        Minimum("Harm@5", 0.1)
    with pytest.raises(MeasureError, match="Did you mean nDCG"):
        MaxRange("nDGC@10", 0.1)
    with pytest.raises(PolicyError, match="AP is not evaluated"):
        tv.gate(GOOD, [MaxRange("AP", 0.1)])
    with pytest.raises(PolicyError, match="needs --baseline RUN"):
        tv.gate(GOOD, [MaxDrop(None, 0.1)])
    with pytest.raises(MeasureError, match="geometric"):
        tv.gate(scores("a", measures="gm(RR)"), [MaxDrop(None, 0.1)], baseline=scores("b", measures="gm(RR)"))
