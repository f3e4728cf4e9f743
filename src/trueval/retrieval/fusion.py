"""Fusion: several runs of the same queries made one.

    RRF(d) = sum over runs i of w_i / (k + rank_i(d))          Cormack, Clarke & Büttcher 2009; k = 60
    weighted(d) = sum over runs i of w_i norm_i(score_i(d))    norm: min-max or z-score over the list of each query

A document that a run does not list adds nothing to RRF. In a weighted sum it adds the norm of the lowest score of the
run's list: nobody knows more than that it is no better than the last one.

RRF makes ties: ranks (1, 3) and (3, 1) are worth the same, and so is any other pair whose sums of fractions are equal.
A sum of rounded fractions breaks some of these ties by the order of its terms. Here sums are taken in twice the digits
of a float64 (Dekker 1971), which tells equal fractions from different ones, and then rounded once: documents have the
same score if and only if their exact sums are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import PolicyError
from trueval.retrieval.lists import Listed, TieCount, count_ties, in_order, listed
from trueval.run import Run
from trueval.standings.groups import TieGroups, differs_from_last, starts_of, tie_groups

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Norm = Literal["min-max", "z-score"]

# Integers up to here are exact as float64.
EXACT: Final = 2**53
# Sums closer than this part of them are equal: their own error is below 2^-100, and different sums of up to four ranks
# below 1,000 are at least 2^-80 apart.
SAME: Final = 2.0**-96
# Multiplies a float64 to cut it into two halves of 26 digits (Veltkamp).
HALVES: Final = float(2**27 + 1)


@dataclass(frozen=True, eq=False)
class Fused:
    """One run made of several.

    Attributes:
        run: documents of each query by falling score; ties in the order of the first run that lists them.
        ties: of the fused run.
        before: ties of each run that went in, in their order, down to the depth.
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
) -> Fused:
    """Fuse runs by the ranks of their documents: sum of w_i / (k + rank_i).

    Args:
        runs: two or more.
        k: added to every rank; the larger, the less the first ranks count. Taken as the decimal number that it prints.
        weights: one of each run, above 0, taken in the same way; 1 for each if None.
        depth: documents of each list that count; all if None.
        tied: the rank of documents with equal scores in a run: "listed", one after the other as the run has them, as
            engines do it, or "shared", all the rank of the first one, so that what ties going in can tie coming out.
        name: of the fused run.

    Raises:
        PolicyError: fewer than two runs, weights that do not fit, a k below 0, or a depth below 1.

    Source: Cormack et al. 2009, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods".

    >>> one, two = Run.from_dict({"q": {"a": 3, "b": 2, "c": 1}}), Run.from_dict({"q": {"c": 3, "b": 2, "a": 1}})
    >>> fused = reciprocal_rank_fusion([one, two])
    >>> fused.run.documents.rows(), fused.ties.tied
    ([('a', 0.032266458495966696), ('c', 0.032266458495966696), ('b', 0.03225806451612903)], 2)
    """
    shares = _checked_weights(runs, weights, depth)
    if not 0 <= k < EXACT:
        raise PolicyError(f"k of reciprocal rank fusion must be a number >= 0. Got {k!r}.")
    lists = [listed(run, depth) for run in runs]
    ranks = [each.first_rank if tied == "shared" else each.rank for each in lists]
    joined = _joined(lists, ranks)
    return _fused(joined, _rank_sums(joined.values, Fraction(str(k)), shares), lists, name)


def weighted_fusion(
    runs: Sequence[Run],
    *,
    norm: Norm = "min-max",
    weights: Sequence[float] | None = None,
    depth: int | None = None,
    name: str = "weighted",
) -> Fused:
    """Fuse runs by their normalised scores: sum of w_i norm_i(score_i).

    Args:
        runs: two or more.
        norm: "min-max" puts the scores of a list on 0 to 1; a list of equal scores is worth 1, as every document is its
            best. "z-score" takes their mean away and divides by their standard deviation; of equal scores all are 0.
        weights: one of each run, above 0; 1 for each if None.
        depth: documents of each list that count; all if None.
        name: of the fused run.

    Raises:
        PolicyError: fewer than two runs, weights that do not fit, a depth below 1, or scores that are infinite.

    Source: Lee 1997 (CombSUM with min-max), Bruch et al. 2023, "An analysis of fusion functions for hybrid retrieval".

    >>> one, two = Run.from_dict({"q": {"a": 9, "b": 5}}), Run.from_dict({"q": {"b": 0.7, "c": 0.2}})
    >>> weighted_fusion([one, two], weights=[0.5, 0.5]).run.documents.rows()
    [('a', 0.5), ('b', 0.5), ('c', 0.0)]
    """
    shares = _checked_weights(runs, weights, depth)
    lists = [listed(run, depth) for run in runs]
    joined = _joined(lists, [_normalised(each, run, norm) for each, run in zip(lists, runs, strict=True)])
    # The lowest of a list stands for what the list lacks; a run without a list for the query adds nothing.
    lowest = np.fmin.reduceat(joined.values, joined.offsets[:-1]).repeat(np.diff(joined.offsets), axis=0)
    worth = np.nan_to_num(np.where(np.isnan(joined.values), lowest, joined.values))
    # By size, so that no sum depends on the order in which the runs were given.
    total = np.sort(worth * np.array([float(share) for share in shares]), axis=1).sum(axis=1)
    return _fused(joined, _Sums(total, np.zeros(len(total))), lists, name)


def _checked_weights(runs: Sequence[Run], weights: Sequence[float] | None, depth: int | None) -> list[Fraction]:
    if len(runs) < 2:
        raise PolicyError(f"Fusion takes two runs or more. Got {len(runs)}.")
    if depth is not None and depth < 1:
        raise PolicyError(f"depth must be an integer >= 1. Got {depth!r}.")
    chosen = [1.0] * len(runs) if weights is None else list(weights)
    if len(chosen) != len(runs) or not all(0 < weight < EXACT for weight in chosen):
        raise PolicyError(f"There must be one weight above 0 for each of {len(runs)} runs. Got {chosen}.")
    # 0.7 means seven tenths, and not the binary fraction next to it.
    return [Fraction(str(weight)) for weight in chosen]


class _Joined(NamedTuple):
    """Documents that some run lists, query after query, those of a query in order of first appearance.

    Attributes:
        query_ids: [query].
        doc_ids: [row].
        offsets: [query + 1] where each query starts.
        values: [row, run] of each run; NaN where it lacks the document.
    """

    query_ids: pl.Series
    doc_ids: pl.Series
    offsets: Ints
    values: Floats


def _joined(lists: Sequence[Listed], values: Sequence[Ints] | Sequence[Floats]) -> _Joined:
    """Bring the rows of several runs together; queries stand in the order of the first run that has them."""
    doc_ids = pl.concat([each.documents["doc_id"] for each in lists])
    queries = pl.concat([each.query_ids for each in lists]).unique(maintain_order=True)
    of_row = np.concatenate([_places(each, queries) for each in lists])
    # As numbers ids are sorted five times as fast as texts are grouped.
    document = doc_ids.cast(pl.Categorical).to_physical().to_numpy()
    key = (of_row << 32) | document
    order = np.argsort(key)
    new = differs_from_last(key[order])
    pair = np.empty(len(order), dtype=np.int64)
    pair[order] = np.cumsum(new) - 1
    first = np.minimum.reduceat(order, np.flatnonzero(new))
    in_order = np.argsort((of_row[first] << 32) | first)
    rows = first[in_order]
    found = np.full((len(rows), len(lists)), np.nan)
    for run, part in enumerate(np.split(pair, np.cumsum([len(each.rank) for each in lists])[:-1])):
        found[part, run] = values[run]
    return _Joined(queries, doc_ids[rows], starts_of(np.bincount(of_row[rows])), found[in_order])


def _places(listed: Listed, queries: pl.Series) -> Ints:
    """[row] place of its query among all queries."""
    places: Ints = listed.query_ids.replace_strict(queries, np.arange(len(queries)), return_dtype=pl.Int64).to_numpy()
    return places.repeat(np.diff(listed.offsets))


def _normalised(listed: Listed, run: Run, norm: Norm) -> Floats:
    """[row] the normalised scores of a run.

    Raises:
        PolicyError: a score is infinite.
    """
    scores, starts = listed.documents["score"].to_numpy(), listed.offsets[:-1]
    sizes = np.diff(listed.offsets)
    if not np.isfinite(scores).all():
        raise PolicyError(f"{run.name} has infinite scores, which cannot be normalised. Fuse by ranks instead.")
    largest, smallest = scores[starts], scores[listed.offsets[1:] - 1]
    if norm == "min-max":
        low, width = smallest, largest - smallest
    else:
        low = np.add.reduceat(scores, starts) / sizes
        width = np.sqrt(np.add.reduceat((scores - low.repeat(sizes)) ** 2, starts) / sizes)
    flat = largest == smallest  # of which the mean may differ by a rounding
    of_row = np.where(flat, 1.0, width).repeat(sizes)
    worth = (scores - low.repeat(sizes)) / of_row
    return np.where(flat.repeat(sizes), 1.0 if norm == "min-max" else 0.0, worth)


class _Sums(NamedTuple):
    """Sums in twice the digits of a float64.

    Attributes:
        high: [row] the nearest float64.
        low: [row] what is missing from it, to the next 53 bits.
    """

    high: Floats
    low: Floats


def _rank_sums(ranks: Floats, k: Fraction, weights: Sequence[Fraction]) -> _Sums:
    """[row] sum over runs of w / (k + rank), where NaN stands for a document that the run lacks.

    With k = a/b and weights p/q over one q, a term is (p b) / (a + b rank) / q: integers, divided once each.

    Raises:
        PolicyError: these integers are too large for a float64.
    """
    over = lcm(*(weight.denominator for weight in weights))
    tops = [int(weight * over) * k.denominator for weight in weights]
    places = np.nan_to_num(ranks).astype(np.int64)
    bottoms = k.numerator + k.denominator * np.arange(int(places.max(initial=0)) + 1)
    if max(*tops, over, int(bottoms[-1])) >= EXACT:
        raise PolicyError("k and weights must have fewer digits: sums of their fractions would not be exact.")
    total = _Sums(*np.zeros((2, len(ranks))))
    for run, top in enumerate(tops):
        # One term for each rank that there is, and none for rank 0: the run lacks the document.
        whole = np.where(np.arange(len(bottoms)) > 0, float(top), 0.0)
        term = _divided(_Sums(whole, np.zeros(len(whole))), np.maximum(bottoms, 1).astype(float))
        total = _plus(total, _Sums(term.high[places[:, run]], term.low[places[:, run]]))
    return total if over == 1 else _divided(total, np.full(len(ranks), float(over)))


def _plus(one: _Sums, other: _Sums) -> _Sums:
    high = one.high + other.high
    part = high - one.high
    error = (one.high - (high - part)) + (other.high - part)
    return _settled(high, error + (one.low + other.low))


def _divided(top: _Sums, bottom: Floats) -> _Sums:
    high = top.high / bottom
    product, error = high * bottom, _product_error(high, bottom)
    return _settled(high, ((top.high - product) - error + top.low) / bottom)


def _product_error(one: Floats, other: Floats) -> Floats:
    """What rounding took from a product (Dekker 1971)."""
    (a, b), (c, d) = _halves(one), _halves(other)
    error: Floats = ((a * c - one * other) + a * d + b * c) + b * d
    return error


def _halves(values: Floats) -> tuple[Floats, Floats]:
    large = HALVES * values
    high = large - (large - values)
    return high, values - high


def _settled(high: Floats, low: Floats) -> _Sums:
    """The same sum with its nearest float64 as the high part."""
    whole = high + low
    return _Sums(whole, low - (whole - high))


def _fused(joined: _Joined, sums: _Sums, lists: Sequence[Listed], name: str) -> Fused:
    """The run of summed rows, best first; ties stay in the order of the rows."""
    groups = tie_groups(sums.high, joined.offsets)
    order, scores = in_order(groups), groups.score.repeat(groups.size)
    if _last_bits_matter(groups, sums, order):
        order, scores = _sorted_to_the_last_bit(sums, joined.offsets)
    documents = pl.DataFrame({"doc_id": joined.doc_ids[order], "score": scores})
    run = Run(documents, joined.query_ids, joined.offsets, name, "fusion")
    return Fused(run, count_ties(run.documents["score"].to_numpy(), run.offsets), tuple(each.ties for each in lists))


def _last_bits_matter(groups: TieGroups, sums: _Sums, order: Ints) -> bool:
    """Whether some sums with the same nearest float64 are different, or some with neighbouring ones equal."""
    low, score = sums.low[order], groups.score
    spread = np.maximum.reduceat(low, groups.start[:-1]) - np.minimum.reduceat(low, groups.start[:-1])
    near = score[:-1] - score[1:] <= 2 * np.spacing(np.abs(score[:-1]))
    near[groups.first[1:-1] - 1] = False  # of two queries
    return bool((spread > SAME * np.abs(score)).any() or near.any())


def _sorted_to_the_last_bit(sums: _Sums, offsets: Ints) -> tuple[Ints, Floats]:
    """[row] order by falling exact sums, equal ones as they stand, and scores that are equal where the sums are."""
    sizes = np.diff(offsets)
    query = np.arange(len(sizes)).repeat(sizes)
    order = np.lexsort((-sums.low, -sums.high, query))
    high, low = sums.high[order], sums.low[order]
    new = differs_from_last(query)
    new[1:] |= (high[:-1] - high[1:]) + (low[:-1] - low[1:]) > SAME * np.abs(high[:-1])
    # Equal sums may have come out of order by their last bits: back to the order of the rows.
    group = np.cumsum(new) - 1
    return order[np.lexsort((order, group))], _distinct(high[new], query[new])[group]


def _distinct(scores: Floats, query: Ints) -> Floats:
    """[group] falling scores of different sums: where two have the same nearest float64, the next one below."""
    scores = scores.copy()
    for first in (np.flatnonzero((query[1:] == query[:-1]) & (scores[1:] >= scores[:-1])) + 1).tolist():
        place = first
        # One that moved down may have reached the next one, which then moves too.
        while place < len(scores) and query[place] == query[place - 1] and scores[place] >= scores[place - 1]:
            scores[place] = np.nextafter(scores[place - 1], -np.inf)
            place += 1
    return scores
