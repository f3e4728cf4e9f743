"""Moved scores: standings of a run whose documents stand at the ends of their score intervals.

A document of score s that may move by δ can be anywhere in [s - δ, s + δ]. It is surely above another one if and only
if its lower end is above the other's upper end. With chosen documents at their upper ends and all others at their lower
ends, every comparison of a chosen document with another one is decided for the chosen one as far as the intervals
allow, all at once; where the ends are equal, the order of ties decides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trueval.score_width import shift_outward
from trueval.standings.counting import count
from trueval.standings.judged_pool import pool_of
from trueval.standings.matching import align, match

if TYPE_CHECKING:
    from trueval.judgments import Judgments
    from trueval.policy.policy import Policy
    from trueval.run import Run
    from trueval.score_width import ScoreWidth
    from trueval.standings.standings import Bools, Floats, Ints, Standings


class MovedScores:
    """A run whose scores may move.

    Args:
        run: run as read.
        judgments: judgments as read; lists of other queries are dropped.
        width: its unit is the one of `factor`.
    """

    def __init__(self, run: Run, judgments: Judgments, width: ScoreWidth) -> None:
        units = width.units(run.documents["score"].to_numpy())  # of all lists: codes have one range
        kept = align(run.query_ids, judgments.query_ids) >= 0
        rows = np.repeat(kept, np.diff(run.offsets))
        lengths = np.diff(run.offsets)[kept]
        self.run = replace(
            run,
            documents=run.documents.filter(rows),
            query_ids=run.query_ids.filter(kept),
            offsets=np.append(0, lengths.cumsum()),
        )
        self.judgments = judgments
        self.units = units[rows]
        self.scores = self.run.documents["score"].to_numpy()
        pool = pool_of(judgments)
        found = match(self.run, judgments, align(self.run.query_ids, judgments.query_ids), pool)
        self.position, self.item = found.position, pool.item[found.judged]
        self._factor = 0.0
        self._counted: dict[tuple[bytes, bool, Policy], Standings] = {}

    def standings(self, factor: float, chosen: Bools, policy: Policy, *, up: bool) -> Standings:
        """Standings with chosen documents at one end of their intervals and all others at the other end.

        Args:
            factor: number of units by which scores may move.
            chosen: [item] whether a document of the judgments is chosen.
            policy: as in `count`.
            up: whether the chosen ones are at their upper ends; if not, they are at the lower ends.
        """
        if factor != self._factor:
            self._factor, self._counted = factor, {}
        key = chosen.tobytes(), up, policy.counting
        if key not in self._counted:
            sign = np.full(len(self.scores), -1.0 if up else 1.0)
            sign[self.position[chosen[self.item]]] *= -1
            moved = shift_outward(self.scores, sign * (factor * self.units))
            run = replace(self.run, documents=self.run.documents.with_columns(pl.Series("score", moved)))
            vars(run)["doc_hashes"] = self.run.doc_hashes
            self._counted[key] = count(run, self.judgments, policy.counting)
        return self._counted[key]

    def crossings(self, low: float, high: float, gaining: Bools) -> Floats:
        """Factors in (low, high] at which the intervals of a gaining document and another one of its list touch.

        Args:
            gaining: [item] whether the measure gains from the document.
        """
        position = np.sort(self.position[gaining[self.item]])
        owner = np.searchsorted(self.run.offsets, position, side="right") - 1
        found = [np.zeros(0)]
        for one in np.unique(owner).tolist():
            begin, end = self.run.offsets[one], self.run.offsets[one + 1]
            own = position[owner == one][:, None]
            with np.errstate(invalid="ignore", divide="ignore"):
                gaps = np.abs(self.scores[own] - self.scores[begin:end])
                factors = gaps / (self.units[own] + self.units[begin:end])
            found.append(np.unique(factors[(factors > low) & (factors <= high)]))
        return np.unique(np.concatenate(found))

    @property
    def widest_factor(self) -> float:
        """A factor at which all intervals of a list overlap; 0 where no score can move."""
        finite = self.scores[np.isfinite(self.scores)]
        units = self.units[self.units > 0]
        return float(np.ptp(finite) / units.min()) + 1 if len(finite) and len(units) else 0.0

    def open_lists(self, factor: float, cutoff: int) -> int:
        """Number of lists of full depth whose cutoff a document below the last listed one could reach.

        Args:
            factor: number of units by which scores may move.
            cutoff: last rank that counts.
        """
        lengths = np.diff(self.run.offsets)
        full = np.flatnonzero(lengths == lengths.max(initial=1))
        moves = factor * self.units
        return sum(
            _is_open(self.scores[part], moves[part], cutoff)
            for part in (slice(*self.run.offsets[one : one + 2].tolist()) for one in full.tolist())
        )


def _is_open(scores: Floats, moves: Floats, cutoff: int) -> bool:
    last = int(np.argmin(scores))
    if len(scores) < cutoff:
        return False
    lower = shift_outward(scores, -moves)
    kth = np.partition(lower, len(lower) - cutoff)[len(lower) - cutoff]
    return bool(shift_outward(scores[last:][:1], moves[last:][:1])[0] >= kth)


class GradeLevels:
    """The judged documents by what a measure gains from them: level 1 is the least gain above 0.

    Attributes:
        of_item: [item] level in its query; 0 for documents that gain nothing, and for unjudged ones.
        grade: [level, query] a grade that gains as much as the level; NaN where the query has no such level.
        count: number of levels.
    """

    def __init__(self, gains: Floats, standings: Standings, items: int) -> None:
        query = standings.pool_query
        some = np.flatnonzero(gains > 0)
        order = some[np.lexsort((gains[some], query[some]))]
        query, gains, grades = query[order], gains[order], standings.pool_grade[order]
        first = np.append(True, query[1:] != query[:-1])[: len(query)]
        rises = np.append(True, gains[1:] != gains[:-1])[: len(query)] | first
        total = rises.cumsum()
        level: Ints = total - np.maximum.accumulate(np.where(first, total, 0)) + 1
        self.count = int(level.max(initial=0))
        self.of_item = np.zeros(items, dtype=np.int64)
        self.of_item[standings.pool_item[order]] = level
        self.grade = np.full((self.count + 1, standings.queries), np.nan)
        self.grade[level, query] = grades
