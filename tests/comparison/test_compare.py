import math
import time
import warnings
from dataclasses import replace
from itertools import combinations, pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from tests.comparison.made_scores import LOSS, made_scores

import trueval as tv
from trueval.comparison.compare import compare_scores
from trueval.comparison.resampling.bootstrap_intervals import Extremes, bootstrap_intervals
from trueval.errors import InputError, MeasureError, PolicyError, TruevalWarning

RNG = np.random.default_rng(0)
BASE = RNG.random(30)
BETTER = np.clip(BASE + 0.1 + 0.1 * RNG.normal(size=30), 0, 1)


def only(*scores, **choices):
    (difference,) = compare_scores(scores, **{"resamples": 1000} | choices).differences
    return difference


def test_every_number_of_a_pair_by_hand() -> None:
    a = made_scores("a", [0.5, 0.4, 0.3, 0.2], [0.1, 0, 0, 0], tie_broken=[0.6, 0.4, 0.3, 0.2])
    b = made_scores("b", [0.1, 0.4, 0.4, 0.1], [0, 0, 0.2, 0])
    found = only(a, b)
    assert found.queries == 4
    assert found.expected == pytest.approx((0.4 + 0 - 0.1 + 0.1) / 4)
    assert (found.lowest, found.highest) == pytest.approx((found.expected - 0.075, found.expected + 0.075))
    assert found.tie_broken == pytest.approx(found.expected + 0.025)
    assert found.sd == pytest.approx(math.sqrt(0.1**2 + 0.2**2) / 4)
    assert (found.wins, found.ties, found.losses) == (2, 1, 1)
    differences = np.array([0.4, 0, -0.1, 0.1])
    assert found.cohen_d == pytest.approx(differences.mean() / differences.std(ddof=1))
    # The sum with 0.4 positive is 0.4 +- 0.1 +- 0.1: it reaches the observed 0.4 in 3 of 4 patterns.
    assert found.tests.randomization == pytest.approx(0.75)
    assert found.tests.exact


def test_the_other_way_round_is_the_mirror_image() -> None:
    a, b = made_scores("a", BETTER, 0.05), made_scores("b", BASE, 0.02)
    one, other = only(a, b), only(b, a)
    assert one.expected == -other.expected
    assert (one.lowest, one.highest) == (-other.highest, -other.lowest)
    assert one.win.value == pytest.approx(1 - other.win.value)
    assert one.tests == other.tests
    assert (one.wins, one.losses) == (other.losses, other.wins)
    assert one.verdict == other.verdict == "separated"


def test_lower_is_better_turns_wins_and_places_but_no_difference() -> None:
    a, b = (made_scores(name, values, 0.001, measures=(LOSS,)) for name, values in (("a", BASE), ("b", BETTER)))
    found = compare_scores([a, b], resamples=1000)
    (pair,) = found.differences
    assert pair.expected < 0 < pair.gain
    assert pair.win.value == 1.0
    assert pair.wins > pair.losses
    assert [row.run for row in found.leaderboards[0].ranking] == ["a", "b"]
    usual = only(made_scores("a", BASE, 0.001), made_scores("b", BETTER, 0.001))
    assert (usual.expected, usual.win.value, usual.wins) == (pair.expected, 0.0, pair.losses)


def test_win_probability_over_two_queries_by_hand() -> None:
    judgments = tv.Judgments.from_dict({"q1": {"a": 1}, "q2": {"b": 1}})
    one = tv.Run.from_dict({"q1": {"a": 1.0, "b": 1.0}, "q2": {"a": 1.0, "b": 2.0}}, name="one")
    other = tv.Run.from_dict({"q1": {"a": 1.0, "b": 1.0}, "q2": {"a": 1.0, "b": 1.0}}, name="other")
    (pair,) = tv.compare([one, other], judgments, "P@1", resamples=100).differences
    # P@1 of one: a coin on q1, 1 on q2; of the other: two coins.
    sums = [(x + 1) - (y + z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    assert pair.win.value == pytest.approx(sum(1 if s > 0 else 0.5 if s == 0 else 0 for s in sums) / 8)


def test_undecidable_and_reversed() -> None:
    a, b = made_scores("a", BASE + 0.001, 0.2), made_scores("b", BASE, 0.2)
    assert only(a, b).verdict == "undecidable under ties"
    turned = made_scores("a", BETTER, 0.2, tie_broken=BETTER - 0.2)
    assert only(turned, b).verdict == "the tie-broken order is reversed by the expectation"
    assert only(made_scores("a", BASE), made_scores("b", BASE)).verdict == "not separated by these queries"


def test_the_realized_interval_is_wider_by_the_tie_variance_of_both() -> None:
    a, b = (made_scores(name, values, 0.3) for name, values in (("a", BETTER), ("b", BASE)))
    found = only(a, b, resamples=20_000)
    sharp, blurred = (np.diff(span)[0] for span in (found.expected_interval, found.realized_interval))
    deviation = np.std(BETTER - BASE)
    assert blurred / sharp == pytest.approx(math.sqrt(deviation**2 + 2 * 0.3**2) / deviation, rel=0.03)
    tieless = only(made_scores("a", BETTER), made_scores("b", BASE))
    assert tieless.expected_interval == tieless.realized_interval


def test_an_unknown_tie_variance_leaves_out_what_needs_it() -> None:
    a = made_scores("a", BETTER, 0.3)
    object.__setattr__(a, "sd", np.full_like(a.sd, np.nan))
    found = only(a, made_scores("b", BASE))
    assert found.realized_bounded
    assert found.to_dict()["realized_bounded"] is True
    assert not np.isnan(found.expected_interval).any()
    assert found.win.method == "none"
    assert found.undecidable


@pytest.mark.parametrize("statistic", ["lowest", "highest"])
def test_without_variance_and_extremes_there_is_no_realized_interval(statistic: str) -> None:
    a, b = made_scores("a", BETTER, 0.3), made_scores("b", BASE)
    for name in ("sd", statistic):
        values = getattr(a, name).copy()
        values[3] = np.nan
        object.__setattr__(a, name, values)
    for found in (only(a, b), only(b, a)):
        assert np.isnan(found.realized_interval).all()
        assert found.to_dict()["realized_interval"] == [None, None]
        assert not found.realized_bounded
    one_query = only(made_scores("a", [0.5]), made_scores("b", [0.3]))
    assert not one_query.realized_bounded


def tied_runs(queries: int, *, alike: bool) -> tuple[tv.Run, tv.Run, tv.Judgments]:
    """Two runs of six documents, three of them relevant; some tie, and every query is the same or none is."""
    rng = np.random.default_rng(4)
    patterns = (
        rng.integers(0, 2, (2, queries, 6)) if not alike else np.array([[[0] * 6] * queries, [[0, 1] * 3] * queries])
    )
    grades = {f"q{query}": {f"d{at}": int(at in (0, 3, 4)) for at in range(6)} for query in range(queries)}
    runs = [
        tv.Run.from_dict(
            {f"q{q}": {f"d{at}": float(score) for at, score in enumerate(own)} for q, own in enumerate(each)}, name=name
        )
        for name, each in zip(("one", "other"), patterns, strict=True)
    ]
    return runs[0], runs[1], tv.Judgments.from_dict(grades)


def test_the_bounded_interval_contains_the_one_of_a_known_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = tied_runs(30, alike=False)
    (known,) = tv.compare(runs[:2], runs[2], "IPrec11", resamples=2000).differences
    assert not known.realized_bounded
    monkeypatch.setattr("trueval.measures.interpolated_precision.MOST_ORDERS", 1)
    (bounded,) = tv.compare(runs[:2], runs[2], "IPrec11", resamples=2000).differences
    assert bounded.realized_bounded
    assert math.isnan(bounded.sd)
    assert bounded.expected_interval == known.expected_interval
    low, high = bounded.realized_interval
    assert low < known.realized_interval.low < known.expected_interval.low
    assert high > known.realized_interval.high > known.expected_interval.high
    assert low < bounded.lowest < bounded.highest < high


def test_the_bounded_interval_of_equal_queries_is_the_range_of_all_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, judgments = tied_runs(4, alike=True)
    monkeypatch.setattr("trueval.measures.interpolated_precision.MOST_ORDERS", 1)
    (found,) = tv.compare([one, other], judgments, "IPrec11", resamples=500).differences
    values = []
    grades = dict(first_of(judgments).frame.select("doc_id", "grade").iter_rows())
    for run in (one, other):
        scores = run.frame.filter(run.frame["query_id"] == "q0")
        orders = [
            {document: -float(place) for place, (document, _) in enumerate(order)}
            for order in permutations(zip(scores["doc_id"], scores["score"], strict=True))
            if all(before[1] >= after[1] for before, after in pairwise(order))
        ]
        each = tv.Run.from_dict({f"order{n}": order for n, order in enumerate(orders)})
        again = tv.Judgments.from_dict(dict.fromkeys(each.query_ids, grades))
        values.append(set(tv.evaluate(each, again, "IPrec11").expected[:, 0].tolist()))
    differences = [a - b for a in values[0] for b in values[1]]
    assert len(differences) > 20
    assert found.realized_bounded
    assert found.realized_interval == pytest.approx((min(differences), max(differences)), abs=1e-12)


def first_of(judgments: tv.Judgments) -> tv.Judgments:
    return tv.Judgments.from_frame(judgments.frame.filter(judgments.frame["query_id"] == "q0"))


def test_bounds_leave_known_intervals_alone_and_contain_the_expected_ones() -> None:
    rng = np.random.default_rng(11)
    expected, reach = rng.random((25, 6)), rng.random((25, 6)) * (rng.random((25, 6)) < 0.4)
    variance = reach**2 / 3
    variance[7, 4] = np.nan
    extremes = Extremes(expected - reach, expected + 2 * reach)
    first, second = np.array(list(combinations(range(6), 2))).T
    options = {"level": 0.9, "resamples": 700, "seed": 3}
    plain = bootstrap_intervals(expected, variance, first, second, **options, threads=1)
    one, two = (
        bootstrap_intervals(expected, variance, first, second, **options, threads=threads, extremes=extremes)
        for threads in (1, 2)
    )
    assert [part.tobytes() for part in one] == [part.tobytes() for part in two]
    unknown = (first == 4) | (second == 4)
    assert one.bounded.tolist() == unknown.tolist()
    assert not plain.bounded.any()
    assert np.isnan(plain.realized[unknown]).all()
    assert one.expected.tobytes() == plain.expected.tobytes()
    assert one.realized[~unknown].tobytes() == plain.realized[~unknown].tobytes()
    assert (one.realized[unknown, 0] < one.expected[unknown, 0]).all()
    assert (one.realized[unknown, 1] > one.expected[unknown, 1]).all()


def interval_of(*columns: np.ndarray) -> np.ndarray:
    """Ends of the expected interval of two systems."""
    options = {"level": 0.95, "resamples": 1000, "seed": 0, "threads": 1}
    values = np.stack(columns, axis=1)
    return bootstrap_intervals(values, 0 * values, np.array([0]), np.array([1]), **options).expected[0]


@pytest.mark.parametrize("steady", [False, True])
def test_a_bounded_interval_is_the_wider_of_two(steady: bool) -> None:
    """An end is that of the mean of extremes; or, where those vary less than expectations do, as far from it."""
    rng = np.random.default_rng(12)
    expected = rng.random((40, 2))
    reach = np.zeros((40, 2)) if steady else rng.random((40, 2))
    lowest, highest = (-reach - 0.1, reach + 1.2) if steady else (expected - reach, expected + 2 * reach)
    options = {"level": 0.95, "resamples": 1000, "seed": 0, "threads": 1, "extremes": Extremes(lowest, highest)}
    found = bootstrap_intervals(expected, np.full((40, 2), np.nan), np.array([0]), np.array([1]), **options)
    varying = (interval_of(lowest[:, 0], highest[:, 1])[0], interval_of(highest[:, 0], lowest[:, 1])[1])
    middle = np.subtract(*expected.mean(axis=0))
    moved = interval_of(*expected.T) - middle
    extreme = (lowest[:, 0] - highest[:, 1]).mean(), (highest[:, 0] - lowest[:, 1]).mean()
    shifted = (extreme[0] + moved[0], extreme[1] + moved[1])
    assert (shifted[0] < varying[0] and shifted[1] > varying[1]) == steady
    assert found.realized[0] == pytest.approx(shifted if steady else varying, abs=1e-12)


def test_lower_is_better_bounds_the_same_differences() -> None:
    bounds = []
    for measures in ("nDCG@10", (LOSS,)):
        a, b = made_scores("a", BETTER, 0.2, measures=measures), made_scores("b", BASE, 0.1, measures=measures)
        object.__setattr__(b, "sd", np.full_like(b.sd, np.nan))
        bounds.append(only(a, b).realized_interval)
    assert bounds[0] == bounds[1]


def test_baseline_comes_second_and_drops_the_groups() -> None:
    scores = [made_scores(name, values) for name, values in (("a", BASE), ("b", BETTER), ("c", BASE / 2))]
    found = compare_scores(scores, baseline="b", resamples=1000)
    assert [(each.first, each.second) for each in found.differences] == [("a", "b"), ("c", "b")]
    assert {row.groups for row in found.leaderboards[0].ranking} == {""}
    everyone = compare_scores(scores, resamples=1000)
    assert len(everyone.differences) == 3
    assert [row.groups for row in everyone.leaderboards[0].ranking] == ["a", "b", "c"]
    assert everyone.difference("nDCG@10", "a", "b").first == "a"


def test_the_family_decides_how_far_p_is_adjusted() -> None:
    rng = np.random.default_rng(3)
    scores = [made_scores(name, rng.random((20, 2)), measures="nDCG@10 RR@10") for name in "abc"]
    each, together = (
        compare_scores(scores, resamples=1000, family=family).differences for family in ("measure", "all")
    )
    smallest = min(each, key=lambda pair: pair.tests.randomization)
    p = smallest.tests.randomization
    assert smallest.tests.holm == pytest.approx(min(3 * p, 1))
    same = next(
        x for x in together if (x.measure, x.first, x.second) == (smallest.measure, smallest.first, smallest.second)
    )
    assert same.tests.holm == pytest.approx(min(6 * p, 1))


@pytest.mark.parametrize("test", ["randomization", "t", "wilcoxon"])
def test_the_chosen_test_is_the_one_adjusted(test: str) -> None:
    found = only(made_scores("a", BETTER), made_scores("b", BASE), test=test)
    assert found.tests.holm == getattr(found.tests, test)


def test_queries_that_a_run_lacks() -> None:
    judgments = tv.Judgments.from_dict({f"q{n}": {"x": 1} for n in range(3)})
    a = tv.Run.from_dict({f"q{n}": {"y": 2.0, "x": 1.0} for n in (1, 2)}, name="a")
    b = tv.Run.from_dict({f"q{n}": {"x": 2.0, "y": 1.0} for n in range(3)}, name="b")
    with pytest.warns(TruevalWarning, match="judged and missing"):
        worst = tv.compare([a, b], judgments, "RR", resamples=1000).differences[0]
    assert (worst.queries, worst.expected) == (3, pytest.approx(-2 / 3))
    with pytest.warns(TruevalWarning, match="judged and missing"):
        common = tv.compare([a, b], judgments, "RR", missing="skip", resamples=1000)
    assert (common.differences[0].queries, common.differences[0].expected) == (2, -0.5)
    assert common.leaderboards[0].left_out == ("q0",)
    assert any("1 of 3 queries are left out" in note for note in common.notes)
    with pytest.raises(InputError, match="lacks 1 of 3 judged queries, the first 'q0'"):
        tv.compare([a, b], judgments, "RR", missing="error")


def test_queries_without_a_value_are_left_out_of_their_measure_by_all() -> None:
    a = made_scores("a", [[0.1, 0.2], [0.3, np.nan], [0.5, 0.6]], measures="nDCG@10 RR@10")
    b = made_scores("b", [[0.2, 0.1], [np.nan, 0.2], [0.2, 0.3]], measures="nDCG@10 RR@10")
    found = compare_scores([a, b], resamples=1000)
    assert [pair.queries for pair in found.differences] == [2, 2]
    assert [pair.expected for pair in found.differences] == pytest.approx([0.1, 0.2])
    nothing = only(made_scores("a", [np.nan, 0.1]), made_scores("b", [0.1, np.nan]))
    assert nothing.queries == 0
    assert math.isnan(nothing.expected)
    assert nothing.verdict == "not separated by these queries"


def test_scores_of_other_queries_need_the_policy_skip() -> None:
    a, b = made_scores("a", [0.1, 0.2, 0.4]), made_scores("b", [0.4, 0.2], ids=("q2", "q1"))
    with pytest.raises(InputError, match="b was not evaluated on 'q0'"):
        compare_scores([a, b])
    skip = tv.Policy(missing="skip")
    found = compare_scores([replace(a, policy=skip), replace(b, policy=skip)], resamples=1000)
    assert found.differences[0].queries == 2
    assert found.differences[0].expected == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("scores", "choices", "error", "words"),
    [
        (("a",), {}, InputError, "at least 2 runs"),
        (("a", "a"), {}, InputError, "different names"),
        (("a", "b"), {"baseline": "c"}, InputError, "one of the runs a, b"),
        (("a", "b"), {"test": "z"}, PolicyError, "randomization, t, wilcoxon"),
        (("a", "b"), {"family": "z"}, PolicyError, "measure, all"),
        (("a", "b"), {"level": 95}, PolicyError, "0.95"),
        (("a", "b"), {"resamples": 1}, PolicyError, ">= 100"),
        (("a", "b"), {"resample": 1000}, PolicyError, "Unknown choice 'resample'"),
        (("a", "b"), {"threads": 0}, PolicyError, "threads"),
    ],
)
def test_bad_choices_say_what_is_accepted(scores, choices, error, words) -> None:
    with pytest.raises(error, match=words):
        compare_scores([made_scores(name, BASE) for name in scores], **choices)


def test_other_measures_cannot_be_compared() -> None:
    with pytest.raises(MeasureError, match="same measures"):
        compare_scores([made_scores("a", BASE), made_scores("b", BASE, measures="RR")])


def test_one_query_has_neither_interval_nor_t() -> None:
    found = only(made_scores("a", [0.5]), made_scores("b", [0.3]))
    assert np.isnan(found.expected_interval).all()
    assert math.isnan(found.tests.t)
    assert found.tests.randomization == 1.0


def test_threads_change_nothing_and_a_seed_does() -> None:
    scores = [made_scores(name, RNG.random((25, 2)), 0.1, measures="nDCG@10 RR@10") for name in "abcde"]
    one, two, other = (
        compare_scores(scores, threads=threads, seed=seed).to_dict() for threads, seed in ((1, 0), (2, 0), (1, 1))
    )
    assert one == two
    assert one["differences"] != other["differences"]


def test_frame_and_json_hold_the_same_numbers() -> None:
    found = compare_scores([made_scores("a", BETTER, 0.1), made_scores("b", BASE)], resamples=1000)
    row = found.to_polars().to_dicts()[0]
    entry = found.to_dict()["differences"][0]
    assert row["expected"] == entry["expected"]
    assert row["win_low"] == entry["win"]["low"]
    assert row["p_holm"] == entry["tests"]["holm"]
    assert [row["realized_interval_low"], row["realized_interval_high"]] == entry["realized_interval"]


@pytest.mark.parametrize("precision", [None, "bfloat16"])
def test_all_pairs_of_the_real_runs_in_seconds(dl_hard_folder: Path, precision: str | None) -> None:
    runs = [tv.Run.read(path) for path in sorted(dl_hard_folder.glob("*.run.gz"))]
    judgments = tv.Judgments.read(dl_hard_folder / "qrels.trec")
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tv.errors.TruevalWarning)
        found = tv.compare(runs, judgments, "nDCG@10 RR@10 AP@100 R@100 P@10", tie_precision=precision)
    assert time.process_time() - begin < 20  # of the processor: others may be working on this machine
    assert len(found.differences) == 15 * 5
    for pair in found.differences:
        assert pair.lowest <= pair.expected <= pair.highest
        assert pair.expected_interval.low <= pair.expected <= pair.expected_interval.high
        assert pair.win.low <= pair.win.value <= pair.win.high
        assert pair.wins + pair.ties + pair.losses == pair.queries == 50
    assert found.difference("nDCG@10", "bm25+t5(zs)", "bm25").separated
    by_order = [pair.win.method for pair in found.differences]
    assert "exact" in by_order or precision is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "measures"),
    [
        (("bm25+bert(zs)", "bm25"), "nDCG@10 RR@10"),
        pytest.param(
            ("bm25+bert(zs)", "bm25+rm3+bert(zs)", "bm25"), "nDCG@10 AP@100 RR@10", marks=pytest.mark.evidence
        ),
    ],
)
def test_real_win_probabilities_agree_with_sampled_orders(
    dl_hard_folder: Path, names: tuple[str, ...], measures: str
) -> None:
    runs = [tv.Run.read(dl_hard_folder / f"{name}.run.gz") for name in names]
    judgments = tv.Judgments.read(dl_hard_folder / "qrels.trec")
    plain, drawn = (
        tv.compare(runs, judgments, measures, tie_precision=0.5, resamples=100, tie_samples=samples)
        for samples in (0, 1000)
    )
    uncertain = 0
    for one, other in zip(plain.differences, drawn.differences, strict=True):
        uncertain += one.win.method in ("exact", "normal")
        assert one.win.value == pytest.approx(other.win.value, abs=0.06)
        assert one.win.low <= other.win.high
        assert other.win.low <= one.win.high
    assert uncertain


def test_a_geometric_mean_is_not_compared_query_by_query() -> None:
    judgments = tv.Judgments.from_dict({"q": {"a": 1}, "r": {"b": 1}})
    one, other = (tv.Run.from_dict({"q": {"a": 2.0, "b": 1.0}, "r": {"b": 1.0}}, name=name) for name in "ab")
    with pytest.raises(MeasureError, match="Compare AP instead"):
        tv.compare([one, other], judgments, "gm(AP)")


# Ties that the choices below move, split or cut, and documents of q3 without a grade.
UNDER = {
    "one": {"q1": {"a": 3.0, "b": 3.0, "c": 3.0}, "q2": {"c": 2.0, "b": 1.0, "a": 1.0}, "q3": {"x": 3.0, "a": 2.0}},
    "other": {"q1": {"b": 2.0, "a": 1.0, "x": 1.0}, "q2": {"a": 2.0, "b": 2.0}, "q3": {"y": 2.0, "a": 2.0, "x": 2.0}},
}
GRADES = {"q1": {"a": 1, "b": 0, "c": 0}, "q2": {"a": 0, "b": 1, "c": 0}, "q3": {"a": 1}, "q4": {"a": 0}}
CHOSEN = [
    {"depth": 2},
    {"judged_only": True},
    {"convention": "sklearn"},
    {"convention": "pytrec_eval"},
    {"convention": "torchmetrics"},
    {"policy": tv.Policy(depth=2, judged_only=True)},
    {"policy": tv.Policy(depth=1), "depth": 2},
]


def quietly(call, *arguments, **choices):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        return call(*arguments, **choices)


@pytest.mark.parametrize("choices", CHOSEN, ids=str)
def test_a_comparison_is_of_the_values_that_evaluate_finds_under_the_same_choices(choices) -> None:
    measures, judgments = ["AP", "nDCG", "nDCG@2"], tv.Judgments.from_dict(GRADES)
    runs = [tv.Run.from_dict(run, name=name) for name, run in UNDER.items()]
    one, other = (quietly(tv.evaluate, run, judgments, measures, **choices) for run in runs)
    found = quietly(tv.compare, runs, judgments, measures, resamples=100, **choices)
    usual = quietly(tv.compare, runs, judgments, measures, resamples=100)
    assert found.choices["policy"] == one.policy.to_dict() != usual.choices["policy"]
    rankings = [{row.run: (row.expected, row.lowest, row.highest) for row in b.ranking} for b in found.leaderboards]
    for pair, ranking in zip(found.differences, rankings, strict=True):
        mean, less = one[pair.measure], other[pair.measure]
        assert pair.queries == mean.queries == less.queries
        assert ranking == {name: pytest.approx(each[:3]) for name, each in (("one", mean), ("other", less))}
        for name in ("expected", "tie_broken"):
            apart = getattr(mean, name) - getattr(less, name)
            assert getattr(pair, name) == pytest.approx(apart, nan_ok=True, abs=1e-15)
        ends = (mean.lowest - less.highest, mean.highest - less.lowest)
        assert (pair.lowest, pair.highest) == pytest.approx(ends, abs=1e-15)
        assert pair.sd == pytest.approx(math.hypot(mean.sd, less.sd), abs=1e-15)


@pytest.mark.parametrize(
    ("choices", "win"),
    [
        # RR of q1 is 1, 1/2 or 1/3 by chance against 1/2 or 1/3: won 1/3 + 1/6, even 1/6 + 1/6, lost 1/6.
        ({}, 1 / 3 + 1 / 6 + (1 / 6 + 1 / 6) / 2),
        # 1, 1/2 or 0 against 1/2 or 0: the same order of values.
        ({"depth": 2}, 1 / 3 + 1 / 6 + (1 / 6 + 1 / 6) / 2),
        # 1 or 0, against 0: what is not the first is not listed.
        ({"depth": 1}, 1 / 3 + (2 / 3) / 2),
        # Without the document that nobody judged, a is the second of two for certain: 1, 1/2 or 1/3 against 1/2.
        ({"judged_only": True}, 1 / 3 + (1 / 3) / 2),
    ],
)
def test_win_probabilities_are_of_the_lists_that_the_choices_leave(choices, win: float) -> None:
    judgments = tv.Judgments.from_dict({"q1": GRADES["q1"]})
    runs = {name: {"q1": run["q1"]} for name, run in UNDER.items()}
    (pair,) = quietly(tv.compare, runs, judgments, "RR", resamples=100, **choices).differences
    assert pair.win.method == "exact"
    assert pair.win.value == pytest.approx(win, abs=1e-12)


def test_the_deviation_of_no_queries_is_not_0() -> None:
    a, b = (made_scores(name, [np.nan, np.nan], [np.nan, np.nan]) for name in "ab")
    found = only(a, b)
    assert (found.queries, found.win.method) == (0, "none")
    assert math.isnan(found.sd)


def test_the_lists_of_runs_are_compared_too() -> None:
    """By hand: q1 shares 2 of 3, in reverse; q2 ties, and shares a alone; a query that one run lacks is left out."""
    one = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 1.0, "b": 1.0}, "q3": {"a": 1.0}}
    other = {"q1": {"b": 3.0, "a": 2.0, "x": 1.0}, "q2": {"a": 1.0, "x": 1.0}}
    runs, judgments = {"one": one, "other": other}, {query: {"a": 1} for query in one}
    with pytest.warns(TruevalWarning, match="missing from the run"):
        found = tv.compare(runs, judgments, "P@1", missing="worst").reshuffle
    with pytest.warns(TruevalWarning, match="missing from the run"):
        shallow = tv.compare(runs, judgments, "P@1", missing="worst", depth=1).reshuffle
    (pair,) = found.pairs
    assert (found.k, found.queries, found.of, pair.queries) == (10, 3, 3, 2)
    # K = 1 (a, b) + 0 + 0 + 0 + 0 + 1 (c, x) of 9 + 3 = 12; of q2 2 · 2 + 1 = 5, K = 1/2 + 1/2 + 1.
    assert pair.overlap == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert pair.tau == pytest.approx((1 - 4 / 12 + 1 - 4 / 5) / 2)
    assert (found.single, shallow.single) == (1, 3)  # q3 of one; all at depth 1
    assert (shallow.k, shallow.depth) == (1, 1)
    assert shallow.pairs[0].overlap == pytest.approx((0 + 1 / 4) / 2)


def test_of_many_queries_some_are_compared_the_same_for_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueval.comparison.resampling.run_reshuffle.MOST_QUERIES", 5)
    runs = {name: {f"q{i}": {name: 1.0 if i % 2 else 2.0, "a": 1.5} for i in range(20)} for name in ("x", "y")}
    judgments = {f"q{i}": {"a": 1} for i in range(20)}
    first, second, third = (tv.compare(runs, judgments, "P@1", seed=seed).to_dict()["reshuffle"] for seed in (1, 1, 2))
    assert (first["queries"], first["of"], first == second, first == third) == (5, 20, True, False)


def test_a_list_of_which_a_policy_leaves_nothing_is_compared() -> None:
    """Only what no run lists is missing: with missing='skip' the empty list still counts as the 0 that it is worth."""
    judgments = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    full = {query: {"a": 1.0} for query in ("q1", "q2")}
    bare = {"q1": {"a": 1.0}, "q2": {"z": 1.0}}
    found = quietly(tv.compare, {"full": full, "bare": bare}, judgments, "AP", judged_only=True, missing="skip")
    difference = found.differences[0]
    assert (difference.queries, difference.expected) == (2, 0.5)
