"""Self-tests of gates: swaps of run and baseline, and what the gate says of them."""

import json
import math
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from tests.comparison.made_scores import LOSS, made_scores

import trueval as tv
from trueval.comparison.gate.gate import MaxDrop, MaxRange, gate
from trueval.comparison.gate.self_test import CheckGroup, _groups, joint_intervals, self_test
from trueval.comparison.resampling.alignment import align
from trueval.comparison.resampling.bootstrap_intervals import ResampleDraws
from trueval.comparison.resampling.shared_tie_intervals import WorldTies, joint_ends
from trueval.errors import InputError, PolicyError

RNG = np.random.default_rng(3)
MEASURES = "nDCG@10 AP RR@10"


def pair(queries: int, measures: str = MEASURES, spread: float = 0.2) -> tuple[tv.Scores, tv.Scores]:
    """A run and its baseline, whose measures go together as those of a run do; ties on some queries."""
    shape = (queries, len(measures.split()))
    base, moved = RNG.uniform(0.3, 0.7, shape), RNG.normal(0, spread, (queries, 1)) + RNG.normal(0, 0.02, shape)
    reach = np.where(RNG.random(queries) < 0.3, 0.1, 0.0)
    return made_scores("run", base + moved, reach, measures=measures), made_scores("base", base, measures=measures)


def test_without_a_swap_a_world_is_what_the_gate_sees() -> None:
    """The joint intervals of the self-test are those of the comparison, but for the draws of the noise of ties."""
    run, base = pair(60)
    checks = gate(run, [MaxDrop(None, 0.01)], baseline=base)
    difference = (run.expected - base.expected)[:, None]
    reach = (run.sd + base.sd)[:, None]
    group = CheckGroup(
        difference, difference - reach, difference + reach, reach**2, np.ones(60), np.zeros(3, dtype=np.int64)
    )
    (found,) = joint_intervals([group], ResampleDraws(10_000, 0, 1, 0.95))
    for check, (low, high) in zip(checks, found[0], strict=True):
        assert (check.low, check.high) == pytest.approx((low, high), abs=0.004)


def test_what_ties_allow_is_between_each_run_and_the_baseline() -> None:
    """Query by query; columns are runs times measures."""
    rng = np.random.default_rng(1)
    one, two, base = (
        made_scores(name, rng.uniform(0.3, 0.7, (9, 2)), rng.uniform(0, 0.2, 9), measures="AP RR")
        for name in ("one", "two", "base")
    )
    (group, measures, _), *more = _groups(align([one, two, base]), np.arange(9), None)
    assert (measures.tolist(), more) == ([0, 1, 0, 1], [])
    lowest = np.hstack([one.lowest - base.highest, two.lowest - base.highest])
    highest = np.hstack([one.highest - base.lowest, two.highest - base.lowest])
    assert (highest > lowest).any()
    np.testing.assert_array_equal(group.lowest[:, 0], lowest)
    np.testing.assert_array_equal(group.highest[:, 0], highest)


def test_of_ties_that_are_not_known_the_bounds_swap_too() -> None:
    run, base = pair(40, "AP", 0.0)
    difference = (run.expected - base.expected)[:, None]
    unknown = np.full((40, 1, 1), math.nan)
    group = CheckGroup(
        difference, difference - 0.1, difference + 0.3, unknown, np.ones(40), np.zeros(1, dtype=np.int64)
    )
    turned = group._replace(apart=-difference, lowest=-difference - 0.3, highest=-difference + 0.1)
    one, other = (joint_intervals([each], ResampleDraws(2_000, 0, 1, 0.95))[0][0, 0] for each in (group, turned))
    assert one == pytest.approx(-other[::-1], abs=1e-12)
    assert one[0] < difference.mean() - 0.09
    assert one[1] > difference.mean() + 0.29


def drawn_groups(seed: int) -> list[CheckGroup]:
    """One or two groups of worlds with ties, equal differences, clusters, few units."""
    rng, groups = np.random.default_rng(seed), []
    worlds = int(rng.integers(1, 4))
    for _ in range(int(rng.integers(1, 3))):
        units, checks = int(rng.choice([2, 5, 12, 29, 30, 60])), int(rng.integers(1, 5))
        apart = np.round(rng.normal(0, 0.2, (units, worlds, checks)), int(rng.choice([1, 9])))
        apart[:, :, 0] *= rng.integers(2)
        variance = np.where(rng.random((units, 1, checks)) < 0.4, rng.random((units, 1, checks)) * 0.1, 0.0)
        sizes = rng.integers(1, 6, units).astype(float) if rng.random() < 0.5 else np.ones(units)
        groups.append(CheckGroup(apart, apart, apart, variance, sizes, rng.integers(0, 2, checks)))
    return groups


@pytest.mark.parametrize("seed", range(25))
def test_intervals_of_many_worlds_are_those_of_each_alone(seed: int) -> None:
    groups, draws = drawn_groups(seed), ResampleDraws(500, seed, 1, 0.95)
    ties = [WorldTies.of(each.variance[:, 0], each.sizes, each.run, draws) for each in groups]

    def found(is_open: bool) -> list[np.ndarray]:
        opens = [lambda low, _: np.full(low.shape, is_open)] * len(groups)
        return joint_ends([each.apart for each in groups], ties, opens)

    known = joint_intervals(groups, draws)
    for whole, quick, narrow in zip(known, found(is_open=True), found(is_open=False), strict=True):
        np.testing.assert_allclose(quick, whole, rtol=0, atol=1e-12)
        assert (narrow[..., 0] >= whole[..., 0]).all()
        assert (narrow[..., 1] <= whole[..., 1]).all()


@pytest.mark.parametrize("limit", [0.0, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("queries", [12, 80])
def test_what_is_not_asked_for_decides_nothing(monkeypatch: pytest.MonkeyPatch, limit: float, queries: int) -> None:
    """The same verdicts where each interval is found as the comparison finds it."""
    run, base = losses(queries) if limit == 0.2 else pair(queries, spread=0.05)

    def found() -> object:
        return self_test(run, [MaxDrop(None, limit)], baseline=base, worlds=60, resamples=500)

    quick, asked = found(), []

    def as_compared(apart: list[np.ndarray], ties: list[WorldTies], _: object) -> list[np.ndarray]:
        asked.append(len(apart))
        groups = [
            CheckGroup(
                each, each, each, shared.grid.values[:, None], shared.sizes.units, np.zeros(each.shape[2], dtype=int)
            )
            for each, shared in zip(apart, ties, strict=True)
        ]
        return joint_intervals(groups, ties[0].draws)

    monkeypatch.setattr("trueval.comparison.gate.self_test.joint_ends", as_compared)
    assert found() == quick
    assert asked


def test_a_loss_that_is_the_limit_but_for_the_rounding_of_large_values_is_no_alarm() -> None:
    """As in the gate: 100,000.7 less 100,000.8 is a loss of .1 and 6e-12."""
    run, base = (
        made_scores("run", [100_000.7] * 2, measures="DCG"),
        made_scores("base", [100_000.8] * 2, measures="DCG"),
    )
    found = self_test(run, [MaxDrop(None, 0.1)], baseline=base, worlds=40, resamples=100)
    assert (found.asked.worse, found.zero.worse > 0) == (0, True)


def losses(queries: int) -> tuple[tv.Scores, tv.Scores]:
    """As `pair`, of a measure of which less is better."""
    base, moved = RNG.uniform(0.3, 0.7, queries), RNG.normal(0, 0.05, queries)
    return made_scores("run", base + moved, 0.05, measures=(LOSS,)), made_scores("base", base, measures=(LOSS,))


def test_false_alarms_are_few_and_limits_of_zero_cannot_tell() -> None:
    run, base = pair(40)
    found = self_test(run, [MaxDrop("AP", 0.3), MaxDrop("nDCG@10", 0.01)], baseline=base, worlds=200, resamples=1000)
    assert (found.worlds, found.checks, found.queries, found.clusters, found.level) == (200, 2, 40, None, 0.95)
    assert found.asked.limits == ("--max-drop AP=0.3", "--max-drop nDCG@10=0.01")
    assert found.zero.limits == ("--max-drop AP=0", "--max-drop nDCG@10=0")
    for alarms in (found.asked, found.zero):
        assert alarms.low <= alarms.worse <= alarms.high
        assert alarms.worse <= 0.05
    # Half of the checks are asked for a limit that no world breaks.
    assert 0.4 < found.asked.unclear <= 0.5
    assert found.zero.unclear > 0.9
    assert json.loads(json.dumps(found.to_dict()))["asked"]["limits"] == list(found.asked.limits)


def test_the_same_seed_gives_the_same_swaps() -> None:
    run, base = pair(12, "AP")
    one, same, other = (
        self_test(run, [MaxDrop(None, 0.05)], baseline=base, worlds=100, resamples=500, seed=seed) for seed in (1, 1, 2)
    )
    assert one == same != other


def test_a_gate_that_is_too_eager_is_found_out() -> None:
    """At a level of 50 % a quarter of the worlds are called worse on each side: the self-test can fail."""
    run, base = pair(40, "AP")
    eager = self_test(run, [MaxDrop(None, 0)], baseline=base, worlds=300, resamples=1000, level=0.51)
    assert 0.1 < eager.zero.worse < 0.4
    assert eager.zero.high < 0.4


def test_clusters_are_swapped_whole() -> None:
    """Copies of 10 queries: swapped one by one they would be 80, and the gate's intervals of 10 never alarm."""
    rng = np.random.default_rng(8)
    differences = np.repeat(rng.normal(0, 0.3, 10), 8)
    run, base = (
        made_scores("run", 0.5 + differences, measures="AP"),
        made_scores("base", np.full(80, 0.5), measures="AP"),
    )
    topics = {f"q{query}": f"t{query // 8}" for query in range(80)}
    bound = self_test(run, [MaxDrop(None, 0)], baseline=base, worlds=300, resamples=500, clusters=topics)
    assert (bound.queries, bound.clusters) == (80, 10)
    assert bound.zero.worse <= 0.05
    # The means of swapped clusters are spread as those of 10 observations are: some of them alarm at a low level.
    low = self_test(run, [MaxDrop(None, 0)], baseline=base, worlds=300, resamples=500, clusters=topics, level=0.51)
    assert low.zero.worse > 0.1


def test_identical_runs_never_alarm_and_are_never_unclear() -> None:
    tied = made_scores("run", np.full(20, 0.5), 0.2)
    twin = made_scores("base", np.full(20, 0.5), 0.2)
    found = self_test(tied, [MaxDrop(None, 0)], baseline=twin, worlds=50, resamples=500)
    assert (found.zero.worse, found.zero.unclear) == (0, 0)


def test_of_a_loss_less_is_better() -> None:
    """Swapping is symmetric, so both directions alarm; the sign of a measure decides which side is looked at."""
    values = np.array([0.4, 0.1, 0.1, 0.1, 0.1, 0.1])
    run, base = made_scores("run", values, measures=(LOSS,)), made_scores("base", 0 * values, measures=(LOSS,))
    found = self_test(run, [MaxDrop(None, 0)], baseline=base, worlds=400, resamples=500, level=0.6)
    upside = made_scores("run", values, measures="AP"), made_scores("base", 0 * values, measures="AP")
    mirrored = self_test(upside[0], [MaxDrop(None, 0)], baseline=upside[1], worlds=400, resamples=500, level=0.6)
    assert found.zero.worse == pytest.approx(mirrored.zero.worse, abs=0.12)


def test_measures_that_count_other_queries_are_one_family() -> None:
    run, base = pair(40, "AP RR@10")
    run.expected[:20, 1] = math.nan
    found = self_test(run, [MaxDrop(None, 0.01)], baseline=base, worlds=100, resamples=500)
    assert (found.checks, found.queries) == (2, 40)
    assert found.zero.worse <= 0.1


def test_misuse_is_refused() -> None:
    run, base = pair(5, "AP")
    with pytest.raises(PolicyError, match="Give --max-drop X"):
        self_test(run, [MaxRange(None, 0.1)], baseline=base)
    with pytest.raises(PolicyError, match=r"worlds must be an integer >= 1. Got 0"):
        self_test(run, [MaxDrop(None, 0.1)], baseline=base, worlds=0)
    with pytest.raises(PolicyError, match=r"Unknown choice 'sed' of a comparison. Did you mean seed"):
        self_test(run, [MaxDrop(None, 0.1)], baseline=base, sed=1)
    with pytest.raises(InputError, match="needs a run beside the baseline"):
        self_test(base, [MaxDrop(None, 0.1)], baseline=base)
    with pytest.raises(InputError, match="at least two queries, or clusters of them"):
        self_test(run, [MaxDrop(None, 0.1)], baseline=base, clusters={f"q{at}": "one" for at in range(5)})
    with pytest.raises(InputError, match="measured on different policies"):
        self_test(
            run, [MaxDrop(None, 0.1)], baseline=made_scores("b", base.expected, measures="AP", policy=tv.Policy(rel=2))
        )


@pytest.mark.evidence
def test_a_thousand_swaps_of_200_queries_and_three_measures_take_less_than_ten_seconds() -> None:
    run, base = pair(200)
    parts: list[str] = []
    begun = time.process_time()
    self_test(run, [MaxDrop(None, 0.01)], baseline=base, begin=parts.append)
    assert time.process_time() - begun < 20  # of two cores; others may be working on this machine
    assert len(parts) == 13


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_real_pairs_give_few_false_alarms(dl_hard_folder: Path) -> None:
    """All 15 pairs of 6 real runs, 50 queries, 3 measures."""
    judgments = tv.Judgments.read(dl_hard_folder / "qrels.trec")
    files = sorted(dl_hard_folder.glob("*.run.gz"))
    scores = [tv.evaluate(tv.Run.read(file), judgments, MEASURES) for file in files]
    for one, other in combinations(scores, 2):
        found = self_test(one, [MaxDrop(None, 0.01)], baseline=other)
        shares = [f"{share:.1%}" for alarms in (found.asked, found.zero) for share in (alarms.worse, alarms.unclear)]
        print(f"{one.name} against {other.name}: false alarms and cannot tell at .01, then at 0: {' '.join(shares)}")
        assert max(found.asked.worse, found.zero.worse) <= 0.05
