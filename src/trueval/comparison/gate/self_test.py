"""Self-test of a gate: how often it would call a run worse that is not.

Candidate and baseline are swapped at random, per query or per cluster, as if chance had decided which of the two lists
belongs to which system (A/A). Then neither is better, and every verdict "worse" is a false alarm. The values are those
of the real runs, their ties included: variances over tie orders are swapped too. Each such world is checked against the
limits as they are, and against 0, by the same intervals as the gate's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trueval.comparison.choices import ComparisonChoices
from trueval.comparison.gate.baseline_matching import find_baseline, match_baseline
from trueval.comparison.gate.gate import measures_of_limits
from trueval.comparison.limits import Limit, MaxDrop, check_limits, name_measures, rounding_tolerance
from trueval.comparison.resampling.alignment import AlignedScores, align
from trueval.comparison.resampling.betting import Bets
from trueval.comparison.resampling.bootstrap_intervals import (
    Extremes,
    Intervals,
    ResampledColumns,
    ResampleDraws,
    Sizes,
    intervals_of,
)
from trueval.comparison.resampling.bounded_intervals import Differences, bets_of, intervals_by_bets, reach_of
from trueval.comparison.resampling.clusters import Clusters, QueryUnits
from trueval.comparison.resampling.resampled_sums import ValueGrid, generator, thread_count, to_grid
from trueval.comparison.resampling.shared_tie_intervals import WorldTies, joint_ends
from trueval.comparison.resampling.simultaneous import Deviations, Family, deviations, simultaneous_intervals
from trueval.errors import InputError, PolicyError, nearest
from trueval.evaluation.scores import Scores
from trueval.standings.standings import Bools, Floats, Ints

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.comparison.compare_choices import GateChoices
    from trueval.files import Source

WORLDS: Final = 1000
# Random stream of swaps, distinct from those of comparison/resampling/resampled_sums.py.
SWAPS: Final = 1 << 33
# Columns resampled at once: 10,000 resamples of them take about 100 MB.
COLUMNS: Final = 240


class Alarms(NamedTuple):
    """Verdicts of a gate in worlds in which candidate and baseline are the same system.

    Attributes:
        limits: the limits as options of the command line.
        worse: share of worlds in which some check is "worse", a false alarm.
        low: lower end of the exact 95 % interval of that share (Clopper & Pearson 1934), as the worlds are a sample.
        high: upper end of that interval.
        unclear: share of all checks that cannot tell.
    """

    limits: tuple[str, ...]
    worse: float
    low: float
    high: float
    unclear: float


class SelfTest(NamedTuple):
    """Result of the self-test: how a gate decides when candidate and baseline are swapped at random.

    Attributes:
        worlds: number of worlds tried.
        checks: number of checks in each.
        queries: number of queries in the comparison, for the measure with the most.
        clusters: number of clusters, each swapped as a whole; None where each query was swapped independently.
        level: level of the intervals.
        seed: seed of the swaps.
        asked: verdicts under the limits as they are.
        zero: verdicts under limits of 0, where any loss is too large.
    """

    worlds: int
    checks: int
    queries: int
    clusters: int | None
    level: float
    seed: int
    asked: Alarms
    zero: Alarms

    def to_dict(self) -> dict[str, object]:
        """The result as a dict, as in the JSON of an evaluation."""
        alarms = {name: getattr(self, name) for name in ("asked", "zero")}
        parts = {name: {**each._asdict(), "limits": list(each.limits)} for name, each in alarms.items()}
        return {**self._asdict(), **parts}


class CheckGroup(NamedTuple):
    """Checks of measures that count the same queries, in one or more worlds.

    Attributes:
        apart: [unit, world, check] sums of candidate - baseline.
        lowest: [unit, world, check] sums of the lowest differences over tie orders; NaN if unknown.
        highest: [unit, world, check] sums of the highest.
        variance: [unit, world or 1, check] sums of variances over tie orders, those of both sides added; NaN where not
            known. Swapping the sides does not change it.
        sizes: [unit] number of queries.
        run: [check] number of the candidate; all measures of a run share their tie noise.
        reach: [check] the largest possible difference of a query; None where intervals are not by bets.
    """

    apart: Floats
    lowest: Floats
    highest: Floats
    variance: Floats
    sizes: Floats
    run: Ints
    reach: Floats | None = None


def self_test(
    scores: Scores | Sequence[Scores],
    limits: Iterable[Limit],
    *,
    baseline: Scores | str | PathLike[str],
    worlds: int = WORLDS,
    missing: str | None = None,
    clusters: Clusters | Mapping[str, str] | Source | None = None,
    threads: int | None = None,
    begin: Callable[[str], None] | None = None,
    **choices: Unpack[GateChoices],
) -> SelfTest:
    """Swap candidate and baseline at random, and count the gate's verdicts.

    Args:
        scores: scores of the runs.
        limits: as in gate; those of MaxDrop are tested.
        baseline: as in gate.
        worlds: number of random swaps.
        missing: as in gate.
        clusters: as in gate; a cluster is swapped whole.
        threads: as in compare.
        begin: called with a name before each of the `parts` parts of the work.
        choices: as in gate: level, intervals, resamples, seed.

    Raises:
        InputError: there is no such baseline, it was measured otherwise, or fewer than two queries count.
        MeasureError: a measure has no interval.
        PolicyError: no limit is a MaxDrop, or a choice is unknown.

    >>> self_test(new, [MaxDrop("nDCG@10", 0.01)], baseline=old).to_dict()  # doctest: +SKIP
    """
    runs = [scores] if isinstance(scores, Scores) else list(scores)
    if runs:
        limits = name_measures(limits, runs[0].measures, runs[0].policy)
    drops = [limit for limit in limits if isinstance(limit, MaxDrop)]
    if not drops:
        raise PolicyError("A self-test counts how often a drop is found where there is none. Give --max-drop X.")
    if unknown := next((name for name in choices if name not in ComparisonChoices.__dataclass_fields__), None):
        raise PolicyError(
            f"Unknown choice {unknown!r} of a comparison.{nearest(unknown, ComparisonChoices.__dataclass_fields__)}"
        )
    if worlds < 1:
        raise PolicyError(f"worlds must be an integer >= 1. Got {worlds!r}.")
    found = find_baseline(baseline, runs)
    others = [each for each in runs if each is not found]
    for each in others:
        check_limits(drops, each.measures, baseline=True)
    if not others:
        raise InputError("A self-test needs a run beside the baseline. Name one.")
    asked = measures_of_limits(drops, others[0])
    sides = match_baseline(others, found, asked, missing)
    if sides.refused:
        raise InputError(sides.refused[0].line)
    aligned, chosen = align([*sides.runs, sides.baseline]), ComparisonChoices(**choices)
    belonging = Clusters.of(clusters)
    codes = np.arange(len(aligned.query_ids)) if belonging is None else belonging.codes(aligned.query_ids)
    draws = ResampleDraws(chosen.resamples, chosen.seed, thread_count(threads), chosen.level)
    bets = bets_of(chosen, belonging, draws.threads)
    groups = list(_groups(aligned, codes, None if bets is None else reach_of(aligned.measures)))
    if any(len(group.sizes) < 2 for group, _, _ in groups):
        raise InputError("A self-test needs at least two queries, or clusters of them, with a value for every run.")
    bars = [_Bars.of(aligned, measures, drops) for _, measures, _ in groups]
    if bets is not None:  # equal values alone do not decide a check
        bars = [each._replace(same=np.zeros_like(each.same)) for each in bars]
    tried = _try(groups, bars, worlds, draws, bets, begin)
    counted = [int(units.max()) + 1 for _, _, units in groups] if belonging else []
    zeros = list(dict.fromkeys(str(MaxDrop(limit.measure, 0.0)) for limit in drops))
    return SelfTest(
        worlds,
        sum(int(np.isfinite(each.asked).sum()) for each in bars),
        int(aligned.kept.sum(axis=0).max()),
        max(counted) if counted else None,
        chosen.level,
        chosen.seed,
        _alarms([str(limit) for limit in drops], tried[0]),
        _alarms(zeros, tried[1]),
    )


def parts(worlds: int, checks: int) -> int:
    """Number of parts of the work of a self-test.

    >>> parts(1000, 3)
    13
    """
    return -(-worlds // max(1, COLUMNS // checks))


def joint_intervals(groups: Sequence[CheckGroup], draws: ResampleDraws, bets: Bets | None = None) -> list[Floats]:
    """Joint intervals of candidate - baseline, simultaneous over all checks of a world.

    Args:
        groups: check groups in the same worlds.
        draws: how units are resampled.
        bets: how intervals are made by betting; None where by resampling.

    Returns:
        [group] interval ends, [world, check, 2].
    """
    if bets is not None:
        shared = bets._replace(alpha=bets.alpha / sum(group.apart.shape[2] for group in groups))
        return [_by_bets(group, shared) for group in groups]
    prepared = [_PreparedGroup.of(group, draws) for group in groups]
    largest = [each.found for each in prepared]
    out = []
    for group, each in zip(groups, prepared, strict=True):
        joined = each.found if len(largest) == 1 else each.found.join(largest)
        found = simultaneous_intervals(each.columns, each.family, joined, each.alone, draws, each.extremes)
        out.append(found.realized.reshape(*group.apart.shape[1:], 2))
    return out


def _by_bets(group: CheckGroup, bets: Bets) -> Floats:
    """[world, check, 2] joint intervals by betting, each at the level of the bets."""
    units, worlds, checks = group.apart.shape
    tied = np.broadcast_to(~(group.variance == 0).all(axis=0), (worlds, checks)).ravel()
    apart, lowest, highest = (each.reshape(units, -1) for each in (group.apart, group.lowest, group.highest))
    reach = np.full(checks, np.inf) if group.reach is None else group.reach
    differences = Differences(apart, lowest, highest, tied, group.sizes, np.tile(reach, worlds))
    return intervals_by_bets(differences, bets).realized.reshape(worlds, checks, 2)


class _PreparedGroup(NamedTuple):
    """A group in the form of a comparison: each difference is a column, compared with a column of zeros."""

    columns: ResampledColumns
    family: Family
    alone: Intervals
    found: Deviations
    extremes: Extremes

    @classmethod
    def of(cls, group: CheckGroup, draws: ResampleDraws) -> _PreparedGroup:
        """Resample the worlds of a group; each world is a family."""
        units, worlds, checks = group.apart.shape
        count, nothing = worlds * checks, np.zeros((units, 1))
        apart, lowest, highest = (
            np.hstack([each.reshape(units, count), nothing]) for each in (group.apart, group.lowest, group.highest)
        )
        # Ties are the same in all swapped worlds, and resampled once.
        variance = np.hstack([group.variance.reshape(units, -1), nothing])
        known = np.logical_not(np.isnan(variance).any(axis=0))
        values, ties = to_grid(apart), to_grid(np.where(known, variance, 0.0))
        both = ValueGrid(np.hstack([values.values, ties.values]), np.concatenate([values.step, ties.step]))
        sums, spread = np.split(draws.sums(both), [count + 1])
        column = np.append(np.tile(np.arange(variance.shape[1] - 1), count // (variance.shape[1] - 1)), -1)
        columns = ResampledColumns(
            values,
            ValueGrid(ties.values[:, column], ties.step[column]),
            known[column],
            sums,
            spread[column],
            Sizes.of(group.sizes, draws),
        )
        run = np.append(np.tile(group.run, worlds), 0)
        first, zero = np.arange(count), np.full(count, count)
        family = Family(first, zero, np.repeat(np.arange(worlds), checks), run)
        extremes = Extremes(lowest, highest)
        alone = intervals_of(columns, first, zero, draws, extremes)
        return cls(columns, family, alone, deviations(columns, family, draws), extremes)


def _groups(aligned: AlignedScores, codes: Ints, reach: Floats | None) -> Iterator[tuple[CheckGroup, Ints, Ints]]:
    """The checks by the queries that their measures count, with their measures and the cluster of each unit."""
    patterns, pattern_of = np.unique(aligned.kept, axis=1, return_inverse=True)
    runs = len(aligned.names) - 1  # the baseline is last
    pairs = (
        aligned.expected[:-1] - aligned.expected[-1],
        aligned.lowest[:-1] - aligned.highest[-1],
        aligned.highest[:-1] - aligned.lowest[-1],
        aligned.sd[:-1] ** 2 + aligned.sd[-1] ** 2,
    )
    for at in range(patterns.shape[1]):
        kept, measures = np.flatnonzero(patterns[:, at]), np.flatnonzero(pattern_of.ravel() == at)
        units = QueryUnits.of(codes[kept])
        apart, lowest, highest, variance = (
            units.sums(each[:, kept][:, :, measures].transpose(1, 0, 2)).reshape(
                len(units.sizes), 1, runs * len(measures)
            )
            for each in pairs
        )
        candidates, ends = np.repeat(np.arange(runs), len(measures)), None
        if reach is not None:
            ends = np.tile(reach[measures], runs)
        group = CheckGroup(apart, lowest, highest, variance, units.sizes, candidates, ends)
        yield group, np.tile(measures, runs), np.unique(codes[kept])


class _Bars(NamedTuple):
    """The limits that the checks of a group are compared with.

    Attributes:
        asked: [limit, check] limits; NaN where a limit does not apply to the check.
        sign: [check] -1 where lower is better.
        same: [check] whether candidate and baseline are equal on every query: swapping changes nothing.
        rounding: [check] how far rounding alone can move a mean difference from a limit.
    """

    asked: Floats
    sign: Floats
    same: Bools
    rounding: Floats

    @classmethod
    def of(cls, aligned: AlignedScores, measures: Ints, limits: Sequence[MaxDrop]) -> _Bars:
        """The limits for the measures of a group's checks, run by run."""
        runs = len(aligned.names) - 1
        numbers = measures[: len(measures) // runs]
        named = [aligned.measures[at] for at in measures.tolist()]
        asked = [[one.limit if one.measure in (None, str(each)) else math.nan for each in named] for one in limits]
        same = np.logical_and.reduce(
            [
                (each[:-1] == each[-1]) | np.isnan(each[:-1]) & np.isnan(each[-1])
                for each in (aligned.expected, aligned.lowest, aligned.highest, aligned.sd)
            ]
        )
        # Queries that do not count contribute nothing.
        same = (same | ~aligned.kept).all(axis=1)[:, numbers].ravel()
        largest = np.abs(np.where(aligned.kept, aligned.expected, 0.0)).max(axis=1, initial=0.0)  # [run, measure]
        within = np.vectorize(rounding_tolerance)(largest[:-1], largest[-1])[:, numbers].ravel()
        signs = np.array([1.0 if each.better == "higher" else -1.0 for each in named])
        return cls(np.array(asked), signs, same, within)

    @property
    def zero(self) -> Floats:
        """[1, check] limits of 0 in place of these."""
        return np.where(np.isfinite(self.asked).any(axis=0), 0.0, math.nan)[None]

    def is_open(self, low: Floats, high: Floats) -> Bools:
        """[world, check] whether a wider interval could change a decision: a limit lies outside the interval."""
        lower, upper = np.where(self.sign > 0, low, -high), np.where(self.sign > 0, high, -low)
        limits = (-np.concatenate([self.asked, self.zero]) - self.rounding)[:, None]
        outside = np.isfinite(limits) & ~((lower < limits) & (limits <= upper))
        found: Bools = np.any(outside, axis=0)
        return found


class _Outcome(NamedTuple):
    worse: Bools  # [world] whether some check is
    unclear: int  # number of checks that cannot tell
    checks: int  # of all worlds


def _try(
    groups: Sequence[tuple[CheckGroup, Ints, Ints]],
    bars: Sequence[_Bars],
    worlds: int,
    draws: ResampleDraws,
    bets: Bets | None,
    begin: Callable[[str], None] | None,
) -> tuple[_Outcome, _Outcome]:
    """Swap, and check every world against the limits and against 0."""
    clusters = 1 + max(int(units.max()) for _, _, units in groups)
    swaps = generator(draws.seed, SWAPS, 0).random((worlds, clusters)) < 0.5
    at_once = max(1, COLUMNS // sum(len(measures) for _, measures, _ in groups))
    worse = np.zeros((2, worlds), dtype=bool)
    unclear, checks = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    ties = None
    if bets is None and all(np.isfinite(group.variance).all() for group, _, _ in groups):
        ties = [WorldTies.of(group.variance[:, 0], group.sizes, group.run, draws) for group, _, _ in groups]
    for start in range(0, worlds, at_once):
        if begin is not None:
            begin(f"world {start + 1:,}")
        some = swaps[start : start + at_once]
        swapped = [_swap_systems(group, some[:, units]) for group, _, units in groups]
        if ties is None:
            joint = joint_intervals(swapped, draws, bets)
        else:
            joint = joint_ends([group.apart for group in swapped], ties, [each.is_open for each in bars])
        for found, each in zip(joint, bars, strict=True):
            low, high = np.sort(found * each.sign[:, None], axis=2).transpose(2, 0, 1)
            for at, limits in enumerate((each.asked, each.zero)):
                for limit in limits:
                    about = np.isfinite(limit)
                    bar = -limit - each.rounding
                    beyond = (high < bar) & about & ~each.same
                    worse[at, start : start + len(some)] |= beyond.any(axis=1)
                    unclear[at] += int((about & ~each.same & ~beyond & (low < bar)).sum())
                    checks[at] += int(about.sum()) * len(some)
    first, second = (_Outcome(worse[at], int(unclear[at]), int(checks[at])) for at in (0, 1))
    return first, second


def _swap_systems(group: CheckGroup, swap: Bools) -> CheckGroup:
    """Make one world per swap from a single one: [world, unit] whether candidate and baseline are exchanged."""
    turned = swap.T[:, :, None]  # [unit, world, 1]
    return group._replace(
        apart=np.where(turned, -group.apart, group.apart),
        lowest=np.where(turned, -group.highest, group.lowest),
        highest=np.where(turned, -group.lowest, group.highest),
    )


def _alarms(limits: Sequence[str], tried: _Outcome) -> Alarms:
    from scipy.special import betaincinv

    count, worlds = int(tried.worse.sum()), len(tried.worse)
    low = float(betaincinv(count, worlds - count + 1, 0.025)) if count else 0.0
    high = float(betaincinv(count + 1, worlds - count, 0.975)) if count < worlds else 1.0
    return Alarms(tuple(limits), count / worlds, low, high, tried.unclear / max(tried.checks, 1))
