"""Label order: whether the order of tied documents correlates with their labels.

MTEB up to 1.38 put the positives of a reranking task first, so that the tie-broken value was the maximum (P-A, caption
of Figure 5). Later versions name candidates apositive_... and negative_... and break ties by id descending, which puts
the positives last. Either order turns ties into bias.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueval.judgments import Judgments
    from trueval.run import Run
    from trueval.standings.standings import Standings


LEVEL = 0.01  # number of permutations
NOTE_LEVEL = 0.001  # significance level of the test in every evaluation, low since it runs often
EFFECT = 0.05  # minimum distance of the share from one half for a note
LEAST_CHANCE = 0.0001  # smallest p that is printed as a number
PERMUTATIONS = 999
BLOCK = 100_000  # documents times permutations drawn at once
SAMPLED = 4_000  # maximum number of documents for drawing permutations; beyond it the normal limit is as good
WORDS = {"input": "the order of the input", "rank": "the order of ranks", "docid": "the order of document ids"}


class OrderCheck(NamedTuple):
    """The association of one order with the labels.

    Attributes:
        order: "input", "rank", or "docid" (ascending by bytes).
        share: share of pairs of documents with different grades in which the higher grade comes first: 1 if positives
            always come first, 0 if last, 0.5 if the order is unrelated to the grade.
        p: p of the two-sided permutation test of the rank correlation between grade and position.
        pairs: number of pairs with different grades.
        among: "lists" (whole candidate lists) or "ties" (documents of equal score only, where lists are sorted).
    """

    order: str
    share: float
    p: float
    pairs: int
    among: str

    @property
    def follows(self) -> bool:
        """Whether the order follows the labels in either direction, significantly and by enough to matter."""
        return self.p <= LEVEL and abs(self.share - 0.5) >= EFFECT


def check_orders(run: Run, judgments: Judgments, *, seed: int = 0) -> tuple[OrderCheck, ...]:
    """Check the order of input and of document ids against the labels.

    Lists sorted by score say nothing about the order of ties as a whole, since a good run puts good documents first;
    there, the input order is checked only among documents of equal score.

    Args:
        run: candidates with their scores.
        judgments: grades; unjudged documents are left out.
        seed: seed of the permutations.

    Returns:
        One check for each order that can be checked: some stratum must hold two grades.
    """
    frame = _join_grades(run, judgments)
    if not len(frame):
        return ()
    by_list = frame["list"].to_numpy()
    by_tie = frame.select(pl.struct("list", "score").rank("dense")).to_series().to_numpy().astype(np.int64)
    position = frame["position"].to_numpy()
    ids = frame.select(pl.struct("list", "doc_id").rank("ordinal")).to_series().to_numpy().astype(np.int64)
    rng, grades = np.random.default_rng(seed), frame["grade"].to_numpy()
    # Every query is a stratum, since grades are not comparable between queries.
    strata, among = (by_tie, "ties") if _is_sorted_by_score(run) else (by_list, "lists")
    checks = [
        label_order("input", grades, strata, position, rng, among=among),
        label_order("docid", grades, by_list, ids, rng),
    ]
    return tuple(check for check in checks if check.pairs)


def label_order(
    order: str,
    grades: NDArray[np.float64],
    strata: NDArray[np.int64],
    positions: NDArray[np.int64],
    rng: np.random.Generator | int,
    *,
    among: str = "lists",
) -> OrderCheck:
    """Check one order: whether a document's position predicts its grade.

    share = P(x before y | grade x > grade y) over pairs of one stratum, the AUC of position for grade. p = share of
    permutations of the grades inside strata whose T = Σ (grade − mean)(position rank − mean) is as far from 0 as ours,
    ours counted; for many documents that of the normal limit, whose variance is that of all permutations,
    Σ over strata of Σ(g − mean)² Σ(r − mean)² / (n − 1).

    Args:
        order: name of the order.
        grades: [document] grades.
        strata: [document] its list or tie group; only documents of one stratum are compared.
        positions: [document] position; smaller comes first.
        rng: random generator of the permutations, or its seed.
        among: kind of strata: "lists" or "ties".

    >>> rng = np.random.default_rng(0)
    >>> grades, queries, places = np.array([1.0, 1, 0, 0] * 9), np.repeat(np.arange(9), 4), np.arange(36)
    >>> check = label_order("input", grades, queries, places, rng)
    >>> check.share, check.p, check.follows
    (1.0, 0.001, True)
    """
    sorting = np.lexsort((positions, strata))
    grades = grades[sorting].astype(np.float64)
    sizes = np.unique(strata[sorting], return_counts=True)[1]
    first, pairs = _pairs(grades, sizes)
    share = first / pairs if pairs else math.nan
    return OrderCheck(order, share, _permutation_p(grades, sizes, rng) if pairs else 1.0, pairs, among)


def order_notes(run: Run, judgments: Judgments, *, tie_order: str | None = None) -> tuple[str, ...]:
    """One line per tie order of a run that follows the labels.

    Args:
        run: candidates with their scores.
        judgments: grades.
        tie_order: tie order of the tie-broken value; only orders that it uses are named. None names all.
    """
    return tuple(
        f"{run.name}: {_words(check, tie_order)}"
        for check in check_orders(run, judgments)
        if check.follows and (tie_order is None or tie_order.partition("-")[0] == check.order)
    )


def tie_order_notes(name: str, standings: Standings, tie_order: str, *, seed: int = 0) -> tuple[str, ...]:
    """One line where the tie order of the tie-broken value follows the labels.

    Only documents of equal score are compared, at the tie precision of the standings.

    Args:
        name: name of the run.
        standings: the run's standings under the tie order.
        tie_order: one of TIE_ORDERS; orders independent of the data, such as random, are not checked.
        seed: seed of the permutations.
    """
    order = tie_order.partition("-")[0]
    groups = standings.groups
    rows = np.flatnonzero((groups.judged > 1)[groups.of_row] & (standings.ahead >= 0))
    if order not in WORDS or not len(rows):
        return ()
    grades, ties, ahead = standings.grade[rows], groups.of_row[rows], standings.ahead[rows]
    sorting = np.lexsort((ahead, ties))
    first, pairs = _pairs(grades[sorting], np.unique(ties, return_counts=True)[1])
    if not pairs or abs(first / pairs - 0.5) < EFFECT:
        return ()
    # The check names the order of ids, ascending; the tie order may be its reverse.
    position = -ahead if tie_order == "docid-desc" else ahead
    check = label_order(order, grades, ties, position, seed, among="ties")
    all_judged = bool((groups.judged == groups.tied).all())
    return (f"{name}: {_words(check, tie_order, all_judged=all_judged)}",) if check.p <= NOTE_LEVEL else ()


def _words(check: OrderCheck, tie_order: str | None, *, all_judged: bool = True) -> str:
    where = "among documents of equal score, " if check.among == "ties" else ""
    side, share = ("first", check.share) if check.share > 0.5 else ("last", 1 - check.share)
    orders = [tie_order] if tie_order else {"input": ["input"], "docid": ["docid-asc", "docid-desc"]}[check.order]
    effects = []
    for order in orders:
        early = (check.share > 0.5) != (order == "docid-desc")
        extreme = ("the highest" if early else "the lowest") + " value" if share == 1 else "too high" * early
        effects.append(f"with tie order {order} it is {extreme or 'too low'}")
    # Unjudged documents count as not relevant, and may come before all others.
    chance = f"p = {check.p:.2g}" if check.p >= LEAST_CHANCE else f"p < {LEAST_CHANCE:f}".rstrip("0")
    effect = f": {' and '.join(effects)}" if all_judged else ", and where documents without a grade are in it"
    return (
        f"{WORDS[check.order]} follows the grades: {where}the higher grade comes {side} in {share:.1%} of "
        f"{check.pairs:,} pairs ({chance}). The tie-broken value measures that order{effect}."
    )


def _join_grades(run: Run, judgments: Judgments) -> pl.DataFrame:
    """List, doc_id, score, position and grade of the judged documents that the run lists."""
    grades = judgments.frame.filter(pl.col("grade") >= 0).group_by("query_id", "doc_id").agg(pl.col("grade").max())
    # Most documents of a long run are unjudged for every query; the rest are few to join.
    position = np.flatnonzero(run.documents["doc_id"].is_in(grades["doc_id"].implode()).to_numpy())
    owner = np.searchsorted(run.offsets, position, side="right") - 1
    frame = run.documents.select("doc_id", "score")[position]
    frame = frame.with_columns(
        pl.Series("list", owner), pl.Series("position", position), run.query_ids.gather(owner).alias("query_id")
    )
    return frame.join(grades, on=["query_id", "doc_id"], how="inner", maintain_order="left")


def _is_sorted_by_score(run: Run) -> bool:
    """Whether every list of the run is in descending order of scores, with at least one difference."""
    scores = run.documents["score"].to_numpy()
    falls, rises = scores[1:] < scores[:-1], scores[1:] > scores[:-1]
    inside = np.ones(len(scores) - 1, dtype=bool)
    inside[run.offsets[1:-1] - 1] = False  # from the last document of a list to the first of the next
    return bool((falls & inside).any() and not (rises & inside).any())


def _pairs(grades: NDArray[np.float64], sizes: NDArray[np.int64]) -> tuple[int, int]:
    """Count the pairs with the higher grade first, and the pairs with different grades.

    Two grades differ first in some bit of their ranks among all grades: every bit, from the highest, is counted among
    documents that agree in those above it. Cost: documents times bits.

    Args:
        grades: [document] stratum by stratum, each in the order that is checked.
        sizes: [stratum] number of documents.
    """
    code = np.unique(grades, return_inverse=True)[1].astype(np.int64)
    block, first = np.repeat(np.arange(len(sizes)), sizes), 0
    for bit in reversed(range(int(code.max(initial=0)).bit_length())):
        is_one = code >> bit & 1
        ones_above = np.cumsum(is_one) - is_one
        inside = ones_above - ones_above[np.searchsorted(block, block)]
        first += int(inside[is_one == 0].sum())
        block = 2 * block + is_one
        order = np.argsort(block, kind="stable")
        code, block = code[order], block[order]
    alike = np.unique(block, return_counts=True)[1]
    return first, int((sizes * (sizes - 1) // 2).sum() - (alike * (alike - 1) // 2).sum())


def _permutation_p(grades: NDArray[np.float64], sizes: NDArray[np.int64], rng: np.random.Generator | int) -> float:
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    rank = np.arange(len(grades)) - np.repeat(np.cumsum(sizes) - sizes, sizes) - np.repeat((sizes - 1) / 2, sizes)
    centered = grades - (np.bincount(stratum, grades) / sizes)[stratum]
    found = abs(float(centered @ rank))
    if len(grades) > SAMPLED:
        squares, places = (np.bincount(stratum, values**2).astype(np.float64) for values in (centered, rank))
        # A stratum of one document has no order, and n - 1 would give 0 / 0.
        variance = float((squares * places / np.maximum(sizes - 1, 1)).sum())
        return math.erfc(found / math.sqrt(2 * variance))  # only pairs of different grades vary
    # Sums of the same terms in another order differ by rounding, and a value equal to the observed one must count as
    # reached.
    tolerance = 1e-9 * float(np.abs(centered) @ np.abs(rank))
    rng, reached, at_once = np.random.default_rng(rng), 0, max(1, BLOCK // len(grades))
    for start in range(0, PERMUTATIONS, at_once):
        drawn = rng.random((min(at_once, PERMUTATIONS - start), len(grades)))
        # Sorted by stratum and then by a random number: one sort shuffles within every stratum.
        shuffled = centered[np.lexsort((drawn, np.broadcast_to(stratum, drawn.shape)))]
        reached += int((np.abs(shuffled @ rank) >= found - tolerance).sum())
    # 1 is added because the observed order is one of the permutations; without it p could be 0.
    return (1 + reached) / (1 + PERMUTATIONS)
