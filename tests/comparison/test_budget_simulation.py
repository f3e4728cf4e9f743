"""Planted variances: bias, error and coverage of their estimates, and of the intervals of means, also in worlds that
break the model.

Figures are printed with `-s` and stand in docs/evidence/notes/power.md.
"""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import stdtrit
from tests.comparison.doubt_worlds import PLANTED, planted, true_variances

from trueval.comparison.budget.variance_parts import (
    MeanVariance,
    satterthwaite,
    variance_of_mean,
    variance_of_nested,
)

WORLDS = 2_000


class Found(NamedTuple):
    """What came of many worlds.

    Attributes:
        effects: names.
        bias: [effect] mean error of the untruncated variance, as a share of the sum of all.
        near: [effect] share of worlds within 10 % of the truth.
        covered: [effect] share of worlds whose interval holds the truth.
        degrees: [effect] degrees of freedom.
        mean: share of worlds whose interval of the mean holds the truth.
    """

    effects: list[str]
    bias: np.ndarray
    near: np.ndarray
    covered: np.ndarray
    degrees: np.ndarray
    mean: float


def tried(worlds: int, find, true) -> Found:
    errors, near, covered, mean = [], [], [], 0
    for world in range(worlds):
        found: MeanVariance = find(np.random.default_rng(world))
        variances = true([each.effect for each in found.components])
        low, high = np.maximum(np.quantile(found.draw(np.random.default_rng(0)), [0.025, 0.975], axis=1), 0)
        errors.append(found.variances - variances)
        near.append(np.abs(found.variances - variances) <= 0.1 * variances)
        covered.append((low <= variances) & (variances <= high))
        parts = np.maximum(found.variances, 0) / found.divisors
        degrees = float(satterthwaite(found.components, list(parts), found.counts))
        mean += abs(found.value) <= stdtrit(degrees, 0.975) * np.sqrt(parts.sum())
    return Found(
        [each.effect + "+" * (each.system >= 0) for each in found.components],
        np.mean(errors, axis=0) / variances.sum(),
        np.mean(near, axis=0),
        np.mean(covered, axis=0),
        np.array([float(found.counts.degrees(each)) for each in found.components]),
        mean / worlds,
    )


def say(title: str, found: Found) -> None:
    print(f"{title}: interval of the mean covers {found.mean:.1%}")
    for at, effect in enumerate(found.effects):
        print(
            f"  {effect}: degrees {found.degrees[at]:.0f}, bias {found.bias[at]:+.2%}, within 10 % "
            f"{found.near[at]:.0%}, covers {found.covered[at]:.1%}"
        )


@pytest.mark.evidence
@pytest.mark.parametrize("shape", [(250, 3, 2), (50, 3, 2), (50, 1, 3), (50, 5, 1)])
def test_planted_variances_of_normal_values(shape) -> None:
    """Where two judges make most of the variance of a mean, its interval has one degree of freedom and covers least."""
    found = tried(WORLDS, lambda rng: variance_of_mean(planted(shape, rng)), true_variances)
    say(f"normal, {shape[0]} queries, {shape[1]} repeats, {shape[2]} judges", found)
    assert (np.abs(found.bias) <= 0.01).all()
    assert (found.covered >= 0.93).all()
    assert found.mean >= 0.915


@pytest.mark.evidence
def test_parts_that_hold_most_of_the_variance_are_within_ten_percent() -> None:
    """A variance with f degrees of freedom has an error of sqrt(2 / f): .1 at 1.64 of it takes 541 of them."""
    sds = {"Q": 1.0, "R": 0.1, "QR": 0.5}
    found = tried(
        WORLDS, lambda rng: variance_of_mean(planted((600, 3, 1), rng, sds=sds)), lambda e: true_variances(e, sds)
    )
    say("normal, 600 queries, 3 repeats", found)
    near = dict(zip(found.effects, found.near, strict=True))
    assert near["QR"] >= 0.9
    assert near["Q"] >= 0.85


@pytest.mark.evidence
@pytest.mark.parametrize("law", ["t with 5 degrees", "t with 3 degrees", "mostly 0", "unequal queries"])
@pytest.mark.parametrize("queries", [50, 250])
def test_worlds_that_break_the_model(law, queries) -> None:
    """Without a fourth moment no interval of a variance holds; that of the mean does."""
    found = tried(WORLDS // 2, lambda rng: variance_of_mean(planted((queries, 3, 2), rng, law)), true_variances)
    say(f"{law}, {queries} queries, 3 repeats, 2 judges", found)
    assert found.mean >= 0.92
    if law != "t with 3 degrees":
        assert (np.abs(found.bias) <= 0.02).all()
        assert (found.covered >= 0.86).all()


@pytest.mark.evidence
def test_a_judge_of_some_queries() -> None:
    """REML, where the last judge has no labels on two queries of five."""

    def world(rng: np.random.Generator) -> MeanVariance:
        values = planted((50, 3, 2), rng)
        values[30:, :, 1] = np.nan
        return variance_of_mean(values)

    found = tried(WORLDS // 4, world, true_variances)
    say("normal, 50 queries, 3 repeats, 2 judges, the second on 30 queries", found)
    assert (np.abs(found.bias) <= 0.02).all()
    assert (found.covered >= 0.9).all()
    assert found.mean >= 0.93


@pytest.mark.evidence
def test_repeats_of_each_system_of_its_own() -> None:
    def world(rng: np.random.Generator) -> MeanVariance:
        shared = planted((60, 1, 3), rng)
        own = {effect: sd for effect, sd in PLANTED.items() if "R" in effect}
        first, second = (planted((60, repeats, 3), rng, sds=own) for repeats in (4, 3))
        return variance_of_nested(first + 2 * shared, second + shared)

    found = tried(WORLDS // 2, world, true_variances)
    say("normal, 60 queries, 4 and 3 repeats of their own, 3 judges", found)
    assert (np.abs(found.bias) <= 0.01).all()
    assert (found.covered >= 0.93).all()
    assert found.mean >= 0.93


@pytest.mark.parametrize("law", ["normal", "mostly 0"])
def test_some_worlds(law) -> None:
    """What `make test` tries: a few of the same worlds."""
    found = tried(60, lambda rng: variance_of_mean(planted((50, 3, 2), rng, law)), true_variances)
    assert (found.covered >= 0.8).all()
    assert found.mean >= 0.85
