"""S5, pruning: select the passages of a pool for the refinement, by buckets of grades (P-B §3.4).

Passages are kept by grade, highest first, up to a total. Within the grade that is cut, those with the higher mean label
are kept, then those that come first in the pool. Passages without a grade are never kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

KEEP: Final = 40


class Candidate(NamedTuple):
    """A passage of a pool with its grade.

    Attributes:
        grade: aggregated grade; None without a valid label.
    """

    doc_id: str
    grade: int | None
    mean: float


def prune_pool(
    pool: Sequence[Candidate], keep: int = KEEP, most: Mapping[int, int] | None = None
) -> tuple[Candidate, ...]:
    """The selected passages, best grade first.

    Args:
        pool: passages in pool order.
        keep: maximum number of passages in total.
        most: grade → maximum number of passages; a missing grade has no limit.

    >>> found = prune_pool([Candidate("a", 2, 2.0), Candidate("b", 5, 4.5), Candidate("c", None, 0.0)], keep=5)
    >>> [each.doc_id for each in found]
    ['b', 'a']
    """
    graded = [(place, each) for place, each in enumerate(pool) if each.grade is not None]
    ordered = sorted(graded, key=lambda one: (-(one[1].grade or 0), -one[1].mean, one[0]))
    taken: dict[int, int] = {}
    kept = []
    for _, each in ordered:
        grade = each.grade or 0
        if taken.get(grade, 0) < (most or {}).get(grade, len(pool)):
            taken[grade] = taken.get(grade, 0) + 1
            kept.append(each)
    return tuple(kept[:keep])


def means_of(labels: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """The mean label of each passage.

    Args:
        labels: document id → labels.
    """
    return {doc_id: float(np.mean(each)) for doc_id, each in labels.items() if len(each)}
