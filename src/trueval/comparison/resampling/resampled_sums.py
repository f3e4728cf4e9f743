"""Resampled sums that are identical, to the last bit, on any number of threads.

Random numbers come from a counter-based generator (Philox 4x64; Salmon et al. 2011): chunk i of a stream begins at its
own counter, whichever thread draws it. The values of a column are first rounded to a grid so coarse that every sum of
them is exact in float64, so neither BLAS nor its threads can change a bit by adding in another order. Every column has
its own grid: a large gain under one measure, or of one run, does not reduce the precision of the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.errors import PolicyError
from trueval.standings.standings import Floats, Ints

# Rows drawn at once. Part of the meaning of a seed: another value gives other resamples.
CHUNK: Final = 250

# Streams of one seed. Tie orders of run i use TIE_ORDERS + i, and its own tie noise RUN_NOISE + i.
RESAMPLES: Final = 0
NOISE: Final = 1
SIGNS: Final = 2
TIE_ORDERS: Final = 3
RUN_NOISE: Final = 1 << 32
# Queries used for the reshuffle of two runs, and queries of a sample.
RESHUFFLE: Final = 1 << 33
# Units of a simulated world, by the number of units.
WORLDS: Final = 1 << 34
SAMPLE: Final = 1 << 33
# Orders of queries for betting.
BETS: Final = 1 << 34
# Signs of the test of all pairs of many systems.
RANK_SIGNS: Final = 1 << 35

# Maximum size of the cached counts of drawn units, 32 MB: 10,000 resamples of 1,600 units.
KEPT_COUNTS: Final = 1 << 24

# Maximum number of units for which all sign patterns are enumerated: 2^17 patterns without mirror images.
ALL_SIGNS_UP_TO: Final = 18

# Sign patterns enumerated at once.
LISTED: Final = 2048

# Sums of grid values stay below 2^51 steps, so that differences of two sums on one step are exact too.
EXACT_BITS: Final = 51

# Exponent of the smallest positive float64; a step cannot be smaller.
LEAST_EXPONENT: Final = -1074


class ValueGrid(NamedTuple):
    """Values rounded to multiples of a power of two, one power per column.

    Attributes:
        values: [unit, column] the values, each moved by at most half a step.
        step: [column] power of two.
    """

    values: Floats
    step: Floats


def to_grid(values: Floats) -> ValueGrid:
    """Round values so that the sum of a column, over as many values as there are rows, is exact.

    Args:
        values: [query, column] finite; the rounding of a column does not depend on the others.

    Returns:
        The same values to about 15 digits for 50 queries, 13 for 5,000.

    >>> to_grid(np.array([[0.5], [0.25]])).values.tolist()
    [[0.5], [0.25]]
    """
    mantissa, exponent = np.frexp(np.abs(values).max(axis=0, initial=0.0) * max(len(values), 1))
    # The largest sum is mantissa x 2^exponent, mantissa from 1/2: 2^(exponent - 1) itself is already a power of two.
    bits = exponent - (mantissa == 0.5) - EXACT_BITS
    step = np.ldexp(1.0, np.where(mantissa > 0, np.maximum(bits, LEAST_EXPONENT), LEAST_EXPONENT))
    with np.errstate(over="ignore"):  # none is above 2^51; NumPy 1.26 also divides the padding of its registers
        return ValueGrid(np.rint(values / step) * step, step)


def generator(seed: int, stream: int, chunk: int) -> np.random.Generator:
    """The random generator for one chunk of one stream of a seed."""
    if not 0 <= seed < 2**64:
        raise PolicyError(f"seed must be an integer from 0 to 2^64 - 1. Got {seed!r}.")
    key, counter = np.array([seed, stream], dtype=np.uint64), np.array([0, 0, 0, chunk], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def sample(ids: Sequence[str], count: int | None, seed: int) -> list[str]:
    """Draw queries at random, keeping their order.

    Args:
        ids: ids of all queries.
        count: number of queries to draw; all if None, or if there are no more.
        seed: seed of the draw.

    >>> sample(["a", "b", "c", "d"], 2, 0) == sample(["a", "b", "c", "d"], 2, 0), sample(["a"], 5, 0)
    (True, ['a'])
    """
    if count is None or count >= len(ids):
        return list(ids)
    drawn = generator(seed, SAMPLE, 0).choice(len(ids), count, replace=False)
    return [ids[place] for place in np.sort(drawn).tolist()]


def bootstrap_sums(columns: ValueGrid, resamples: int, seed: int, threads: int) -> Floats:
    """Sums over units drawn with replacement, as many as there are units; the same draws for every column.

    Args:
        columns: [unit, column] on a grid; a unit is a query, or the sum over the queries of a cluster.
        seed: seed of the draws.

    Returns:
        [column, resample] sums.
    """
    units = len(columns.values)
    out = np.empty((columns.values.shape[1], resamples))
    kept = _draw_all_counts(units, resamples, seed, threads) if units * resamples <= KEPT_COUNTS else None

    def work(chunk: int) -> None:
        place = slice(chunk * CHUNK, min((chunk + 1) * CHUNK, resamples))
        counts = _counts(units, seed, chunk)[: place.stop - place.start] if kept is None else kept[place]
        out[:, place] = (counts.astype(np.float64) @ columns.values).T

    in_threads(work, _chunks(resamples), threads)
    return out


def _counts(units: int, seed: int, chunk: int) -> Ints:
    """[resample, unit] how often each unit is drawn, for the resamples of one chunk."""
    drawn = generator(seed, RESAMPLES, chunk).integers(0, units, size=(CHUNK, units))
    drawn += np.arange(CHUNK)[:, None] * units
    return np.bincount(drawn.ravel(), minlength=CHUNK * units).reshape(CHUNK, units)


@lru_cache(maxsize=1)
def _draw_all_counts(units: int, resamples: int, seed: int, threads: int) -> NDArray[np.uint16]:
    """[resample, unit] counts of all chunks, cached: drawing them takes as long as summing 200 columns."""
    kept = np.empty((resamples, units), dtype=np.uint16)

    def work(chunk: int) -> None:
        rows = kept[chunk * CHUNK : (chunk + 1) * CHUNK]
        rows[:] = _counts(units, seed, chunk)[: len(rows)]

    in_threads(work, _chunks(resamples), threads)
    return kept


@dataclass(frozen=True)
class SignPatterns:
    """The signs of a randomization test: every pattern where they are few, otherwise random ones.

    Attributes:
        units: number of signs in a pattern.
        resamples: number of patterns drawn where they are not all enumerated.
        seed: seed of the signs.
    """

    units: int
    resamples: int
    seed: int

    @property
    def enumerates_all(self) -> bool:
        """Whether every pattern is enumerated. Each also stands for its mirror image: use absolute sums only."""
        return self.units <= ALL_SIGNS_UP_TO

    @property
    def count(self) -> int:
        """Number of patterns."""
        return 2 ** (self.units - 1) if self.enumerates_all else self.resamples

    def share(self, reached: Ints) -> Floats:
        """The p for a number of patterns that reach the statistic; drawn ones include the observed signs."""
        added = 0 if self.enumerates_all else 1
        found: Floats = (reached + added) / (self.count + added)
        return found

    @property
    def least_p(self) -> float:
        """The least p possible with these patterns."""
        return 1 / self.count if self.enumerates_all else 1 / (self.count + 1)

    @property
    def chunks(self) -> int:
        """Number of chunks the patterns come in."""
        return -(-self.count // (LISTED if self.enumerates_all else CHUNK))

    def rows(self, chunk: int) -> tuple[slice, Floats]:
        """The patterns of one chunk: their indices among all, and their signs [pattern, unit], 1 or -1."""
        size = LISTED if self.enumerates_all else CHUNK
        place = slice(chunk * size, min((chunk + 1) * size, self.count))
        if self.enumerates_all:
            bits = np.arange(place.start, place.stop)[:, None] >> np.arange(self.units) & 1
        else:
            # A whole chunk is drawn, so that a pattern does not depend on the requested number.
            drawn = generator(self.seed, SIGNS, chunk).integers(0, 2, size=(CHUNK, self.units))
            bits = 1 - drawn[: place.stop - place.start]
        return place, (1 - 2 * bits).astype(np.float64)


@lru_cache(maxsize=64)
def normal_noise(resamples: int, seed: int, stream: int = NOISE) -> Floats:
    """[resample] standard normal numbers for the tie noise of a resample, cached for later calls."""
    chunks = [generator(seed, stream, chunk).standard_normal(CHUNK) for chunk in range(_chunks(resamples))]
    noise = np.concatenate(chunks)[:resamples]
    noise.setflags(write=False)
    return noise


def thread_count(threads: int | None) -> int:
    """The requested number of threads, or one per processor up to 8.

    Raises:
        PolicyError: fewer than 1.
    """
    if threads is None:
        return min(os.cpu_count() or 1, 8)
    if threads < 1:
        raise PolicyError(f"threads must be an integer >= 1, or None for one for each processor. Got {threads!r}.")
    return threads


def in_threads(work: Callable[[int], None], count: int, threads: int) -> None:
    """Call work(0) .. work(count - 1) on several threads; the calls must be independent."""
    if threads == 1 or count == 1:
        for index in range(count):
            work(index)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(count)))


def blocks(columns: int, width: int) -> list[Ints]:
    """Split column indices into blocks of a given width, the last one possibly narrower."""
    return [np.arange(start, min(start + width, columns)) for start in range(0, columns, width)]


def family_blocks(families: Ints, width: int) -> list[Ints]:
    """Split comparisons into blocks of at most a given width, each within one family.

    Args:
        families: [comparison] index of its family.
        width: maximum number of comparisons in a block.
    """
    return [
        members[part]
        for number in np.unique(families)
        for members in [np.flatnonzero(families == number)]
        for part in blocks(len(members), width)
    ]


def _chunks(resamples: int) -> int:
    return -(-resamples // CHUNK)
