"""Power of paired differences: the formulas, what `power` finds, and simulations of what it promises."""

import json
import math
from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
from scipy.stats import nct, norm, t
from tests.comparison.made_scores import LOSS, made_scores

import trueval
from trueval import Judgments, Run
from trueval.comparison.power.power_analysis import power_of_scores
from trueval.comparison.power.power_result import PairPower, Power
from trueval.comparison.power.sample_size import least_difference, queries_needed
from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.report.formats import to_json


@pytest.mark.parametrize("queries", [2, 3, 12, 50, 1000])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
def test_the_least_difference_is_two_quantiles_of_t(queries: int, power: float) -> None:
    expected = (t.ppf(0.995, queries - 1) + t.ppf(power, queries - 1)) * 0.3 / math.sqrt(queries)
    assert least_difference(0.3, queries, level=0.99, power=power) == pytest.approx(expected, rel=1e-9)


def test_a_power_of_one_half_gives_the_half_width_of_an_interval() -> None:
    half_width = t.ppf(0.975, 11) * 0.2 / math.sqrt(12)
    assert least_difference(0.2, 12, level=0.95, power=0.5) == pytest.approx(half_width, rel=1e-12)


@pytest.mark.parametrize("queries", [8, 12, 50, 200])
def test_from_eight_queries_on_the_exact_power_is_that_asked_for(queries: int) -> None:
    shift = least_difference(1.0, queries, level=0.95, power=0.8) * math.sqrt(queries)
    bar = t.ppf(0.975, queries - 1)
    assert nct.sf(bar, queries - 1, shift) == pytest.approx(0.8, abs=0.003)


@pytest.mark.parametrize("queries", [2, 3, 4, 7, 12, 50, 199, 10_000, 10**9])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_queries_needed_turns_the_least_difference_round(queries: int, power: float) -> None:
    least = least_difference(0.17, queries, level=0.95, power=power)
    assert queries_needed(least, 0.17, level=0.95, power=power) == queries
    assert queries_needed(-least, 0.17, level=0.95, power=power) == queries
    assert queries_needed(least * 0.999999, 0.17, level=0.95, power=power) > queries


def test_queries_needed_agrees_with_a_search_one_by_one() -> None:
    for difference in (0.5, 0.2, 0.1, 0.05, 0.03):
        plain = next(
            n for n in range(2, 10_000) if (t.ppf(0.95, n - 1) + t.ppf(0.9, n - 1)) * 0.25 / math.sqrt(n) <= difference
        )
        assert queries_needed(difference, 0.25, level=0.9, power=0.9) == plain


def test_many_queries_are_those_of_the_normal_distribution() -> None:
    needed = queries_needed(1e-4, 0.3, level=0.95, power=0.8)
    assert needed == pytest.approx(((norm.ppf(0.975) + norm.ppf(0.8)) * 3000) ** 2, rel=1e-6)


def test_nearly_as_many_queries_as_are_ever_asked_for_are_found() -> None:
    quantiles = norm.ppf(0.975) + norm.ppf(0.8)
    found = queries_needed(quantiles / math.sqrt(8e11), 1.0, level=0.95, power=0.8)
    assert found == pytest.approx(8e11)


def test_no_number_of_queries_is_enough_for_nothing() -> None:
    options = {"level": 0.95, "power": 0.8}
    assert queries_needed(0.0, 0.2, **options) is None
    assert queries_needed(0.0, 0.0, **options) is None
    assert queries_needed(1e-12, 0.2, **options) is None
    assert queries_needed(math.nan, 0.2, **options) is None
    assert queries_needed(0.1, math.nan, **options) is None
    assert queries_needed(0.1, math.inf, **options) is None
    assert queries_needed(0.1, 0.0, **options) == 2
    assert math.isnan(least_difference(0.2, 1, **options))
    assert math.isnan(least_difference(math.nan, 20, **options))


@pytest.mark.parametrize(("level", "power"), [(0.5, 0.8), (1.0, 0.8), (0.95, 0.4), (0.95, 1.0), (95, 0.8), (0.95, 80)])
def test_chances_out_of_range_are_refused(level: float, power: float) -> None:
    for ask in (least_difference, queries_needed):
        with pytest.raises(PolicyError, match=r"must be .*Got"):
            ask(0.1, 20, level=level, power=power)


# ---- what `power` finds ----


def only_pair(found: Power) -> PairPower:
    ((pair,),) = (each.pairs for each in found.measures)
    return pair


def normal(queries: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.5, 0.1, queries)


def test_expected_and_tie_broken_values_apart() -> None:
    a, b = normal(30, 1), normal(30, 2)
    found = power_of_scores([made_scores("a", a + 0.2, 0.05), made_scores("b", b, 0.03)], level=0.9, power=0.7)
    pair, sd = only_pair(found), np.std(a + 0.2 - b, ddof=1)
    both = math.sqrt(sd**2 + 0.05**2 + 0.03**2)
    for detection, spread in ((pair.expected, sd), (pair.tie_broken, both)):
        assert detection.sd == pytest.approx(spread)
        assert detection.difference == pytest.approx(0.2 + a.mean() - b.mean())
        assert detection.half_width == pytest.approx(t.ppf(0.95, 29) * spread / math.sqrt(30))
        # The rule of `compare` needs a little more than a t test does, which never is enough for it.
        alone = least_difference(spread, 30, level=0.9, power=0.7)
        assert 0.97 * alone < detection.least_difference < 1.15 * alone
        assert detection.least_difference / pair.expected.least_difference == pytest.approx(spread / sd)
        wanted = detection.difference
        assert 0.9 * queries_needed(wanted, spread, level=0.9, power=0.7) <= detection.queries_needed <= 30
        assert detection.clusters_needed is None
    assert (pair.first, pair.second, pair.wanted) == ("a", "b", pytest.approx(pair.expected.difference))


def test_the_two_noises_add_up() -> None:
    pair = only_pair(power_of_scores([made_scores("a", normal(20, 1), 0.1), made_scores("b", normal(20, 2))]))
    assert pair.sampling.share + pair.ties.share == pytest.approx(1.0)
    assert math.hypot(pair.sampling.half_width, pair.ties.half_width) == pytest.approx(pair.tie_broken.half_width)
    assert pair.sampling.half_width == pair.expected.half_width
    assert pair.ties.half_width == pytest.approx(t.ppf(0.975, 19) * 0.1 / math.sqrt(20))


@pytest.mark.slow
def test_a_wanted_difference_is_counted_for_in_place_of_the_measured_one() -> None:
    scores = [made_scores("a", normal(40, 1)), made_scores("b", normal(40, 2))]
    pair = only_pair(power_of_scores(scores, difference=0.03))
    assert pair.wanted == 0.03
    alone = queries_needed(0.03, pair.expected.sd, level=0.95, power=0.8)
    assert pair.expected.queries_needed == pytest.approx(alone, rel=0.25)
    assert pair.expected.least_difference == only_pair(power_of_scores(scores)).expected.least_difference


def test_the_curve_falls_through_the_measured_point() -> None:
    found = power_of_scores([made_scores("a", normal(37, 1), 0.1), made_scores("b", normal(37, 2))]).measures[0]
    assert found.curve.queries == (5, 10, 20, 37, 50, 100, 200, 500, 1000)
    assert found.curve.clusters is None
    pair = found.pairs[0]
    for curve, detection in ((pair.curve.expected, pair.expected), (pair.curve.tie_broken, pair.tie_broken)):
        assert curve[3] == pytest.approx(detection.least_difference)
        assert math.isnan(curve[0])  # no sign pattern of five queries is rare enough
        assert list(curve[1:]) == sorted(curve[1:], reverse=True)
        assert curve[-1] == pytest.approx(least_difference(detection.sd, 1000, level=0.95, power=0.8), rel=0.12)


@pytest.mark.slow
def test_the_queries_needed_have_the_wanted_difference_as_least_difference() -> None:
    scores = [made_scores("a", normal(40, 1)), made_scores("b", normal(40, 2)), made_scores("c", normal(40, 3))]
    for wanted in (0.02, 0.05, 0.1):
        for pair in power_of_scores(scores, difference=wanted).measures[0].pairs:
            curve = dict(zip((5, 10, 20, 40, 50, 100, 200, 500, 1000), pair.curve.expected, strict=True))
            needed = pair.expected.queries_needed
            below, above = (max(n for n in curve if n <= needed), min(n for n in curve if n >= needed))
            assert not curve[below] < wanted
            assert curve[above] <= wanted


def test_a_difference_that_few_queries_separate_needs_as_many_as_any_pattern_takes() -> None:
    """However large it is: of five queries two of 32 patterns of signs are as extreme, of six two of 64."""
    pair = only_pair(
        power_of_scores([made_scores("a", normal(40, 1)), made_scores("b", normal(40, 2))], difference=9.0)
    )
    assert pair.expected.queries_needed == 6


@pytest.mark.slow
def test_pairs_are_in_the_order_of_the_ranking_and_found_in_either() -> None:
    scores = [
        made_scores(name, normal(10, seed) + up) for seed, (name, up) in enumerate([("c", 0), ("a", 2), ("b", 1)])
    ]
    found = power_of_scores(scores)
    assert [row.run for row in found.measures[0].ranking] == ["a", "b", "c"]
    assert [(pair.first, pair.second) for pair in found.measures[0].pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found.pair("nDCG@10", "c", "a") is found.pair("nDCG@10", "a", "c")
    against = power_of_scores(scores, baseline="b")
    assert [(pair.first, pair.second) for pair in against.measures[0].pairs] == [("a", "b"), ("c", "b")]
    with pytest.raises(
        InputError, match=r"a and c on nDCG@10 were not analyzed. Analyzed are a and b on nDCG@10, c and"
    ):
        against.pair("nDCG@10", "a", "c")


def test_where_less_is_better_the_lower_mean_comes_first() -> None:
    scores = [
        made_scores(name, normal(10, 3) * size, measures=(LOSS,)) for name, size in (("big", 2.0), ("small", 1.0))
    ]
    found = power_of_scores(scores)
    pair = only_pair(found)
    assert (found.measures[0].better, pair.first, pair.expected.difference < 0) == ("lower", "small", True)
    assert pair.wanted == pytest.approx(-pair.expected.difference)
    assert pair.expected.queries_needed is not None


def test_equal_clusters_have_the_deviation_of_their_means() -> None:
    a, b = normal(40, 1), normal(40, 2)
    scores = [made_scores("a", a, 0.1), made_scores("b", b)]
    found = power_of_scores(scores, clusters={f"q{at}": f"c{at % 8}" for at in range(40)}, difference=0.02)
    (measure,), pair = found.measures, only_pair(found)
    sd = np.std((a - b).reshape(5, 8).mean(axis=0), ddof=1)
    assert (measure.clusters, measure.effective_clusters) == (8, pytest.approx(8.0))
    assert pair.expected.sd == pytest.approx(sd)
    assert pair.expected.half_width == pytest.approx(t.ppf(0.975, 7) * sd / math.sqrt(8))
    # Ties of five queries are averaged in each cluster.
    assert pair.tie_broken.sd**2 == pytest.approx(sd**2 + 0.1**2 / 5)
    clusters = queries_needed(0.02, float(sd), level=0.95, power=0.8)
    assert pair.expected.clusters_needed == pytest.approx(clusters, rel=0.15)
    assert pair.expected.queries_needed == 5 * pair.expected.clusters_needed
    assert (measure.curve.clusters[:3], measure.curve.queries[:3]) == ((5, 8, 10), (25, 40, 50))
    assert found.choices["clusters"] == {"source": "clusters", "count": 8}


@pytest.mark.slow
def test_unequal_clusters_have_the_error_of_the_jackknife() -> None:
    apart, sizes = normal(20, 1), [1, 1, 2, 3, 5, 8]
    codes = np.repeat(range(6), sizes)
    found = power_of_scores(
        [made_scores("a", apart), made_scores("b", np.zeros(20))],
        clusters={f"q{at}": str(code) for at, code in enumerate(codes)},
    )
    without = [apart[codes != each].mean() for each in range(6)]
    error = math.sqrt(5 / 6 * sum((each - apart.mean()) ** 2 for each in without))
    effective = 400 / sum(size**2 for size in sizes)
    assert found.measures[0].effective_clusters == pytest.approx(effective)
    assert only_pair(found).expected.half_width == pytest.approx(t.ppf(0.975, effective - 1) * error)
    assert only_pair(found).expected.sd == pytest.approx(error * math.sqrt(effective))


def test_clusters_of_one_query_change_nothing() -> None:
    scores = [made_scores("a", normal(20, 1), 0.1), made_scores("b", normal(20, 2))]
    alone, told = (
        power_of_scores(scores, clusters=given) for given in (None, {f"q{at}": f"c{at}" for at in range(20)})
    )
    for each in ("expected", "tie_broken"):
        one, other = (getattr(only_pair(found), each) for found in (alone, told))
        assert astuple(one)[:4] == pytest.approx(astuple(other)[:4])
        assert one.queries_needed == other.queries_needed == other.clusters_needed


def test_a_query_without_a_cluster_is_an_error() -> None:
    scores = [made_scores("a", [0.1, 0.2]), made_scores("b", [0.3, 0.1])]
    with pytest.raises(InputError, match="no cluster for the query 'q1'"):
        power_of_scores(scores, clusters={"q0": "c"})


def test_the_same_difference_on_every_query_says_nothing_of_others() -> None:
    for up in (0.0, 0.1):
        found = power_of_scores([made_scores("a", normal(20) + up), made_scores("b", normal(20))])
        pair = only_pair(found)
        assert pair.expected.sd == pair.expected.half_width == 0
        assert math.isnan(pair.expected.least_difference)
        assert pair.expected.queries_needed is None
        assert math.isnan(pair.ties.share)
        assert found.notes == (
            "nDCG@10: the same difference on every query, which says nothing of other queries: a and b.",
        )


def test_identical_runs_with_ties_differ_by_their_orders_alone() -> None:
    pair = only_pair(power_of_scores([made_scores(name, normal(20), 0.1) for name in "ab"]))
    assert (pair.sampling.share, pair.ties.share) == (0, 1)
    alone = least_difference(math.sqrt(0.02), 20, level=0.95, power=0.8)
    assert pair.tie_broken.least_difference == pytest.approx(alone, rel=0.1)
    assert math.isnan(pair.expected.least_difference)


@pytest.mark.parametrize("queries", [0, 1])
def test_fewer_than_two_queries_have_no_variance(queries: int) -> None:
    values = np.full(queries, 0.5)
    found = power_of_scores([made_scores("a", values), made_scores("b", values / 2)])
    pair = only_pair(found)
    assert math.isnan(pair.expected.sd)
    assert math.isnan(pair.tie_broken.half_width)
    assert pair.expected.queries_needed is None
    assert f"nDCG@10: {queries} queries are too few to see how much differences vary; it takes 2." in found.notes
    json.loads(to_json(found.to_dict()))


def test_one_cluster_has_no_variance() -> None:
    scores = [made_scores("a", normal(20, 1)), made_scores("b", normal(20, 2))]
    found = power_of_scores(scores, clusters={f"q{at}": "all" for at in range(20)})
    assert math.isnan(only_pair(found).expected.half_width)
    assert found.notes == ("nDCG@10: 1 clusters are too few to see how much differences vary; it takes 2.",)


def test_an_unknown_deviation_over_ties_leaves_tie_broken_values_out() -> None:
    reach = np.where(np.arange(20) == 7, np.nan, 0.1)
    found = power_of_scores([made_scores("a", normal(20, 1), reach), made_scores("b", normal(20, 2))])
    pair = only_pair(found)
    assert pair.expected.least_difference > 0
    assert math.isnan(pair.tie_broken.least_difference)
    assert math.isnan(pair.ties.half_width)
    assert pair.tie_broken.queries_needed is None
    assert found.notes == (
        "nDCG@10: no standard deviation over tie orders is known, so nothing of tie-broken values: a and b.",
    )


@pytest.mark.slow
def test_queries_without_a_value_are_left_out_of_their_measure() -> None:
    values = normal(20, 1)
    values[3] = np.nan
    found = power_of_scores([made_scores("a", values), made_scores("b", normal(20, 2))])
    (measure,) = found.measures
    assert (measure.queries, measure.left_out) == (19, ("q3",))
    sd = np.std(np.delete(values - normal(20, 2), 3), ddof=1)
    assert measure.pairs[0].expected.sd == pytest.approx(sd)
    clustered = power_of_scores(
        [made_scores("a", values), made_scores("b", normal(20, 2))],
        clusters={f"q{at}": str(at // 2) for at in range(20)},
    )
    assert clustered.measures[0].clusters == 10
    assert clustered.measures[0].effective_clusters == pytest.approx(19**2 / (9 * 4 + 1))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"baseline": "c"}, InputError, "The baseline must be one of the runs a, b. Got 'c'."),
        ({"difference": 0.0}, PolicyError, "difference must be a number > 0"),
        ({"difference": math.nan}, PolicyError, "difference must be a number > 0"),
        ({"power": 80}, PolicyError, "power must be at least 0.5 and below 1"),
        ({"level": 0.4}, PolicyError, "level must be between 0.5 and 1"),
    ],
)
def test_what_cannot_be_asked(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        power_of_scores([made_scores("a", normal(5)), made_scores("b", normal(5, 2))], **options)


def test_one_run_alone_is_refused_with_the_cure() -> None:
    judgments, run = Judgments.from_dict({"q": {"a": 1}}), Run.from_dict({"q": {"a": 1.0}}, name="one")
    with pytest.raises(InputError, match=r"needs at least 2. Got 1.*trueval power --value X --queries N"):
        trueval.power([run], judgments, "RR")
    with pytest.raises(InputError, match=r"needs at least 2. Got 0"):
        power_of_scores([])


def test_runs_and_judgments_with_a_policy() -> None:
    judgments = Judgments.from_dict({f"q{at}": {"a": 1} for at in range(4)})
    good = Run.from_dict({f"q{at}": {"a": 2.0, "b": 1.0} for at in range(3)}, name="good")
    mixed = Run.from_dict({f"q{at}": {"a": 1.0, "b": 1.0 + at % 2} for at in range(4)}, name="mixed")
    with pytest.warns(TruevalWarning, match="missing from the run"):
        found = trueval.power([good, mixed], judgments, "P@1", missing="skip")
    assert found.measures[0].left_out == ("q3",)
    assert found.choices["policy"]["missing"] == "skip"
    # q0 and q2 are ties of two documents, worth 1/2; on q1 mixed is wrong.
    assert only_pair(found).expected.difference == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert only_pair(found).tie_broken.sd ** 2 == pytest.approx(np.var([0.5, 1, 0.5], ddof=1) + 2 * 0.25 / 3)


def test_json_frame_and_print_say_the_same() -> None:
    scores = [made_scores(name, normal(12, seed), 0.05) for seed, name in enumerate("abc")]
    found = power_of_scores(scores)
    data = json.loads(to_json(found.to_dict()))
    assert (data["kind"], data["format"], data["runs"]) == ("power", 1, ["a", "b", "c"])
    assert set(data["choices"]) == {"level", "power", "difference", "worlds", "clusters", "policy"}
    row, frame = data["measures"][0]["pairs"][0], found.to_polars()
    assert frame.height == 3
    assert frame["tie_broken_least_difference"][0] == row["tie_broken"]["least_difference"]
    assert frame["ties_share"][0] == row["ties"]["share"]
    assert f"{row['expected']['least_difference']:.4f}" in repr(found)
    assert "nDCG@10: higher is better, 12 queries" in repr(found)
