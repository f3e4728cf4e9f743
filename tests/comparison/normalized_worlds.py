"""Normalized measures from single passages: what a linearised ratio would make of the real judges of LLMJudge.

A query is worth f(T), T its totals over judged passages: of w(d) 1[grade >= g], which the numerator is made of, and of
1[grade >= g], which the norm is made of, for g = 1, 2, 3. Nothing of this is in the library: it refuses these measures,
and test_normalized_simulation.py measures why.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from tests.comparison.audit_worlds import SCALE, Drawing, census, judgments, sample, world

from trueval.comparison.labels.both_labels import LabelSets
from trueval.comparison.labels.prediction_powered import LabeledUnits, total, tune_judge_weights
from trueval.measures.rarity import best_gain, rarity_weights
from trueval.policy.policy import OURS
from trueval.standings.standings import sum_by

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEVELS = np.array([1.0, 2.0, 3.0])
LIST = 10  # ranks that count
DISCOUNTS = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, LIST + 2)))])


def over(value: Floats, norm: Floats) -> Floats:
    """The share, 0 of nothing."""
    return np.divide(value, norm, out=np.zeros_like(norm), where=norm > 1e-9)


def ndcg(totals: Floats) -> Floats:
    """[..] nDCG@10: the best DCG is a sum over grades of the discounts of as many first ranks as reach it."""
    return over(totals[..., :3].sum(-1), np.interp(totals[..., 3:], np.arange(LIST + 1), DISCOUNTS).sum(-1))


def recall(totals: Floats) -> Floats:
    """[..] R(rel=2)@10."""
    return over(totals[..., 1], totals[..., 4])


def rarity(totals: Floats) -> Floats:
    """[..] RA-nWG@10, with grades 1, 2, 3 as 3, 4, 5 of its rubric."""
    flat = totals.reshape(-1, 6)
    counts = np.zeros((len(flat), 6))
    counts[:, 3:] = np.maximum(flat[:, 3:] - np.column_stack([flat[:, 4:], np.zeros(len(flat))]), 0)
    found = flat[:, :3] - np.column_stack([flat[:, 1:3], np.zeros(len(flat))])
    weights = rarity_weights(counts)
    value = over((weights[:, 3:] * found).sum(-1), best_gain(counts, weights, LIST))
    return value.reshape(totals.shape[:-1])


def precision(totals: Floats) -> Floats:
    """[..] P(rel=2)@10, whose norm no label changes: the control, in which the same intervals must hold."""
    return totals[..., 1] / LIST


class Ratio(NamedTuple):
    """A measure as a function of totals.

    Attributes:
        of: totals → values.
        weighted: the sum over passages that has its weights, and what the greatest grade gains there.
    """

    of: Callable[[Floats], Floats]
    weighted: tuple[str, float]


RATIOS = {
    "nDCG@10": Ratio(ndcg, ("DCG@10", SCALE[1])),
    "R(rel=2)@10": Ratio(recall, ("Hits(rel=2)@10", 1.0)),
    "RA-nWG@10": Ratio(rarity, ("Hits(rel=2)@10", 1.0)),
    "P(rel=2)@10": Ratio(precision, ("Hits(rel=2)@10", 1.0)),
}


class Passages(NamedTuple):
    """The judged passages of some queries.

    Attributes:
        owner: [passage] number of its query.
        weight: [passage] mean weight of its ranks.
        people: [passage, 6] what it adds to the totals by people's labels.
        judge: [passage, 6] by the judge's.
        grade: [passage] by the judge.
    """

    owner: Ints
    weight: Floats
    people: Floats
    judge: Floats
    grade: Floats

    @property
    def queries(self) -> int:
        return int(self.owner[-1]) + 1

    def totals(self, added: Floats) -> Floats:
        """[query, 6] sums over passages."""
        return np.column_stack([np.bincount(self.owner, column, self.queries) for column in added.T])

    def again(self, queries: Ints, most: int | None) -> tuple[Passages, Ints]:
        """Passages of these queries, which may be there several times, and their numbers here.

        Args:
            queries: numbers.
            most: passages of a query that somebody judged, those with weight first; None for all.
        """
        own = [_first(np.flatnonzero(self.owner == query), self.weight, most) for query in range(self.queries)]
        take = np.concatenate([own[query] for query in queries.tolist()])
        owner = np.repeat(np.arange(len(queries)), [len(own[query]) for query in queries.tolist()])
        return Passages(owner, *(column[take] for column in self[1:])), take


def _first(rows: Ints, weight: Floats, most: int | None) -> Ints:
    if most is None or len(rows) <= most:
        return rows
    chance = np.random.default_rng(len(rows)).random(len(rows))
    return np.sort(rows[np.lexsort((chance, weight[rows] == 0))[:most]])


@cache
def passages(judge: str, run: str, name: str) -> Passages:
    """All judged passages, ranked by the labels of another judge."""
    base, greatest = RATIOS[name].weighted
    here = world(judge, run, base)
    labels = LabelSets(judgments(judge), census(), OURS)
    weight = here.weight / greatest
    sides = [_added(weight, frame.frame["grade"].to_numpy()) for frame in (labels.people, labels.judge)]
    return Passages(here.owner, weight, sides[0], sides[1], here.grade)


def _added(weight: Floats, grade: Floats) -> Floats:
    reached = (grade[:, None] >= LEVELS).astype(np.float64)
    return np.column_stack([weight[:, None] * reached, reached])


class Told(NamedTuple):
    """An estimate of the mean over queries, with the half widths of its intervals."""

    estimate: float
    these: float
    new: float


def _told(values: Floats, variance: float, degrees: float) -> Told:
    """Intervals: for these queries from the variance over samples, for new ones from what lies between estimates."""
    queries = len(values)
    between = float(values.var(ddof=1)) / queries
    halves = stdtrit([degrees, queries - 1], 0.975) * np.sqrt([variance, between])
    return Told(float(values.mean()), *halves.tolist())


def linearised(ratio: Ratio, world: Passages, rng: np.random.Generator, drawn: Drawing, size: int) -> Told:
    """FORMULAS' way: corrected totals of each query over inclusion probabilities, and the ratio linearised at them."""
    picked = sample(rng, drawn, size)
    rows, strata = picked.rows, picked.strata
    scale = (strata.population / np.bincount(strata.of_label, minlength=len(strata.population)))[strata.of_label]

    def estimated(weight: float) -> tuple[Floats, LabeledUnits]:
        left = np.zeros_like(world.people)
        left[rows] = (world.people[rows] - weight * world.judge[rows]) * scale[:, None]
        totals = weight * world.totals(world.judge) + world.totals(left)
        totals[:, 3:] = np.maximum.accumulate(np.maximum(totals[:, 3:], 0)[:, ::-1], axis=1)[:, ::-1]
        slopes = _slopes(ratio, totals)[world.owner]
        people, judge = ((slopes * side).sum(-1) for side in (world.people, world.judge))
        return ratio.of(totals), LabeledUnits(
            people[rows], judge[rows], strata.of_label, strata.population, judge.sum()
        )

    weight = float(tune_judge_weights(estimated(0.0)[1]).mean())
    values, units = estimated(weight)
    found = total(units, np.full(len(rows), weight))
    return _told(values, found.variance / len(values) ** 2, found.degrees)


def _slopes(ratio: Ratio, totals: Floats, step: float = 1e-4) -> Floats:
    """[query, total] derivatives, from above and below."""
    steps = step * np.eye(6)
    return np.stack([(ratio.of(totals + each) - ratio.of(totals - each)) / (2 * step) for each in steps], axis=-1)


def in_each_query(ratio: Ratio, world: Passages, rng: np.random.Generator, each: int) -> tuple[Told, Told]:
    """The most favorable design we know: as many passages of every query, at random; what the judge's grades let
    expect taken from all labels; counts never below what was seen nor above what is possible.

    Returns:
        The plain estimate, and the one whose bias of second order is taken off by leaving out one label at a time.
    """
    sizes = np.bincount(world.owner)
    rows = _of_each(world, rng, each, sizes)
    seen, size = world.people[rows], sizes[:, None].astype(np.float64)
    grade = world.grade.astype(np.int64)
    share = _by_grade(world.people[rows.ravel(), 3:], grade[rows.ravel()])[grade]
    expected = np.column_stack([world.weight[:, None] * share, share])
    all_expected, left = world.totals(expected), seen - expected[rows]
    most = np.bincount(world.owner, world.weight)[:, None]
    full = _possible(all_expected + size * left.mean(axis=1), seen.sum(axis=1), size - each, most)
    without = (left.sum(axis=1)[:, None] - left) / (each - 1)
    less = _possible(
        all_expected[:, None] + size[:, None] * without,
        seen.sum(axis=1)[:, None] - seen,
        size[:, None] - each + 1,
        most[:, None],
    )
    values, others = ratio.of(full), ratio.of(less)
    end = 1 - each / sizes
    bias = end * (each - 1) * (others.mean(axis=1) - values)
    parts = end * (each - 1) / each * ((others - others.mean(axis=1)[:, None]) ** 2).sum(axis=1)
    degrees = max(1.0, float(parts.sum() ** 2 / max(1e-30, (parts**2).sum() / (each - 1))))
    variance = float(parts.sum()) / len(values) ** 2
    return _told(values, variance, degrees), _told(values - bias, variance, degrees)


def _of_each(world: Passages, rng: np.random.Generator, each: int, sizes: Ints) -> Ints:
    """[query, label] rows of as many passages of every query."""
    order = np.lexsort((rng.random(len(world.owner)), world.owner))
    return order[(np.cumsum(sizes) - sizes)[:, None] + np.arange(each)]


def _by_grade(reached: Floats, grade: Ints) -> Floats:
    """[judge's grade, level] share of labels that reach a level; the share of all weighs as two labels."""
    sums = np.column_stack([sum_by(grade, column, int(SCALE[1]) + 1) for column in reached.T])
    counts = np.bincount(grade, minlength=len(sums))[:, None]
    return (sums + 2 * reached.mean(axis=0)) / (counts + 2)


def _possible(totals: Floats, seen: Floats, unseen: Floats, most: Floats) -> Floats:
    """Totals that people's labels leave possible, those of a higher grade never above those of a lower one."""
    counts = np.clip(totals[..., 3:], seen[..., 3:], unseen + seen[..., 3:])
    counts = np.maximum.accumulate(counts[..., ::-1], axis=-1)[..., ::-1]
    ranked = np.minimum(np.clip(totals[..., :3], seen[..., :3], most), counts)
    return np.concatenate([np.maximum.accumulate(ranked[..., ::-1], axis=-1)[..., ::-1], counts], axis=-1)
