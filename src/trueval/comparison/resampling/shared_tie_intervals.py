"""Joint intervals of realized differences in many worlds with the same ties, for self-tests.

The intervals are those of bootstrap_intervals.py and simultaneous.py, with one column per difference. A self-test needs
a million of them, so what all worlds share (how often units are drawn, the tie noise) is computed once, and what no
limit uses is not computed at all: the interval of the expected difference, and that of a single check where the joint
one already contains every limit, as a wider one would too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from trueval.comparison.resampling.bootstrap_intervals import ResampleDraws, Sizes, realized_intervals
from trueval.comparison.resampling.resampled_sums import RUN_NOISE, ValueGrid, normal_noise, to_grid
from trueval.comparison.resampling.simultaneous import few_units, squared_standard_errors
from trueval.standings.standings import Bools, Floats, Ints


class WorldTies(NamedTuple):
    """Tie noise in all worlds of a group.

    Attributes:
        draws: how units are resampled.
        sizes: sizes of the units.
        grid: [unit, check] sums of variances over tie orders.
        spread: [check, resample] sums of variances of resamples.
        noise: [check, resample] noise of the joint interval; checks of one run share it.
    """

    draws: ResampleDraws
    sizes: Sizes
    grid: ValueGrid
    spread: Floats
    noise: Floats

    @classmethod
    def of(cls, variance: Floats, sizes: Floats, run: Ints, draws: ResampleDraws) -> WorldTies:
        """Resample the variances.

        Args:
            variance: [unit, check] sums of variances over tie orders; known.
            sizes: [unit] number of queries.
            run: [check] index of the candidate.
            draws: how units are resampled.
        """
        grid, counted = to_grid(variance), Sizes.of(sizes, draws)
        spread = draws.sums(grid) if grid.values.any() else np.zeros((len(run), draws.resamples))
        noise = np.stack([normal_noise(draws.resamples, draws.seed, RUN_NOISE + each) for each in run.tolist()])
        return cls(draws, counted, grid, spread, noise * np.sqrt(spread) / counted.drawn)


class _ResampledGroup(NamedTuple):
    """Resampled worlds of a group: mean, scale and resamples per check, and the largest deviation per world."""

    grid: ValueGrid
    sums: Floats
    middle: Floats
    scale: Floats
    largest: Floats

    @classmethod
    def of(cls, apart: Floats, ties: WorldTies) -> _ResampledGroup:
        """Resample [unit, world, check] differences."""
        units, worlds, checks = apart.shape
        sizes, grid = ties.sizes, to_grid(apart.reshape(units, -1))
        sums, middle = ties.draws.sums(grid), grid.values.sum(axis=0) / sizes.total
        rows = np.ascontiguousarray(grid.values.T)
        scale = np.sqrt(
            squared_standard_errors(rows, sizes) + np.tile(ties.grid.values.sum(axis=0), worlds) / sizes.total**2
        )
        scale[scale <= 4 * grid.step] = 0.0
        inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        away = sums / sizes.drawn
        away -= middle[:, None]
        away = away.reshape(worlds, checks, -1)
        away += ties.noise
        np.abs(away, out=away)
        away *= inverse.reshape(worlds, checks, 1)
        return cls(grid, sums, middle, scale, away.max(axis=1))


def joint_ends(
    apart: Sequence[Floats], ties: Sequence[WorldTies], is_open: Sequence[Callable[[Floats, Floats], Bools]]
) -> list[Floats]:
    """Joint intervals of realized differences, simultaneous over all checks of a world.

    Args:
        apart: [group] of [unit, world, check] sums of candidate - baseline.
        ties: [group] tie noise.
        is_open: [group] tells for low and high ends, [world, check], where a wider interval may change a decision. Only
            there the interval of the single check is computed, which the joint one must contain.

    Returns:
        [group] of [world, check, 2].
    """
    resampled = [_ResampledGroup.of(each, shared) for each, shared in zip(apart, ties, strict=True)]
    largest = np.maximum.reduce([each.largest for each in resampled])
    quantile = np.quantile(largest, ties[0].draws.level, axis=1)
    found = []
    for each, shared, differences, wanted in zip(resampled, ties, apart, is_open, strict=True):
        worlds, checks = differences.shape[1:]
        wide = np.repeat(quantile, checks) * each.scale * few_units(len(differences), shared.draws.level)
        ends = np.stack([each.middle - wide, each.middle + wide], axis=1)
        some = np.flatnonzero(wanted(*ends.reshape(worlds, checks, 2).transpose(2, 0, 1)))
        tied = some % checks
        alone = realized_intervals(
            ValueGrid(each.grid.values[:, some], each.grid.step[some]),
            each.sums[some],
            shared.grid.values[:, tied],
            shared.spread[tied],
            shared.draws,
            shared.sizes,
        )
        ends[some, 0], ends[some, 1] = np.minimum(ends[some, 0], alone[:, 0]), np.maximum(ends[some, 1], alone[:, 1])
        ends[np.abs(ends) <= each.grid.step[:, None]] = 0.0
        found.append(ends.reshape(worlds, checks, 2))
    return found
