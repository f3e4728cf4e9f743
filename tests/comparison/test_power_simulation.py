"""Student's t behind `power`, on simulated systems: at the least difference a paired t test finds it in 80 % of worlds.

What the rule of `compare` adds, which is what `power` promises, is in test_separation_simulation.py.

The queries of a world are in clusters of one query, of four, or of 1 to 7. A query is worth .5 u + .25 Beta(2, 3) plus
.25 Beta(2, 3) of its cluster to either system, and the least difference more to one of them; u is shared. Ties move a
third of the values by a coin's .1 either way. The true variance is known, and so is the true least difference.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import nct, t
from tests.comparison.made_scores import made_scores

from trueval import Judgments, Run, evaluate
from trueval.comparison.power.power_analysis import power_of_scores
from trueval.comparison.power.power_result import PairPower
from trueval.comparison.power.sample_size import least_difference
from trueval.comparison.power.separation import SeparationRise
from trueval.measures import parse_list

OPTIONS = {"level": 0.95, "power": 0.8}
SHIFT = 0.1  # how far a tied value moves
BETA = 2 * 3 / (5**2 * 6)  # variance of Beta(2, 3)
SIZES = {"queries": (1,), "four": (4,), "unequal": (1, 2, 3, 4, 5, 6, 7), "very unequal": (1, 1, 1, 2, 3, 20)}


@pytest.fixture(autouse=True)
def t_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "trueval.comparison.power.power_analysis._rises",
        lambda aligned, at, pairs, *_: [SeparationRise((2,), (1.0,))] * len(pairs),
    )


class Setting(NamedTuple):
    """Clusters, and the least differences that follow from the true variance."""

    codes: np.ndarray
    expected: float
    tie_broken: float

    @property
    def clusters(self) -> dict[str, str]:
        return {f"q{at}": f"c{code}" for at, code in enumerate(self.codes)}


def setting(clusters: int, kind: str) -> Setting:
    sizes = np.resize(SIZES[kind], clusters)
    queries, effective = sizes.sum(), sizes.sum() ** 2 / (sizes**2).sum()
    # Of a difference of two systems: clusters, queries, and ties.
    variance = 2 * BETA / 16 * ((sizes**2).sum() + queries) / queries**2
    ties = 2 * SHIFT**2 / 3 / queries
    leasts = (
        least_difference(math.sqrt(each * effective), effective, **OPTIONS) for each in (variance, variance + ties)
    )
    return Setting(np.repeat(np.arange(clusters), sizes), *leasts)


def systems(given: Setting, apart: float, worlds: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """[system, query, world] expected values, and sd over tie orders."""
    queries, clusters = len(given.codes), given.codes[-1] + 1
    shared = rng.random((queries, worlds)) / 2
    of_clusters = rng.beta(2, 3, (2, clusters, worlds))[:, given.codes]
    values = shared + rng.beta(2, 3, (2, queries, worlds)) / 4 + of_clusters / 4
    values[0] += apart
    return values, np.where(rng.random(values.shape) < 1 / 3, SHIFT, 0.0)


def pairs(given: Setting, values: np.ndarray, sd: np.ndarray) -> list[PairPower]:
    """What `power` says of each world; the worlds are so many measures, of which one call takes many."""
    found: list[PairPower] = []
    for begin in range(0, values.shape[2], 250):
        part = slice(begin, begin + 250)
        measures = parse_list([f"P@{at + 1}" for at in range(values[:, :, part].shape[2])])
        scores = [
            replace(made_scores(name, values[at, :, part], measures=measures), sd=sd[at, :, part])
            for at, name in enumerate("ab")
        ]
        asked = power_of_scores(scores, clusters=given.clusters, **OPTIONS)
        found += [each.pairs[0] for each in asked.measures]
    return found


def found(given: Setting, apart: float, worlds: int, *, realized: bool, seed: int) -> float:
    """The share of worlds in which a t test finds that there is a difference."""
    rng = np.random.default_rng(seed)
    values, sd = systems(given, apart, worlds, rng)
    if realized:
        values = values + np.where(rng.random(values.shape) < 0.5, sd, -sd)
    tested = [pair.expected for pair in pairs(given, values, np.zeros(values.shape))]
    return float(np.mean([abs(each.difference) > each.half_width for each in tested]))


def within(worlds: int, chance: float) -> float:
    """Three and a half standard errors of a share, so that one in 2,000 tests fails by accident."""
    return 3.5 * math.sqrt(chance * (1 - chance) / worlds)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["queries", "unequal"])
@pytest.mark.parametrize("realized", [False, True])
def test_the_least_difference_is_found_in_four_of_five_worlds(kind: str, realized: bool) -> None:
    given = setting(50, kind)
    least = given.tie_broken if realized else given.expected
    assert found(given, least, 600, realized=realized, seed=1) == pytest.approx(0.8, abs=within(600, 0.8) + 0.01)


@pytest.mark.evidence
@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("realized", [False, True])
@pytest.mark.parametrize("clusters", [12, 50, 200])
def test_power_and_false_alarms(clusters: int, realized: bool, kind: str) -> None:
    given, worlds = setting(clusters, kind), 3000
    least = given.tie_broken if realized else given.expected
    share = found(given, least, worlds, realized=realized, seed=clusters)
    alarms = found(given, 0.0, worlds, realized=realized, seed=clusters + 1)
    what = "tie-broken" if realized else "expected"
    print(f"| {clusters} | {kind} | {what} | {least:.4f} | {share:.1%} | {alarms:.1%} |")
    # Twelve clusters of which two hold 40 of 56 queries are as good as four: the t test loses some power.
    slack = 0.05 if kind == "very unequal" and clusters == 12 else 0.012
    assert share == pytest.approx(0.8, abs=within(worlds, 0.8) + slack)
    assert alarms == pytest.approx(0.05, abs=within(worlds, 0.05) + slack)


@pytest.mark.evidence
@pytest.mark.parametrize("queries", [12, 50, 200])
def test_the_estimated_least_difference(queries: int) -> None:
    """Estimated from one sample, as `trueval power` does, the least difference is uncertain, and the power with it."""
    given, rng = setting(queries, "queries"), np.random.default_rng(queries)
    worlds = pairs(given, *systems(given, 0.05, 3000, rng))
    for name, truth in (("expected", given.expected), ("tie_broken", given.tie_broken)):
        least = np.array([getattr(pair, name).least_difference for pair in worlds])
        shift = least / truth * (t.ppf(0.975, queries - 1) + t.ppf(0.8, queries - 1))
        mean = float(nct.sf(t.ppf(0.975, queries - 1), queries - 1, shift).mean())
        low, high = np.quantile(least / truth, [0.025, 0.975])
        print(f"{queries} queries, {name}: {low:.2f} to {high:.2f} of the true one, power {mean:.1%} on the average")
        assert float((least**2).mean()) == pytest.approx(truth**2, rel=0.03)


@pytest.mark.slow
def test_tie_noise_is_what_random_orders_do() -> None:
    """Three relevant among ten tied documents, and in three groups: the spread over 400 orders is that reported.

    Each run has a seed of its own. A seed gives a document the same place in the ties of both, and less of a spread.
    """
    documents = [f"d{at}" for at in range(10)]
    judgments = Judgments.from_dict({f"q{at}": {"d1": 1, "d5": 1, "d8": 2} for at in range(20)})
    flat = Run.from_dict({f"q{at}": dict.fromkeys(documents, 1.0) for at in range(20)}, name="flat")
    steps = {document: float(place // 4) for place, document in enumerate(documents)}
    three = Run.from_dict({f"q{at}": steps for at in range(20)}, name="three")
    runs = [(flat, 0), (three, 1000)]
    worlds = []
    for seed in range(400):
        drawn = [evaluate(run, judgments, "nDCG@5", tie_order="random", seed=seed + own) for run, own in runs]
        worlds.append(power_of_scores(drawn).measures[0].pairs[0])
    spread = np.std([pair.tie_broken.difference for pair in worlds], ddof=1)
    reported = worlds[0].ties.half_width / t.ppf(0.975, 19)
    assert spread == pytest.approx(reported, rel=0.12)  # 3.4 standard errors of 400 draws
    assert worlds[0].ties.share == pytest.approx(1.0)  # every query is the same, so queries add nothing
