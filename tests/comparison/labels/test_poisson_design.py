"""Estimates from Poisson batches: unbiased over all samples, in fractions, whatever later batches follow from."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from trueval.comparison.labels.poisson_design import (
    GainPrediction,
    LabeledBatches,
    PoissonSample,
    by_chances,
    poisson_estimate,
)

WORTH = [Fraction(1), Fraction(-1, 2), Fraction(1, 3), Fraction(2)]
GAINS = [Fraction(1), Fraction(0), Fraction(1, 2), Fraction(1)]  # people's
CLASSES = [0, 1, 0, 1]
OWN = [Fraction(0), Fraction(1)]  # the judge's gain of each class
TRUTH = sum(a * g for a, g in zip(WORTH, GAINS, strict=True))

Batches = list[dict[int, Fraction]]  # [batch] passage → its chance


def chances_after(labels: dict[int, Fraction], left: list[int]) -> dict[int, Fraction]:
    """Chances of a batch, which follow from the labels so far, as a greedy choice would."""
    base = Fraction(1, 4) + sum(labels.values(), Fraction(0)) / 8
    return {at: min(Fraction(1), base + Fraction(at, 10)) for at in left}


def samples(batches: int) -> Iterator[tuple[Fraction, Batches]]:
    """Every sequence of batches, with its chance."""

    def extend(done: Batches, chance: Fraction, left: list[int]) -> Iterator[tuple[Fraction, Batches]]:
        if len(done) == batches:
            yield chance, done
            return
        labels = {at: GAINS[at] for batch in done for at in batch}
        of = chances_after(labels, left)
        for drawn in product((False, True), repeat=len(left)):
            some = [at for at, is_in in zip(left, drawn, strict=True) if is_in]
            own = Fraction(1)
            for at, is_in in zip(left, drawn, strict=True):
                own *= of[at] if is_in else 1 - of[at]
            if own:
                rest = [at for at in left if at not in some]
                yield from extend([*done, {at: of[at] for at in some}], chance * own, rest)

    yield from extend([], Fraction(1), list(range(len(WORTH))))


def predicted(at: int, labels: dict[int, Fraction], strength: Fraction | None) -> Fraction:
    """Mean gain of the class of a passage from labels of other passages; the judge's own where labels do not count."""
    if strength is None:
        return OWN[CLASSES[at]]
    others = [gain for other, gain in labels.items() if other != at and CLASSES[other] == CLASSES[at]]
    return (strength * OWN[CLASSES[at]] + sum(others, Fraction(0))) / (strength + len(others))


def twin(batches: Batches, shares: list[Fraction], strength: Fraction | None) -> tuple[Fraction, Fraction]:
    """The estimate and its variance as the formulas of poisson_design.py say, passage by passage."""
    estimate = variance = Fraction(0)
    before: dict[int, Fraction] = {}
    for batch, share in zip(batches, shares, strict=True):
        until = {**before, **{at: GAINS[at] for at in batch}}
        for at, worth in enumerate(WORTH):
            if at in before:
                estimate += share * worth * GAINS[at]
                continue
            mean = predicted(at, until, strength)
            estimate += share * worth * mean
            if at in batch:
                apart, chance = worth * (GAINS[at] - mean), batch[at]
                estimate += share * apart / chance
                variance += share**2 * (1 - chance) / chance**2 * apart**2
        before = until
    return estimate, variance


def ours(batches: Batches, shares: list[Fraction], strength: Fraction | None) -> tuple[float, float]:
    drawn = [(at, number, chance) for number, batch in enumerate(batches) for at, chance in batch.items()]
    labels = LabeledBatches(
        np.array([at for at, _, _ in drawn], dtype=np.int64),
        np.array([number for _, number, _ in drawn], dtype=np.int64),
        np.array([float(chance) for _, _, chance in drawn]),
        np.array([float(each) for each in shares]),
    )
    gains = np.array([float(GAINS[at]) for at, _, _ in drawn])
    prediction = GainPrediction(
        np.array(CLASSES), np.array([0.0, 1.0]), np.inf if strength is None else float(strength)
    )
    found = poisson_estimate(np.array([float(each) for each in WORTH]), gains, labels, prediction)
    return float(found.values.sum()), found.variance


@pytest.mark.parametrize(
    "shares", [[Fraction(1)], [Fraction(1, 3), Fraction(2, 3)], [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]]
)
@pytest.mark.parametrize("strength", [Fraction(1), Fraction(3), None])
def test_the_mean_over_all_samples_is_the_truth_in_fractions(shares: list[Fraction], strength: Fraction | None) -> None:
    every = list(samples(len(shares)))
    assert sum(chance for chance, _ in every) == 1
    assert sum(chance * twin(batches, shares, strength)[0] for chance, batches in every) == TRUTH
    if strength is None:
        # With predictions that labels do not change, the estimated variance is unbiased, over adaptive batches too.
        squares = sum(chance * (twin(batches, shares, strength)[0] - TRUTH) ** 2 for chance, batches in every)
        assert sum(chance * twin(batches, shares, strength)[1] for chance, batches in every) == squares
    for _, batches in every[:: max(1, len(every) // 200)]:
        assert ours(batches, shares, strength) == pytest.approx(
            tuple(map(float, twin(batches, shares, strength))), rel=1e-12, abs=1e-12
        )


def test_shares_that_follow_from_labels_would_be_biased() -> None:
    """Why they are fixed before: the same estimate with the shares turned round where the first batch tells a 1."""
    bias = Fraction(0)
    for chance, batches in samples(2):
        told = any(GAINS[at] == 1 for at in batches[0])
        shares = [Fraction(1, 3), Fraction(2, 3)] if told else [Fraction(2, 3), Fraction(1, 3)]
        bias += chance * (twin(batches, shares, None)[0] - TRUTH)
    assert abs(bias) > Fraction(1, 100)


def test_with_equal_chances_labels_have_the_lure_weights() -> None:
    """v_m of Farquhar, Gal & Rainforth 2021, eq. 8, times N / M, for passages drawn one by one."""
    number, labels = 7, 4
    left = [Fraction(1, number - t) - Fraction(1, number - t + 1) for t in range(1, labels + 1)]
    shares = [each / sum(left) for each in left]
    for m in range(1, labels + 1):
        chance = Fraction(1, number - m + 1)
        ours = shares[m - 1] / chance + sum(shares[m:], Fraction(0))
        lure = 1 + Fraction(number - labels, number - m) * (1 / ((number - m + 1) * chance) - 1)
        assert ours == Fraction(number, labels) * lure


def test_everything_labeled_is_the_sum() -> None:
    gains = np.array([float(each) for each in GAINS])
    drawn = LabeledBatches(np.arange(4), np.zeros(4, dtype=np.int64), np.ones(4), np.ones(1))
    found = poisson_estimate(
        np.array([float(each) for each in WORTH]), gains, drawn, GainPrediction(np.array(CLASSES), np.array([0.0, 1.0]))
    )
    assert found.values.sum() == pytest.approx(float(TRUTH), rel=1e-15)
    assert found.variance == 0


def _world(rng: np.random.Generator, queries: int, each: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Worth, people's gain and the judge's grade of passages; the judge errs, and more where it grades high."""
    rows = queries * each
    worth = np.tile(1 / np.log2(2 + np.arange(each)), queries) * rng.choice([-1, 0, 1], size=rows, p=[0.3, 0.4, 0.3])
    people = (rng.random(rows) < np.repeat(rng.beta(1, 2, queries), each)).astype(float)
    judge = np.where(rng.random(rows) < 0.25, rng.integers(0, 2, rows), people).astype(np.int64)
    return worth, people, judge


def _sample(
    rng: np.random.Generator, world: tuple[np.ndarray, np.ndarray, np.ndarray], each: int, size: float
) -> PoissonSample:
    """A batch with chances proportional to the size of worth."""
    worth, people, judge = world
    chance = np.minimum(1.0, np.abs(worth) * (size / np.abs(worth).sum()))
    rows = np.flatnonzero(rng.random(len(worth)) < chance)
    drawn = LabeledBatches(rows, np.zeros(len(rows), dtype=np.int64), chance[rows], np.ones(1))
    owner = np.repeat(np.arange(len(worth) // each), each)
    prediction = GainPrediction(judge, np.array([0.0, 1.0]))
    there = np.ones(len(worth) // each, dtype=bool)
    return PoissonSample(
        worth, people[rows], drawn, prediction, owner, np.zeros(len(there)), there, int((worth != 0).sum())
    )


def test_the_mean_over_queries_has_constants_and_counts_only_those_that_are_there() -> None:
    rng = np.random.default_rng(1)
    worth, people, judge = _world(rng, 6, 5)
    there = np.array([True, True, False, True, True, True])
    worth = np.where(there[np.repeat(np.arange(6), 5)], worth, 0.0)
    constant = np.array([0.5, 0, 9, 0, 0, 0])
    sample = _sample(rng, (worth, people, judge), 5, 1e9)._replace(constant=constant, there=there)  # all of them
    found = by_chances(sample, "these queries", 0.95)
    assert found.corrected.estimate == pytest.approx(((worth * people).sum() + 0.5) / 5, rel=1e-12)
    assert found.corrected.se == 0
    assert not found.is_partial
    new = by_chances(sample, "new queries", 0.95)
    values = (worth * people).reshape(6, 5).sum(axis=1)[there] + constant[there]
    assert new.corrected.se == pytest.approx(values.std(ddof=1) / np.sqrt(5), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["these queries", "new queries"])
def test_intervals_cover_in_a_made_world(target: str) -> None:
    rng, hits, draws = np.random.default_rng(3), 0, 1_000
    for _ in range(draws):
        world = _world(rng, 60, 12)
        found = by_chances(_sample(rng, world, 12, 150.0), target, 0.95).corrected
        # Signs of worth are symmetric, so that new queries have the mean 0.
        truth = (world[0] * world[1]).sum() / 60 if target == "these queries" else 0.0
        hits += found.low <= truth <= found.high
    assert 0.93 <= hits / draws <= 0.975
