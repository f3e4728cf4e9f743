"""Whether the order that ties are left in follows the labels.

MTEB up to 1.38 put the positives of a reranking task first, so that the oblivious value was the maximum (P-A, caption
of Figure 5). Later versions name candidates apositive_... and negative_... and break ties by id descending, which puts
the positives last. Either order turns ties into bias.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from trueval.tie_groups import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueval.judgments import Judgments
    from trueval.run import Run

__all__ = ["OrderCheck", "check_orders", "label_order", "order_notes"]

LEVEL = 0.01  # of the permutation test
EFFECT = 0.05  # distance of the share from one half that is worth a note
PERMUTATIONS = 999
SAMPLED = 20_000  # documents up to which the permutations are drawn; beyond, their normal limit is as good
PAIRS = 4_000_000  # pairs compared at once


class OrderCheck(NamedTuple):
    """What one order says about the labels.

    Attributes:
        order: "input" or "docid" (ascending by bytes).
        share: of pairs of documents with different grades, how many have the higher grade first: 1 if positives always
            come first, 0 if last, 0.5 if the order says nothing.
        p: of the two-sided permutation test of the rank correlation between grade and position.
        pairs: pairs with different grades.
        among: "lists" (whole candidate lists) or "ties" (documents of equal score only, where lists are sorted).
    """

    order: str
    share: float
    p: float
    pairs: int
    among: str

    @property
    def follows(self) -> bool:
        """Whether the order follows the labels, in either direction, by more than chance and by enough to matter."""
        return self.p <= LEVEL and abs(self.share - 0.5) >= EFFECT


def check_orders(run: Run, judgments: Judgments, *, seed: int = 0, ties_only: bool = False) -> tuple[OrderCheck, ...]:
    """Check the order of input and of document ids against the labels.

    Lists sorted by score say nothing about the order of ties as a whole, since a good run puts good documents first;
    there the order of input is checked among documents of equal score alone.

    Args:
        run: candidates with their scores.
        judgments: grades; unjudged documents are left out.
        seed: of the permutations.
        ties_only: check documents of equal score alone, whose order is what the oblivious value depends on.

    Returns:
        One check for each order that can be checked: some stratum must hold two grades.
    """
    frame = _judged(run, judgments)
    if not len(frame):
        return ()
    by_list = frame["list"].to_numpy()
    by_tie = frame.select(pl.struct("list", "score").rank("dense")).to_series().to_numpy().astype(np.int64)
    position = frame["position"].to_numpy()
    ids = frame.select(pl.struct("list", "doc_id").rank("ordinal")).to_series().to_numpy().astype(np.int64)
    rng, grades = np.random.default_rng(seed), frame["grade"].to_numpy()
    lists, ties = (by_list, "lists"), (by_tie, "ties")
    strata, among = ties if ties_only or _sorted_by_score(run) else lists
    id_strata, id_among = ties if ties_only else lists
    checks = [
        label_order("input", grades, strata, position, rng, among=among),
        label_order("docid", grades, id_strata, ids, rng, among=id_among),
    ]
    return tuple(check for check in checks if check.pairs)


def label_order(
    order: str,
    grades: NDArray[np.float64],
    strata: NDArray[np.int64],
    positions: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    among: str = "lists",
) -> OrderCheck:
    """Check one order: does the position of a document say what its grade is?

    share = P(x before y | grade x > grade y) over pairs of one stratum, the AUC of position for grade. p = share of
    permutations of the grades inside strata whose T = Σ (grade − mean)(position rank − mean) is as far from 0 as ours,
    ours counted; for many documents that of the normal limit, whose variance is that of all permutations,
    Σ over strata of Σ(g − mean)² Σ(r − mean)² / (n − 1).

    Args:
        order: what it is called.
        grades: [document].
        strata: [document] the list or tie group it stands in; only documents of one stratum are compared.
        positions: [document] smaller comes first.
        rng: of the permutations.
        among: what the strata are.

    >>> rng = np.random.default_rng(0)
    >>> grades, queries, places = np.array([1.0, 1, 0, 0] * 9), np.repeat(np.arange(9), 4), np.arange(36)
    >>> check = label_order("input", grades, queries, places, rng)
    >>> check.share, check.p, check.follows
    (1.0, 0.001, True)
    """
    sorting = np.lexsort((positions, strata))
    grades = grades[sorting].astype(np.float64)
    _, start, sizes = np.unique(strata[sorting], return_index=True, return_counts=True)
    first, pairs = _pairs(grades, start, sizes)
    share = first / pairs if pairs else math.nan
    return OrderCheck(order, share, _permutation_p(grades, sizes, rng) if pairs else 1.0, pairs, among)


def order_notes(
    run: Run, judgments: Judgments, *, tie_order: str | None = None, ties_only: bool = False
) -> tuple[str, ...]:
    """Say in one line each which tie orders of a run follow the labels.

    Args:
        run: candidates with their scores.
        judgments: grades.
        tie_order: behind the oblivious value; only orders that it uses are named. None names all.
        ties_only: as in check_orders.
    """
    return tuple(
        f"{run.name}: {_words(check, tie_order)}"
        for check in check_orders(run, judgments, ties_only=ties_only)
        if check.follows and (tie_order is None or tie_order.partition("-")[0] == check.order)
    )


def _words(check: OrderCheck, tie_order: str | None) -> str:
    where = "among documents of equal score, " if check.among == "ties" else ""
    names = {"input": "the order of the input", "docid": "the order of document ids"}
    side, share = ("first", check.share) if check.share > 0.5 else ("last", 1 - check.share)
    orders = [tie_order] if tie_order else {"input": ["input"], "docid": ["docid-asc", "docid-desc"]}[check.order]
    effects = []
    for order in orders:
        early = (check.share > 0.5) != (order == "docid-desc")
        extreme = ("the highest" if early else "the lowest") + " value" if share == 1 else "too high" * early
        effects.append(f"with tie order {order} it is {extreme or 'too low'}")
    return (
        f"{names[check.order]} follows the grades: {where}the higher grade stands {side} in {share:.1%} of "
        f"{check.pairs} pairs (p = {check.p:.2g}). The oblivious value measures that order: {' and '.join(effects)}."
    )


def _judged(run: Run, judgments: Judgments) -> pl.DataFrame:
    """Return list, doc_id, score, position and grade of the judged documents that the run lists."""
    grades = judgments.frame.filter(pl.col("grade") >= 0).group_by("query_id", "doc_id").agg(pl.col("grade").max())
    # Documents that nobody judged for any query are most of a long run; the rest is little to join.
    position = np.flatnonzero(run.frame["doc_id"].is_in(grades["doc_id"].implode()).to_numpy())
    owner = np.searchsorted(run.offsets, position, side="right") - 1
    frame = run.frame.select("query_id", "doc_id", "score")[position]
    frame = frame.with_columns(pl.Series("list", owner), pl.Series("position", position))
    return frame.join(grades, on=["query_id", "doc_id"], how="inner", maintain_order="left")


def _sorted_by_score(run: Run) -> bool:
    """Whether every list stands in descending order of scores, with some difference among them."""
    scores = run.frame["score"].to_numpy()
    falls, rises = scores[1:] < scores[:-1], scores[1:] > scores[:-1]
    inside = np.ones(max(len(scores) - 1, 0), dtype=bool)
    inside[run.offsets[1:-1] - 1] = False
    return bool((falls & inside).any() and not (rises & inside).any())


def _pairs(grades: NDArray[np.float64], start: NDArray[np.int64], sizes: NDArray[np.int64]) -> tuple[int, int]:
    """Return how many pairs have the higher grade first, and how many have different grades."""
    first = pairs = 0
    for chosen in _blocks(sizes):
        begin = np.repeat(start[chosen], sizes[chosen])
        left = ranges(start[chosen], sizes[chosen])
        after = begin + np.repeat(sizes[chosen], sizes[chosen]) - left - 1
        right = ranges(left + 1, after)
        left = np.repeat(left, after)
        first += int((grades[left] > grades[right]).sum())
        pairs += int((grades[left] != grades[right]).sum())
    return first, pairs


def _blocks(sizes: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Cut strata into blocks of about `PAIRS` pairs."""
    block = np.cumsum(sizes * (sizes - 1) // 2) // PAIRS
    for one in np.unique(block):
        yield np.flatnonzero(block == one)


def _permutation_p(grades: NDArray[np.float64], sizes: NDArray[np.int64], rng: np.random.Generator) -> float:
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    rank = np.arange(len(grades)) - np.repeat(np.cumsum(sizes) - sizes, sizes) - np.repeat((sizes - 1) / 2, sizes)
    centered = grades - (np.bincount(stratum, grades) / sizes)[stratum]
    found = abs(float(centered @ rank))
    if len(grades) > SAMPLED:
        squares, places = (np.bincount(stratum, values**2).astype(np.float64) for values in (centered, rank))
        return _normal_p(found, squares, places, sizes)
    tolerance = 1e-9 * float(np.abs(centered) @ np.abs(rank))
    reached = 0
    for _ in range(PERMUTATIONS):
        shuffled = centered[np.lexsort((rng.random(len(grades)), stratum))]
        reached += abs(float(shuffled @ rank)) >= found - tolerance
    return (1 + reached) / (1 + PERMUTATIONS)


def _normal_p(found: float, grades: NDArray[np.float64], ranks: NDArray[np.float64], sizes: NDArray[np.int64]) -> float:
    variance = float((grades * ranks / np.maximum(sizes - 1, 1)).sum())
    return math.erfc(found / math.sqrt(2 * variance)) if variance else 1.0
