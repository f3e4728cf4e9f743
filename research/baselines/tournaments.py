"""Tournaments: the better half of each group advances, and a document earns a point per round it survives."""

from __future__ import annotations

import numpy as np

from trueval.golden.refine.judge_orders import Ask, ask_round
from trueval.standings.standings import Floats


def tournaments(grades: Floats, ask: Ask, rng: np.random.Generator, *, rounds: int = 5, group: int = 10) -> list[int]:
    """Rank by the points of several tournaments, in the style of TourRank (Chen et al. 2024).

    In each stage the documents that are left are dealt into groups, the better half of each goes on and gets a point;
    the last stage has one group. Points of all tournaments add up; equal points are ordered by grade.

    Args:
        grades: [document].
        ask: the judge; the groups of a stage are asked in parallel.
        rng: where groups come from.
        rounds: tournaments.
        group: documents of a group at most, 2 or more.

    >>> judge = lambda batches: [sorted(batch) for batch in batches]
    >>> tournaments(np.zeros(4), judge, np.random.default_rng(0), rounds=1, group=2)[:1]
    [0]
    """
    points = np.zeros(len(grades))
    for _ in range(rounds):
        left = rng.permutation(len(grades))
        while len(left) > 1:
            count = -(-len(left) // group)
            groups = [tuple(map(int, left[place::count])) for place in range(count)]
            kept: list[int] = []
            for shown, order in zip(groups, ask_round(ask, groups), strict=True):
                ranked = shown if order is None else order.best_first
                kept += ranked[: max(len(ranked) // 2, 1)]
            points[kept] += 1
            left = rng.permutation(kept)
    return [int(each) for each in np.lexsort((-grades, -points))]
