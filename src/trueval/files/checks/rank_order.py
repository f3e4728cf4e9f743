"""Ranks that contradict scores: the sign that a distance was written where a score should be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueval.files.frame import row_parts
from trueval.files.row_checks import CheckedRows
from trueval.threads import in_threads


def rank_notes(rows: CheckedRows) -> tuple[str, ...]:
    """Remark on documents with a lower rank (nearer the top) and a lower score than the next one.

    Scores decide everywhere; ranks are only compared with them.

    Returns:
        one line with an example, or nothing.
    """
    frame = rows.table.frame
    if "rank" not in frame.columns or _ranks_follow_scores(rows):
        return ()
    scores, ranks = frame["score"].to_numpy(), frame["rank"].to_numpy()
    same_query = np.ones(len(ranks), bool)
    same_query[rows.offsets[:-1]] = False
    order = _rank_order(ranks, same_query, rows.offsets)
    if order is not None:
        scores, ranks = scores[order], ranks[order]
    comparable = same_query[1:] & (ranks[1:] > ranks[:-1])
    wrong = comparable & (scores[1:] > scores[:-1])
    if not wrong.any():
        return ()
    at = int(wrong.argmax())  # the first is shown
    upper, lower = (at, at + 1) if order is None else (int(order[at]), int(order[at + 1]))
    return (_note(rows, upper, lower, int(wrong.sum()), int(comparable.sum())),)


def _ranks_follow_scores(rows: CheckedRows) -> bool:
    """Tell whether in every query ranks never fall from one row to the next, and no score rises where they rise."""
    scores, ranks = rows.table.frame["score"], rows.table.frame["rank"]

    def follow(part: slice) -> bool:
        pairs = slice(max(part.start - 1, 0), part.stop)  # with the last row of the previous part
        score, rank = scores[pairs].to_numpy(), ranks[pairs].to_numpy()
        against = (rank[1:] < rank[:-1]) | ((rank[1:] > rank[:-1]) & (score[1:] > score[:-1]))
        first, last = np.searchsorted(rows.offsets, (pairs.start + 1, pairs.stop))
        # The first row of a query has no predecessor.
        against[rows.offsets[first:last] - pairs.start - 1] = False
        return not against.any()

    return all(in_threads(follow, row_parts(len(scores))))


def _rank_order(
    ranks: NDArray[np.signedinteger], same_query: NDArray[np.bool_], offsets: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """The rows of each query by rank; None where they are so already, as in most files."""
    if not bool((same_query[1:] & (ranks[1:] < ranks[:-1])).any()):
        return None
    return np.lexsort((ranks, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))))


def _note(rows: CheckedRows, upper: int, lower: int, wrong: int, compared: int) -> str:
    score, rank = rows.table.frame["score"], rows.table.frame["rank"]
    cause = "a distance sorted upward? negate it" if 2 * wrong > compared else "the scores decide"
    return (
        f"{rows.table.place(lower)}: ranks contradict scores in {wrong} of {compared} neighbors; in query "
        f"{rows.table.query_of(lower)!r} "
        f"rank {rank[upper]} has score {score[upper]:.6g} and rank {rank[lower]} has {score[lower]:.6g} ({cause})"
    )
