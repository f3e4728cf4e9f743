"""Families of pairs: MaxT against a naive twin, simultaneous intervals, clusters, letters and ranks that agree."""

import json
from itertools import combinations, product

import numpy as np
import pytest
from tests.comparison.made_scores import LOSS, made_scores

from trueval.comparison.compare import compare_scores
from trueval.comparison.resampling.multiplicity import holm
from trueval.comparison.resampling.paired_tests import joint_maxt, randomization_test
from trueval.errors import InputError, PolicyError

MEASURES = "nDCG@10 RR@10 AP"


def systems(rng: np.random.Generator, runs: int, queries: int, *, measures: int = 1, spread: float = 0.2):
    base = rng.random((queries, 1))
    better = np.linspace(0, 0.15, runs)
    return [
        made_scores(
            f"s{run:02}",
            np.clip(base + better[run] + spread * rng.normal(size=(queries, measures)), 0, 1),
            rng.choice([0.0, 0.02], (queries, 1)),
            measures=" ".join(MEASURES.split()[:measures]),
        )
        for run in range(runs)
    ]


def naive_maxt(columns: np.ndarray, pairs: list[tuple[int, int]]) -> list[float]:
    """Every sign pattern, one by one, in plain Python."""
    differences = [columns[:, a] - columns[:, b] for a, b in pairs]
    scales = [float(np.sqrt((d**2).sum())) or 1.0 for d in differences]
    observed = [abs(float(d.sum())) / scale for d, scale in zip(differences, scales, strict=True)]
    reached, patterns = [0] * len(pairs), list(product((1, -1), repeat=len(columns)))
    for signs in patterns:
        largest = max(abs(float((d * signs).sum())) / scale for d, scale in zip(differences, scales, strict=True))
        for at, bar in enumerate(observed):
            reached[at] += largest >= bar - 1e-12
    return [count / len(patterns) for count in reached]


@pytest.mark.parametrize("kind", ["plain", "ties", "equal"])
def test_maxt_is_that_of_every_pattern_by_hand(kind: str) -> None:
    columns = np.random.default_rng(3).random((8, 4))
    if kind == "ties":
        columns = np.round(columns * 4) / 4
    if kind == "equal":
        columns[:, 3] = columns[:, 2]
    pairs = list(combinations(range(4), 2))
    first, second = np.array(pairs).T
    found = randomization_test(columns, first, second, resamples=100, seed=0, threads=1)
    assert found.maxt() == pytest.approx(naive_maxt(columns, pairs), abs=1e-12)
    assert (found.maxt() >= found.p - 1e-12).all()


def test_maxt_of_one_pair_is_its_own_p() -> None:
    columns = np.random.default_rng(4).random((30, 2))
    found = randomization_test(columns, np.array([0]), np.array([1]), resamples=999, seed=0, threads=1)
    assert found.maxt() == found.p


def test_families_of_different_queries_are_joined_conservatively() -> None:
    rng = np.random.default_rng(5)
    one, other = rng.random((9, 3)), rng.random((11, 3))
    first, second = np.array(list(combinations(range(3), 2))).T
    groups = [randomization_test(each, first, second, resamples=100, seed=0, threads=1) for each in (one, other)]
    joined = joint_maxt(groups)
    for group, p in zip(groups, joined, strict=True):
        assert (p >= group.maxt()).all()
        assert (p <= groups[0].maxt().max() + groups[1].maxt().max()).all()
    assert joint_maxt(groups[:1])[0] == pytest.approx(groups[0].maxt())


@pytest.mark.slow
def test_forty_systems_that_differ_clearly_are_separated() -> None:
    """The case that Holm could not decide: 780 pairs, wins on every query, 10,000 patterns."""
    rng = np.random.default_rng(0)
    values = [np.ones(200)] + [rng.uniform(0.3, 0.7, 200) for _ in range(39)]
    scores = [made_scores(f"s{run}", each) for run, each in enumerate(values)]
    found = compare_scores(scores, threads=1)
    best = [each for each in found.differences if each.first == "s0"]
    assert all(each.separated and each.tests.adjusted == each.tests.maxt == 1 / 10_001 for each in best)
    assert all(each.tests.holm > 0.05 for each in best)
    assert found.leaderboards[0].ranking[0].rank_interval == (1, 1)
    assert not any("Holm" in note for note in found.notes)
    coarse = compare_scores(scores, threads=1, correction="holm", resamples=1000)
    assert any("Holm over 780 tests needs about 312,000 sign patterns" in note for note in coarse.notes)
    assert any("no difference can be separated" in note for note in coarse.notes)


def test_too_few_queries_are_said() -> None:
    scores = systems(np.random.default_rng(1), 3, 5)
    (note,) = (note for note in compare_scores(scores).notes if "no difference can be separated" in note)
    assert "least p that the test can reach here, adjusted by maxt, is 0.0625" in note
    assert "judge more queries" in note


@pytest.mark.parametrize("family", ["measure", "all"])
@pytest.mark.parametrize("seed", range(4))
def test_separated_pairs_have_their_interval_beside_0_and_letters_and_ranks_agree(family: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = systems(rng, 7, 40, measures=2, spread=(0.05, 0.1)[seed % 2])
    found = compare_scores(scores, family=family, resamples=1000, threads=1)
    assert any(each.separated for each in found.differences)
    for each in found.differences:
        low, high = each.simultaneous_interval
        assert low <= each.expected_interval.low <= each.expected_interval.high <= high
        outer = each.simultaneous_realized_interval
        assert outer.low <= each.realized_interval.low
        assert each.realized_interval.high <= outer.high
        if each.separated:
            assert low > 0 or high < 0
            assert each.tests.adjusted < 0.05
    for board in found.leaderboards:
        letters = {row.run: set(row.groups) for row in board.ranking}
        pairs = [each for each in found.differences if each.measure == board.measure]
        for each in pairs:
            assert each.separated == (not letters[each.first] & letters[each.second])
        for row in board.ranking:
            mine = [each for each in pairs if row.run in (each.first, each.second) and each.separated]
            above = sum((each.gain > 0) == (each.second == row.run) for each in mine)
            assert row.rank_interval == (1 + above, 7 - (len(mine) - above))
            assert row.rank_interval[0] <= row.place <= row.rank_interval[1]


def test_ranks_go_by_what_is_better() -> None:
    values = np.random.default_rng(0).random(40)
    scores = [made_scores(name, values + up, measures=(LOSS,)) for name, up in (("much", 0.5), ("little", 0.0))]
    ranking = compare_scores(scores, resamples=500).leaderboards[0].ranking
    assert [(row.run, row.rank_interval) for row in ranking] == [("little", (1, 1)), ("much", (2, 2))]


def test_a_difference_that_never_varies_is_not_as_wide_as_the_others() -> None:
    rng = np.random.default_rng(2)
    base = rng.random(50) * 0.8
    scores = [made_scores("base", base), made_scores("plus", base + 0.01), made_scores("wild", rng.random(50))]
    found = compare_scores(scores, resamples=1000)
    pair = found.difference("nDCG@10", "base", "plus")
    assert pair.simultaneous_interval == pytest.approx((-0.01, -0.01), abs=1e-9)
    assert pair.separated


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_no_bit_of_a_family(threads: int) -> None:
    scores = systems(np.random.default_rng(7), 12, 60, measures=3)
    texts = [
        json.dumps(compare_scores(scores, family="all", resamples=700, threads=count).to_dict())
        for count in (1, threads)
    ]
    assert texts[0] == texts[1]


# Clusters


def test_each_query_its_own_cluster_changes_nothing() -> None:
    scores = systems(np.random.default_rng(8), 3, 20)
    alone = compare_scores(scores, resamples=500).differences
    clusters = {query: f"c{query}" for query in scores[0].query_ids}
    assert repr(compare_scores(scores, resamples=500, clusters=clusters).differences) == repr(alone)


def test_copies_of_queries_in_clusters_are_as_one_query() -> None:
    """Five copies of each query: the same tests and intervals as without them, where without clusters both shrink."""
    rng = np.random.default_rng(9)
    a, b = rng.random(20), rng.random(20)
    one = compare_scores([made_scores("a", a, 0.05), made_scores("b", b, 0.0)], resamples=500).differences[0]
    ids = tuple(f"q{query}-{copy}" for query in range(20) for copy in range(5))
    many = [made_scores(name, np.repeat(each, 5), 0.0, ids=ids) for name, each in (("a", a), ("b", b))]
    clusters = {query: query.partition("-")[0] for query in ids}
    whole = compare_scores(many, resamples=500, clusters=clusters)
    found = whole.differences[0]
    assert found.tests.randomization == one.tests.randomization
    assert found.tests.t == pytest.approx(one.tests.t)
    assert found.expected_interval == pytest.approx(one.expected_interval)
    assert found.simultaneous_interval == pytest.approx(one.simultaneous_interval)
    assert (whole.leaderboards[0].queries, whole.leaderboards[0].clusters) == (100, 20)
    assert whole.choices["clusters"] == {"source": "clusters", "count": 20}
    apart = compare_scores(many, resamples=500).differences[0]
    assert apart.expected_interval.high - apart.expected_interval.low < 0.6 * (
        found.expected_interval.high - found.expected_interval.low
    )


def test_every_counted_query_needs_a_cluster() -> None:
    scores = systems(np.random.default_rng(1), 2, 5)
    with pytest.raises(InputError, match="no cluster for the query 'q0' and 4 more"):
        compare_scores(scores, clusters={"other": "c"})


# Choices


def test_each_test_has_the_correction_that_goes_with_it() -> None:
    scores = systems(np.random.default_rng(1), 4, 30)
    for test, correction in (("randomization", "maxt"), ("t", "holm"), ("wilcoxon", "benjamini-hochberg")):
        found = compare_scores(scores, test=test, resamples=500)
        assert found.choices["correction"] == correction
        for each in found.differences:
            assert each.tests.adjusted == getattr(each.tests, correction.replace("-", "_"))
    p = np.array([each.tests.randomization for each in found.differences])
    again = compare_scores(scores, correction="holm", resamples=500)
    assert [each.tests.adjusted for each in again.differences] == holm(p).tolist()


def test_maxt_needs_the_signs_of_the_randomization_test() -> None:
    with pytest.raises(PolicyError, match="maxt needs the signs"):
        compare_scores(systems(np.random.default_rng(1), 2, 5), test="t", correction="maxt")
    with pytest.raises(PolicyError, match="correction must be one of maxt, holm, benjamini-hochberg"):
        compare_scores(systems(np.random.default_rng(1), 2, 5), correction="tukey")
