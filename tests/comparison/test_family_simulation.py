"""Whole families in simulated worlds: how often MaxT and Holm claim what is not, and find what is.

Figures are printed with `-s` and stand in docs/design/compare.md.
"""

from itertools import combinations

import numpy as np
import pytest
from tests.comparison.made_scores import made_scores

from trueval.comparison.compare import compare_scores
from trueval.comparison.resampling.multiplicity import holm
from trueval.comparison.resampling.paired_tests import randomization_test

PATTERNS = 999


def world(rng: np.random.Generator, systems: int, queries: int, *, partial: bool) -> tuple[np.ndarray, np.ndarray]:
    """[query, system] values and the true means: noise of the systems differs by a factor of 30, with heavy tails.

    In a partial null half of the systems are better by .08 and equal among each other, as the other half is.
    """
    noise = rng.permutation(np.geomspace(0.01, 0.3, systems)) if systems > 2 else np.array([0.05, 0.3])
    means = np.where(partial & (np.arange(systems) >= systems // 2), 0.08, 0.0)
    return rng.beta(1.2, 1.8, (queries, 1)) + means + noise * rng.standard_t(4, (queries, systems)), means


def rates(systems: int, queries: int, worlds: int, *, partial: bool) -> dict[str, tuple[float, float]]:
    """Share of worlds with any false claim, and mean share of true differences found, of each correction."""
    rng = np.random.default_rng([systems, queries, partial])
    first, second = np.array(list(combinations(range(systems), 2))).T
    false, found = (dict.fromkeys(("MaxT", "Holm"), 0.0) for _ in range(2))
    for seed in range(worlds):
        values, means = world(rng, systems, queries, partial=partial)
        equal = means[first] == means[second]
        flipped = randomization_test(values, first, second, resamples=PATTERNS, seed=seed, threads=1)
        for name, p in (("MaxT", flipped.maxt()), ("Holm", holm(flipped.p))):
            false[name] += (p[equal] < 0.05).any()
            found[name] += (p[~equal] < 0.05).mean() if (~equal).any() else 0.0
    return {name: (false[name] / worlds, found[name] / worlds) for name in false}


def held(systems: int, queries: int, worlds: int, *, partial: bool) -> None:
    found = rates(systems, queries, worlds, partial=partial)
    print(f"{systems} systems, {queries} queries, {'half' if partial else 'all'} equal: {found}")
    assert found["MaxT"][0] <= 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / worlds)
    assert found["MaxT"][1] >= found["Holm"][1] - 0.01


@pytest.mark.parametrize("partial", [False, True])
def test_maxt_keeps_its_level_and_finds_at_least_what_holm_finds(partial: bool) -> None:
    held(10, 40, 200, partial=partial)


@pytest.mark.evidence
@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("queries", [12, 50, 200])
@pytest.mark.parametrize("systems", [2, 10, 40])
def test_maxt_in_3_000_worlds(systems: int, queries: int, partial: bool) -> None:
    held(systems, queries, 3_000, partial=partial)


@pytest.mark.evidence
@pytest.mark.parametrize("queries", [12, 50, 200])
def test_simultaneous_intervals_hold_all_differences_and_separated_is_right(queries: int) -> None:
    """500 worlds of 6 systems, ties in half of the queries: all 15 intervals hold, and no equal pair is separated."""
    rng, worlds = np.random.default_rng(queries), 500
    all_hold = any_false = 0
    for seed in range(worlds):
        values, means = world(rng, 6, queries, partial=True)
        reach = np.where(rng.random(values.shape) < 0.5, 0.05, 0.0)
        scores = [made_scores(f"s{run}", values[:, run], reach[:, run]) for run in range(6)]
        found = compare_scores(scores, resamples=1000, seed=seed, threads=1).differences
        truth = {f"s{run}": mean for run, mean in enumerate(means)}
        true = [truth[each.first] - truth[each.second] for each in found]
        all_hold += all(
            each.simultaneous_interval.low <= mean <= each.simultaneous_interval.high
            for each, mean in zip(found, true, strict=True)
        )
        any_false += any(each.separated and mean == 0 for each, mean in zip(found, true, strict=True))
    print(f"{queries} queries: all intervals hold {all_hold / worlds:.3f}, any false claim {any_false / worlds:.3f}")
    assert all_hold / worlds > 0.95 - 3.3 * np.sqrt(0.05 * 0.95 / worlds)
    assert any_false / worlds < 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / worlds)


@pytest.mark.evidence
def test_separated_always_has_its_interval_beside_0_over_1_000_pairs() -> None:
    """Random families of systems with random differences, spreads and ties: 1,050 pairs, and every one agrees."""
    rng = np.random.default_rng(0)
    pairs = separated = 0
    for seed in range(70):
        queries, spread = int(rng.integers(8, 80)), float(rng.choice([0.02, 0.1, 0.3]))
        base, up = rng.random(queries), rng.choice([0.0, 0.03, 0.1], 6)
        scores = [
            made_scores(
                f"s{run}",
                np.clip(base + up[run] + spread * rng.normal(size=queries), 0, 1),
                rng.choice([0.0, 0.05], queries),
            )
            for run in range(6)
        ]
        for each in compare_scores(scores, resamples=500, seed=seed, threads=1).differences:
            pairs += 1
            separated += each.separated
            low, high = each.simultaneous_interval
            assert not each.separated or low > 0 or high < 0
    print(f"{separated} of {pairs} pairs are separated")
    assert pairs > 1_000
    assert 100 < separated < pairs - 100
