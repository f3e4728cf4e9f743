"""Rounds: which passages a judge sees together, and in which slots. Each round shows every passage once.

A grade depends on the other passages of the call and on the slot, so each round gives a passage other companions and
another slot: among some random partitions of the pool, the one that repeats the fewest pairs of companions, and among
these the one that moves passages farthest from their earlier slots.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

TRIES: Final = 64  # number of random partitions per round, of which the best is used


class Batch(NamedTuple):
    """The passages of one call.

    Attributes:
        round: index of the round, from 0.
        members: [slot] index in the pool.
    """

    round: int
    members: tuple[int, ...]


def batches_of(pool: int, size: int, rounds: int, rng: np.random.Generator) -> tuple[Batch, ...]:
    """Partition a pool into batches, anew for each round.

    Sizes differ by at most one and do not exceed `size`: 41 passages in batches of 8 are five of 7 and one of 6.

    Args:
        pool: number of passages.
        size: maximum batch size.
        rounds: number of times each passage is shown.

    >>> [len(batch.members) for batch in batches_of(41, 8, 1, np.random.default_rng(0))]
    [7, 7, 7, 7, 7, 6]
    """
    found: list[Batch] = []
    met: Counter[tuple[int, int]] = Counter()
    slots = np.zeros((pool, 0))
    for number in range(rounds if pool else 0):
        cuts = [_cut(pool, size, rng) for _ in range(TRIES if number else 1)]
        best = min(cuts, key=lambda cut: (_again(cut, met), -_mean_displacement(cut, slots)))
        found += [Batch(number, members) for members in best]
        met.update(pair for members in best for pair in combinations(sorted(members), 2))
        slots = np.column_stack([slots, _slots(best, pool)])
    return tuple(found)


def _cut(pool: int, size: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    parts = np.array_split(rng.permutation(pool), -(-pool // size))
    return [tuple(part.tolist()) for part in parts]


def _again(cut: Sequence[tuple[int, ...]], met: Counter[tuple[int, int]]) -> int:
    """Number of pairs that shared a batch before."""
    return sum(met[pair] for members in cut for pair in combinations(sorted(members), 2))


def _slots(cut: Sequence[tuple[int, ...]], pool: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """[passage] its slot, from 0 for the first to 1 for the last."""
    slots = np.zeros(pool)
    for members in cut:
        slots[list(members)] = np.linspace(0, 1, len(members)) if len(members) > 1 else 0.5
    return slots


def _mean_displacement(
    cut: Sequence[tuple[int, ...]], before: np.ndarray[tuple[int, int], np.dtype[np.float64]]
) -> float:
    """Mean distance of passages from their earlier slots."""
    return float(np.abs(_slots(cut, len(before))[:, None] - before).mean()) if before.size else 0.0


def rng_of(seed: int, *about: str) -> np.random.Generator:
    """A generator that depends only on the seed and on the subject of the draw.

    Args:
        about: subject of the draw, such as the stage and the query id.
    """
    digest = hashlib.sha256("\0".join((str(seed), *about)).encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))
