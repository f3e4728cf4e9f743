"""Fusion: combine several runs of the same queries into one.

    RRF(d) = sum over runs i of w_i / (k + rank_i(d))          Cormack, Clarke & Büttcher 2009; k = 60
    weighted(d) = sum over runs i of w_i norm_i(score_i(d))    norm: min-max or z-score over the list of each query

A document that a run does not list adds nothing to RRF. In a weighted sum it adds the norm of the lowest score of the
run's list: all that is known is that it is no better than the last one.

RRF makes ties: ranks (1, 3) and (3, 1) have the same score, and so do any two documents whose sums of fractions are
equal. A sum of rounded fractions breaks some of these ties by the order of its terms. Here documents have the same
score if and only if their exact sums are the same (exact_sums.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import PolicyError
from trueval.retrieval.fusion.exact_sums import EXACT, sort_rank_sums
from trueval.retrieval.fusion.ranked_lists import RankedLists, TieCount, count_ties, in_order, rank_lists
from trueval.retrieval.fusion.union import Union, unite
from trueval.run import Run, find_empty_queries
from trueval.standings.groups import tie_groups

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Norm = Literal["min-max", "z-score"]


@dataclass(frozen=True, eq=False)
class FusedRun:
    """A run fused from several.

    Attributes:
        run: documents of each query by descending score; ties in the order of the first run that lists them.
        ties: tie counts of the fused run.
        before: tie counts of each input run, in order, down to the depth.
    """

    run: Run
    ties: TieCount
    before: tuple[TieCount, ...]


def reciprocal_rank_fusion(
    runs: Sequence[Run],
    *,
    k: float = 60,
    weights: Sequence[float] | None = None,
    depth: int | None = None,
    tied: Literal["listed", "shared"] = "listed",
    name: str = "rrf",
) -> FusedRun:
    """Fuse runs by the ranks of their documents: sum of w_i / (k + rank_i).

    Args:
        runs: two or more.
        k: constant added to every rank; the larger it is, the less the first ranks dominate. Read as the decimal number
            that it prints.
        weights: one weight per run, above 0, also read as decimals; all 1 if None.
        depth: number of top documents per list that count; all if None.
        tied: ranks of documents with equal scores in a run: "listed", consecutive ranks in the order of the run, as in
            engines; or "shared", all the rank of the first one, so that input ties can remain ties.
        name: name of the fused run.

    Raises:
        PolicyError: fewer than two runs, weights that do not fit, a k below 0, or a depth below 1.

    Source: Cormack et al. 2009, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods".

    >>> one, two = Run.from_dict({"q": {"a": 3, "b": 2, "c": 1}}), Run.from_dict({"q": {"c": 3, "b": 2, "a": 1}})
    >>> fused = reciprocal_rank_fusion([one, two])
    >>> fused.run.documents.rows(), fused.ties.tied
    ([('a', 0.032266458495966696), ('c', 0.032266458495966696), ('b', 0.03225806451612903)], 2)
    """
    shares = _check_weights(runs, weights, depth)
    if not 0 <= k < EXACT:
        raise PolicyError(f"k of reciprocal rank fusion must be a number >= 0. Got {k!r}.")
    lists = [rank_lists(run, depth) for run in runs]
    united = unite(lists)
    ranks = [each.first_rank if tied == "shared" else each.rank for each in lists]
    best = sort_rank_sums(_values(united, ranks, 0), Fraction(str(k)), shares, united.offsets)
    return _build_fused_run(united, *best, lists, runs, name)


def weighted_fusion(
    runs: Sequence[Run],
    *,
    norm: Norm = "min-max",
    weights: Sequence[float] | None = None,
    depth: int | None = None,
    name: str = "weighted",
) -> FusedRun:
    """Fuse runs by their normalised scores: sum of w_i norm_i(score_i).

    Args:
        runs: two or more.
        norm: "min-max" scales the scores of a list to 0 to 1; in a list of equal scores all become 1. "z-score"
            subtracts their mean and divides by their standard deviation; equal scores all become 0.
        weights: one weight per run, above 0; all 1 if None.
        depth: number of top documents per list that count; all if None.
        name: name of the fused run.

    Raises:
        PolicyError: fewer than two runs, weights that do not fit, a depth below 1, or scores that are infinite.

    Source: Lee 1997 (CombSUM with min-max), Bruch et al. 2023, "An analysis of fusion functions for hybrid retrieval".

    >>> one, two = Run.from_dict({"q": {"a": 9, "b": 5}}), Run.from_dict({"q": {"b": 0.7, "c": 0.2}})
    >>> weighted_fusion([one, two], weights=[0.5, 0.5]).run.documents.rows()
    [('a', 0.5), ('b', 0.5), ('c', 0.0)]
    """
    shares = _check_weights(runs, weights, depth)
    lists = [rank_lists(run, depth) for run in runs]
    united = unite(lists)
    norms = [_normalize_scores(each, run, norm) for each, run in zip(lists, runs, strict=True)]
    values = _values(united, norms, np.nan)
    # The lowest score of a list is used for missing documents; a run without a list for the query adds nothing.
    lowest = np.fmin.reduceat(values, united.offsets[:-1], axis=1).repeat(np.diff(united.offsets), axis=1)
    worth = np.nan_to_num(np.where(np.isnan(values), lowest, values))
    # Sorted by size, so that no sum depends on the order of the runs.
    total = np.sort(worth * np.array([float(share) for share in shares])[:, None], axis=0).sum(axis=0)
    groups = tie_groups(total, united.offsets)
    return _build_fused_run(united, in_order(groups), groups.score.repeat(groups.size), lists, runs, name)


def _check_weights(runs: Sequence[Run], weights: Sequence[float] | None, depth: int | None) -> list[Fraction]:
    if len(runs) < 2:
        raise PolicyError(f"Fusion takes two runs or more. Got {len(runs)}.")
    if depth is not None and depth < 1:
        raise PolicyError(f"depth must be an integer >= 1. Got {depth!r}.")
    chosen = [1.0] * len(runs) if weights is None else list(weights)
    if len(chosen) != len(runs) or not all(0 < weight < EXACT for weight in chosen):
        raise PolicyError(f"There must be one weight above 0 for each of {len(runs)} runs. Got {chosen}.")
    # 0.7 means seven tenths, not the nearest binary fraction.
    return [Fraction(str(weight)) for weight in chosen]


def _values(united: Union, values: Sequence[NDArray[np.generic]], lacking: float) -> NDArray[Any]:
    """[run, row] contribution of each run to each document."""
    return np.stack([np.append(each, lacking)[places] for each, places in zip(values, united.places, strict=True)])


def _normalize_scores(listed: RankedLists, run: Run, norm: Norm) -> Floats:
    """[row] the normalised scores of a run.

    Raises:
        PolicyError: a score is infinite.
    """
    scores, starts = listed.documents["score"].to_numpy(), listed.offsets[:-1]
    sizes = np.diff(listed.offsets)
    if not np.isfinite(scores).all():
        raise PolicyError(f"{run.name} has infinite scores, which cannot be normalised. Fuse by ranks instead.")
    # Norms are scale-free. Scaling by a power of two, which is exact, prevents overflow and underflow of widths and
    # squares.
    scale = np.frexp(np.maximum(np.abs(scores[starts]), np.abs(scores[listed.offsets[1:] - 1])))[1]
    scores = np.ldexp(scores, -scale.repeat(sizes))
    largest, smallest = scores[starts], scores[listed.offsets[1:] - 1]
    if norm == "min-max":
        low, width = smallest, largest - smallest
    else:
        low = np.add.reduceat(scores, starts) / sizes
        width = np.sqrt(np.add.reduceat((scores - low.repeat(sizes)) ** 2, starts) / sizes)
    flat = largest == smallest  # whose mean may differ by rounding
    of_row = np.where(flat, 1.0, width).repeat(sizes)
    worth = (scores - low.repeat(sizes)) / of_row
    return np.where(flat.repeat(sizes), 1.0 if norm == "min-max" else 0.0, worth)


def _build_fused_run(
    united: Union, order: Ints, scores: Floats, lists: Sequence[RankedLists], runs: Sequence[Run], name: str
) -> FusedRun:
    """The run of the rows in the given order, best first."""
    documents = pl.DataFrame({"doc_id": united.doc_ids[order], "score": scores})
    empty = find_empty_queries(runs, united.query_ids)
    run = Run(documents, united.query_ids, united.offsets, name, "fusion", empty=empty)
    return FusedRun(run, count_ties(scores, run.offsets), tuple(each.ties for each in lists))
