"""Which of many systems are better than which, all pairs at once, for the ranks that each may have.

Let x_iq be what unit q (a query) adds to the mean of system i, so that D_ij = sum over q of (x_iq - x_jq) is the
difference of two means, and let each of 1,000 patterns give every unit a sign e_q, the same for all systems:

    U_ij = |D_ij| / sqrt(sum over q of (x_iq - x_jq)^2),    U*_ij the same with e_q (x_iq - x_jq)
    i is better than j  where  D_ij > 0, (1 + number of patterns with max over pairs U* >= U_ij) / 1,001 < 1 - level,
                               and ties do not undo it

This is the paired randomization test, adjusted by MaxT (Westfall & Young 1993) over all pairs; a pattern takes the sum
of squares along, so that 500,000 pairs take a millisecond. With probability of at least the level no pair is separated
falsely, and all intervals of ranks [1 + number that is better, S - number that is worse] hold together (as Mogstad,
Romano, Shaikh & Wilhelm 2024 make them from simultaneous intervals of differences). The means of several tasks are
averaged: a unit of a task of n units among T tasks adds its value / (n T), so ranks are those on these tasks, whatever
their queries.

A max-t bootstrap was tried in its place: with 12 queries and 40 equal systems it was right of all pairs together in
40 % of simulated worlds instead of 95 %, for a pair whose differences are alike by chance has too small a scale.

Ties undo a lead unless the lowest mean of i is above the highest of j, or Cantelli's inequality (1910) bounds the share
of tie orders in which j is ahead: v / (v + D_ij^2) <= 1 - level, v being the sum of both tie variances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.resampling.bootstrap_intervals import tail
from trueval.comparison.resampling.resampled_sums import (
    RANK_SIGNS,
    blocks,
    bootstrap_sums,
    generator,
    in_threads,
    to_grid,
)
from trueval.standings.standings import Bools, Floats

# Sign patterns and resamples: the p that decides at level .95 is then known to .007.
RESAMPLES: Final = 1_000

# Systems whose differences to all later ones are in memory at once, as 4-byte numbers.
WIDTH: Final = 64

# Relative difference of two statistics below which they are equal: those of patterns are 4-byte numbers.
EQUAL: Final = 1e-5

# Squared differences of systems below this share of their squares are rounding.
ROUNDING: Final = 1e-13


@dataclass(frozen=True, eq=False)
class Stratum:
    """Units whose mean is one value: the queries of a task.

    Attributes:
        expected: [unit, system] expected values, higher being better.
        lowest: [system] lowest mean over tie orders.
        highest: [system] highest mean.
        tie_variance: [system] variance of the mean over tie orders; NaN if unknown.
    """

    expected: Floats
    lowest: Floats
    highest: Floats
    tie_variance: Floats


class RankBounds(NamedTuple):
    """What resampling says of many systems.

    Attributes:
        means: [system] mean over strata of the means over units.
        lowest: [system] lowest over tie orders.
        highest: [system] highest.
        intervals: [system, 2] bootstrap interval of the mean over units, of each system alone; NaN below two units.
        better: [system, system] whether the first is better than the second.
    """

    means: Floats
    lowest: Floats
    highest: Floats
    intervals: Floats
    better: Bools


def rank_bounds(strata: Sequence[Stratum], *, level: float, seed: int, threads: int) -> RankBounds:
    """Find which systems are better than which.

    Args:
        strata: the same systems on several tasks.
        level: probability that no pair is separated falsely.
        seed: seed of the patterns and resamples.

    >>> values = np.array([[0.9, 0.1], [0.8, 0.1], [0.9, 0.2], [0.7, 0.1], [0.9, 0.0], [0.8, 0.2], [0.8, 0.0]])
    >>> alone = Stratum(values, values.mean(axis=0), values.mean(axis=0), np.zeros(2))
    >>> rank_bounds([alone], level=0.95, seed=0, threads=1).better.tolist()
    [[False, True], [False, False]]
    """
    share = 1 / len(strata)
    means, lowest, highest, ties = (
        share**power * np.sum(columns, axis=0)
        for power, columns in (
            (1, [each.expected.mean(axis=0) for each in strata]),
            (1, [each.lowest for each in strata]),
            (1, [each.highest for each in strata]),
            (2, [each.tie_variance for each in strata]),
        )
    )
    added = np.concatenate([each.expected * (share / len(each.expected)) for each in strata])
    lead, scale = means[:, None] - means, _scales(added)
    largest = np.sort(_largest(added, scale, seed, threads))[::-1]
    reached = int(np.ceil(round((1 - level) * (RESAMPLES + 1), 9))) - 2  # patterns that may reach a separated pair
    least = largest[reached] if reached >= 0 else np.inf
    with np.errstate(invalid="ignore"):  # infinite scales times 0, where all systems are equal; tie variances of NaN
        better = lead > scale * least * (1 + EQUAL)
        sure = (ties[:, None] + ties) * level <= lead**2 * (1 - level)
        better &= sure | (lowest[:, None] > highest)
    return RankBounds(means, lowest, highest, _intervals(strata, means, level, seed, threads), better)


def _intervals(strata: Sequence[Stratum], means: Floats, level: float, seed: int, threads: int) -> Floats:
    """[system, 2] percentiles of resampled means, widened for few units; each stratum draws its own."""
    units = min(len(each.expected) for each in strata)
    if units < 2:
        return np.full((len(means), 2), np.nan)
    moved = np.zeros((len(means), RESAMPLES))
    for at, each in enumerate(strata):
        grid = to_grid(each.expected)
        sums = bootstrap_sums(grid, RESAMPLES, (seed + at) % 2**64, threads)
        moved += (sums - grid.values.sum(axis=0)[:, None]) / (len(each.expected) * len(strata))
    out = tail(units, level)
    ends: Floats = means[:, None] + np.quantile(moved, [out, 1 - out], axis=1).T
    return ends


def _scales(added: Floats) -> Floats:
    """[system, system] root of the sum of squared differences over units; infinite for systems that are equal."""
    own = (added**2).sum(axis=0)
    both = own[:, None] + own
    squares = both - 2 * (added.T @ added)
    # What is small beside both sums has lost digits, and is summed again.
    for first, second in np.argwhere(np.triu(squares <= 1e-6 * both, 1)).tolist():
        squares[first, second] = squares[second, first] = ((added[:, first] - added[:, second]) ** 2).sum()
    squares[squares <= ROUNDING**2 * both] = np.inf
    np.fill_diagonal(squares, np.inf)
    found: Floats = np.sqrt(squares)
    return found


def _largest(added: Floats, scale: Floats, seed: int, threads: int) -> Floats:
    """[pattern] the largest statistic of a pair."""
    bits = generator(seed, RANK_SIGNS, 0).integers(0, 2, size=(RESAMPLES, len(added)))
    sums = np.ascontiguousarray((2.0 * bits - 1) @ to_grid(added).values, dtype=np.float32)
    inverse = (1 / scale).astype(np.float32)
    parts, largest = blocks(len(scale), WIDTH), np.zeros(RESAMPLES)

    def work(pattern: int) -> None:
        row = sums[pattern]
        for part in parts:
            start = int(part[0])
            apart = np.subtract(row[part, None], row[start:])
            apart *= inverse[start : start + len(part), start:]
            largest[pattern] = max(largest[pattern], float(apart.max()), -float(apart.min()))

    in_threads(work, RESAMPLES, threads)
    return largest
