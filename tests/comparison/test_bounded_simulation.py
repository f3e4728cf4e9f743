"""False claims of resampling and of bets where the differences have lopsided laws, in families, and at repeated looks.

Figures are printed with `-s` and stand in docs/compare.md and docs/gate.md.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from tests.comparison.made_scores import made_scores

from trueval.comparison.compare import compare_scores
from trueval.comparison.gate.self_test import CheckGroup, joint_intervals
from trueval.comparison.resampling.betting import Bets, lower_ends
from trueval.comparison.resampling.bootstrap_intervals import ResampleDraws

LAWS = ("constant or rare 1", "beta")
RARE = 0.05


def systems(law: str, count: int, queries: int, worlds: int, rng: np.random.Generator) -> np.ndarray:
    """[world, system, query] values of systems whose true means are equal.

    Constant or rare 1: every other system has .05 on each query, the others 1 with a chance of .05 and else 0.
    Beta: values of a query go together, as those of real runs do.
    """
    shape = (worlds, count, queries)
    if law == "beta":
        return 0.7 * rng.beta(2, 3, (worlds, 1, queries)) + 0.3 * rng.beta(2, 3, shape)
    rare = (rng.random(shape) < RARE).astype(float)
    rare[:, ::2] = RARE
    return rare


class Claims(NamedTuple):
    """What was found in worlds where nothing differs.

    Attributes:
        false: share of worlds in which some pair is claimed to differ.
        hold: share of worlds in which all intervals hold 0.
        width: mean half-width.
    """

    false: float
    hold: float
    width: float


def by_resampling(values: np.ndarray) -> Claims:
    """Of `separated`: MaxT and the simultaneous interval."""
    false, hold, width = 0, 0, 0.0
    for seed, world in enumerate(values):
        scores = [made_scores(f"s{at}", each) for at, each in enumerate(world)]
        found = compare_scores(scores, resamples=1000, seed=seed, threads=1).differences
        spans = np.array([each.simultaneous_interval for each in found])
        false += any(each.separated for each in found)
        hold += bool(((spans[:, 0] <= 1e-12) & (spans[:, 1] >= -1e-12)).all())
        width += float((spans[:, 1] - spans[:, 0]).mean() / 2)
    return Claims(false / len(values), hold / len(values), width / len(values))


def by_bets(values: np.ndarray, *, repeated: bool) -> Claims:
    """Of the simultaneous interval alone; `separated` needs a small p of MaxT besides."""
    worlds, count, queries = values.shape
    first, second = np.array(list(combinations(range(count), 2))).T
    apart = (values[:, first] - values[:, second]).reshape(-1, queries).T
    bets = Bets(0.05 / len(first), repeated)
    low, high = (
        sign * lower_ends(sign * apart, np.ones(queries), np.ones(apart.shape[1]), bets).reshape(worlds, -1)
        for sign in (1, -1)
    )
    hold = ((low <= 1e-9) & (high >= -1e-9)).all(axis=1)
    return Claims(float(1 - hold.mean()), float(hold.mean()), float((high - low).mean() / 2))


def test_bets_keep_their_level_where_resampling_does_not() -> None:
    values = systems(LAWS[0], 2, 12, 100, np.random.default_rng(0))
    assert by_resampling(values).false > 0.15
    assert by_bets(values, repeated=False).false <= 0.05
    assert by_bets(values, repeated=True).false <= 0.05


@pytest.mark.evidence
@pytest.mark.parametrize(("count", "worlds"), [(2, 1000), (8, 200)])
@pytest.mark.parametrize("queries", [12, 20, 50, 200])
@pytest.mark.parametrize("law", LAWS)
def test_families_of_systems_that_do_not_differ(law: str, queries: int, count: int, worlds: int) -> None:
    values = systems(law, count, queries, worlds, np.random.default_rng([LAWS.index(law), count, queries]))
    usual = by_resampling(values[: worlds // 2])
    once, repeated = (by_bets(values, repeated=each) for each in (False, True))
    for name, each in (("bootstrap", usual), ("bounded", once), ("anytime", repeated)):
        print(f"{law}, {count} systems, {queries} queries, {name}: false {each.false:.1%}, +-{each.width:.3f}")
    assert max(once.false, repeated.false) <= 0.05


@pytest.mark.evidence
@pytest.mark.parametrize("gain", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("queries", [20, 50, 200])
def test_what_bets_cost_where_a_system_is_better(queries: int, gain: float) -> None:
    """Of beta laws: how often a gain is found, by resampling and by bets."""
    values = systems("beta", 2, queries, 400, np.random.default_rng(queries))
    values[:, 0] = np.clip(values[:, 0] + gain, 0, 1)
    usual = by_resampling(values[:200])
    once, repeated = (by_bets(values, repeated=each) for each in (False, True))
    print(f"{queries} queries, gain {gain}: {usual.false:.1%}, bounded {once.false:.1%}, anytime {repeated.false:.1%}")
    assert once.false <= usual.false


@pytest.mark.evidence
@pytest.mark.parametrize("queries", [15, 60])
def test_clusters_of_unequal_size_keep_the_level(queries: int) -> None:
    """Clusters of 1 to 8 queries that share a rare 1, against a constant: the true difference is 0."""
    rng, worlds, wrong = np.random.default_rng(queries), 2000, 0
    for _ in range(worlds):
        sizes = rng.integers(1, 9, queries).astype(float)
        sums = np.where(rng.random(queries) < RARE, 1 - RARE, -RARE) * sizes
        ends = [lower_ends(sign * sums[:, None], sizes, np.ones(1), Bets(0.05, largest=8.0))[0] for sign in (1, -1)]
        wrong += max(ends) > 0
    print(f"{queries} clusters: {wrong / worlds:.1%} of intervals do not hold the truth")
    assert wrong / worlds <= 0.05


def looks(intervals: str, law: str, worlds: int) -> float:
    """The share of worlds in which a gate with a limit of 0 says worse at any look: after every 10 of 200 queries."""
    values = systems(law, 2, 200, worlds, np.random.default_rng(LAWS.index(law)))
    apart, alarmed = (values[:, 1] - values[:, 0]).T[:, :, None], np.zeros(worlds, dtype=bool)
    bets = None if intervals == "bootstrap" else Bets(0.05, intervals == "anytime")
    for count in range(10, 201, 10):
        for start in range(0, worlds, 200):
            some = apart[:count, start : start + 200]
            none = np.zeros(1, dtype=np.int64)
            group = CheckGroup(some, some, some, np.zeros_like(some), np.ones(count), none, np.ones(1))
            (found,) = joint_intervals([group], ResampleDraws(1000, 1, 1, 0.95), bets)
            alarmed[start : start + 200] |= (found[..., 1] < 0).any(axis=1)
    return float(alarmed.mean())


@pytest.mark.evidence
@pytest.mark.parametrize("law", LAWS)
def test_a_gate_that_looks_again_and_again(law: str) -> None:
    shares = {intervals: looks(intervals, law, 1000) for intervals in ("bootstrap", "bounded", "anytime")}
    print(f"{law}, 20 looks at 10 to 200 queries: false alarms {shares}")
    assert shares["anytime"] <= 0.025 + 0.01
    assert shares["bootstrap"] > 0.05
