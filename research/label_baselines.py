"""Other ways to choose the passages that people label, against which `trueval golden next` is replayed.

    random      every passage that weighs in a run has the same chance
    statAP      chances by the prior of ranks of Aslam & Pavlu 2007 ("A practical sampling strategy for efficient
                retrieval evaluation"), mean over runs: (1 / 2 n) (1 + 1 / r + 1 / (r + 1) + ... + 1 / n) at rank r of n
    pooling     by rank: all passages at rank 1 of any run, then 2, and so on (Sparck Jones & van Rijsbergen 1975)
    MTF         move-to-front pooling with the bandit of Losada, Parapar & Barreiro 2016: a query's next passage is the
                best one left of the run with the greatest posterior mean of relevance, of the beta distribution of the
                last judgments (non-stationary); ties to the lower rank

    MTC         minimal test collections (Carterette, Allan & Sitaraman, SIGIR 2006), of a sum over passages: those that
                weigh most in the difference first, wherever they are
    MaxRep      the passages that represent those left best: greedy facility location over the cosine of what ranks are
                worth in each run, 1 / log2(1 + r), one passage of each query in turn. Our reading: the issue that asks
                for it gives no source, and none could be found

The first two are sampling designs, and are estimated as ours is. The others choose without chances: nothing corrects
for what they leave out, and their verdict takes people's grades where they are and the judge's elsewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNLISTED = 10**9  # rank of a passage that a run does not list


def stat_ap_sizes(ranks: Ints, lengths: Ints) -> Floats:
    """[row] sizes to which chances of statAP are proportional.

    Args:
        ranks: [run, row] rank of each passage, from 1; UNLISTED where the run does not list it.
        lengths: [run] number of ranks that count.

    >>> stat_ap_sizes(np.array([[1, 2]]), np.array([2])).tolist()
    [0.625, 0.375]
    """
    found = np.zeros(ranks.shape[1])
    for rank, length in zip(ranks, lengths.tolist(), strict=True):
        tails = np.cumsum(1 / np.arange(length, 0, -1))[::-1]  # 1 / r + ... + 1 / n
        inside = rank <= length
        found[inside] += (1 + tails[rank[inside] - 1]) / (2 * length) / len(ranks)
    return found


def pooling_order(ranks: Ints, members: Ints) -> Ints:
    """[position] rows in the order of pooling: by the best rank over runs, then as they come.

    Args:
        ranks: [run, row] rank of each passage.
        members: rows that can be labeled.
    """
    best = ranks.min(axis=0)[members]
    return members[np.argsort(best, kind="stable")]


def move_to_front_order(ranks: Ints, members: Ints, owner: Ints, relevant: NDArray[np.bool_]) -> Ints:
    """[position] rows in the order of move-to-front, one passage of each query in turn.

    Args:
        ranks: [run, row] rank of each passage.
        members: rows that can be labeled.
        owner: [row] index of its query.
        relevant: [row] whether people find it relevant, seen when it is labeled.
    """
    orders = [_one_query(ranks, members[owner[members] == query], relevant) for query in np.unique(owner[members])]
    longest = max(map(len, orders))
    return np.array([order[at] for at in range(longest) for order in orders if at < len(order)], dtype=np.int64)


def _one_query(ranks: Ints, rows: Ints, relevant: NDArray[np.bool_]) -> list[int]:
    left = set(rows.tolist())
    ordered = (rows[np.argsort(rank[rows], kind="stable")] for rank in ranks)
    lists = [own[rank[own] < UNLISTED].tolist() for own, rank in zip(ordered, ranks, strict=True)]
    places, means = [0] * len(lists), [0.5] * len(lists)
    found: list[int] = []
    while left:
        for at, each in enumerate(lists):
            while places[at] < len(each) and each[places[at]] not in left:
                places[at] += 1
        able = [at for at, each in enumerate(lists) if places[at] < len(each)]
        if not able:
            found += sorted(left)
            break
        run = max(able, key=lambda at: (means[at], -places[at], -at))
        row = lists[run][places[run]]
        left.discard(row)
        found.append(row)
        for at, rank in enumerate(ranks):  # the last judgment alone counts: Beta(1 + r, 1 + 1 - r)
            if rank[row] < UNLISTED:
                means[at] = (1 + relevant[row]) / 3
    return found


def minimal_collection_order(worth: Floats, members: Ints) -> Ints:
    """[position] rows in the order of minimal test collections: by what they weigh in the difference.

    Args:
        worth: [row] weight of the first run less that of the second.
        members: rows that can be labeled.

    >>> minimal_collection_order(np.array([0.1, -0.5, 0.2]), np.array([0, 1, 2])).tolist()
    [1, 2, 0]
    """
    return members[np.argsort(-np.abs(worth[members]), kind="stable")]


def representative_order(ranks: Ints, members: Ints, owner: Ints) -> Ints:
    """[position] rows such that each next one adds most to how well the chosen represent all of its query.

    Args:
        ranks: [run, row] rank of each passage.
        members: rows that can be labeled.
        owner: [row] index of its query.

    >>> representative_order(np.array([[1, 2, 9], [1, 2, 1]]), np.arange(3), np.zeros(3, dtype=np.int64)).tolist()
    [1, 2, 0]
    """
    orders = [
        _represent(ranks[:, rows], rows)
        for rows in (members[owner[members] == query] for query in np.unique(owner[members]))
    ]
    longest = max(map(len, orders))
    return np.array([order[at] for at in range(longest) for order in orders if at < len(order)], dtype=np.int64)


def _represent(ranks: Ints, rows: Ints) -> list[int]:
    profile = np.where(ranks < UNLISTED, 1 / np.log2(1 + np.minimum(ranks, UNLISTED - 1)), 0.0).T
    length = np.linalg.norm(profile, axis=1, keepdims=True)
    profile = profile / np.where(length > 0, length, 1.0)
    alike, covered = profile @ profile.T, np.zeros(len(rows))
    left, found = list(range(len(rows))), list[int]()
    while left:
        gains = np.maximum(alike[left] - covered, 0).sum(axis=1)
        best = left.pop(int(gains.argmax()))
        covered = np.maximum(covered, alike[best])
        found.append(int(rows[best]))
    return found
