"""Checks of an allowed drop: what the joint interval of run - baseline says, and what few queries cannot tell."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueval.comparison.checks import CANNOT_TELL, NOT_WORSE, POWER, WORSE, Check
from trueval.comparison.gate.baseline_matching import is_same
from trueval.comparison.limits import ROUNDING, MaxDrop, rounding_tolerance
from trueval.comparison.power.sample_size import queries_needed
from trueval.comparison.resampling.betting import Bets, units_needed
from trueval.comparison.resampling.clusters import QueryUnits
from trueval.comparison.resampling.rare_losses import rare_losses
from trueval.evaluation.scores import Scores
from trueval.numerics import or_null
from trueval.standings.standings import Floats, Ints

if TYPE_CHECKING:
    from trueval.comparison.comparison import Difference
    from trueval.comparison.resampling.clusters import Clusters


def verdict_of(low: float, high: float, limit: float, within: float = ROUNDING) -> str:
    """What an interval of run - baseline says of an allowed drop.

    Args:
        low: end of the interval.
        high: likewise.
        limit: the allowed drop.
        within: how far an end can be from the limit by rounding alone.

    >>> verdict_of(-0.02, 0.01, 0.05), verdict_of(-0.02, 0.01, 0.0), verdict_of(-0.02, -0.01, 0.0)
    ('not worse', 'cannot tell', 'worse')
    """
    if low >= -limit - within:
        return NOT_WORSE
    return WORSE if high < -limit - within else CANNOT_TELL


class PairedDifference(NamedTuple):
    """What the queries that two runs have in common say about their difference on one measure.

    Attributes:
        same: whether no query tells the two apart.
        identical: whether the run holds the rows of its baseline.
        units: how many queries, or clusters of them.
        clusters: how many clusters; None where there are none.
        worse: units on which the run is worse.
        largest: the largest loss that a query can have; infinite where the measure sets no limit.
        sd: of a difference between units, ties included: sqrt(units) times the standard error of the mean.
        least: [unit] sums of the least differences that ties allow, above 0 where the run is better.
        most: [unit] of the greatest.
        sizes: [unit] queries.
        rounding: how far the mean difference can be from a limit by rounding alone.
    """

    same: bool
    identical: bool
    units: int
    clusters: int | None
    worse: int
    largest: float
    sd: float
    least: Floats
    most: Floats
    sizes: Floats
    rounding: float

    @property
    def called(self) -> str:
        """What its units are."""
        return "queries" if self.clusters is None else "clusters"

    @classmethod
    def of(
        cls, run: Scores, baseline: Scores, measure: str, clusters: Clusters | None, tolerance: float
    ) -> PairedDifference:
        """Pair the queries of two runs.

        Args:
            run: what is held against the baseline.
            baseline: of the same measures.
            measure: its text form.
            clusters: which queries belong together; None where each counts by itself.
            tolerance: of a difference that is none.
        """
        place = {query: at for at, query in enumerate(baseline.query_ids)}
        column = [str(each) for each in run.measures].index(measure)  # the same in both
        rows = np.array([place.get(query, -1) for query in run.query_ids])
        one, other = _Values.of(run, np.arange(len(rows)), column), _Values.of(baseline, rows, column)
        kept = np.flatnonzero(~np.isnan(one.expected) & ~np.isnan(other.expected) & (rows >= 0))
        one, other = (_Values(*(statistic[kept] for statistic in each)) for each in (one, other))
        codes = np.arange(len(kept)) if clusters is None else clusters.codes([run.query_ids[at] for at in kept])
        apart, units = one.expected - other.expected, QueryUnits.of(codes)
        ties = (one.sd**2 + other.sd**2).sum() / max(len(kept), 1) ** 2
        count = len(units.sizes)
        return cls(
            len(kept) > 0 and all(np.array_equal(*each, equal_nan=True) for each in zip(one, other, strict=True)),
            is_same(run, baseline),
            count,
            None if clusters is None else count,
            int((units.sums(apart) < -tolerance).sum()),
            run.measures[column].span.of_differences.high,
            math.sqrt(count * (_squared_standard_error(apart, units) + ties)),
            units.sums(one.lowest - other.highest),
            units.sums(one.highest - other.lowest),
            units.sizes,
            rounding_tolerance(*(float(np.abs(each.expected).max(initial=0.0)) for each in (one, other))),
        )


class _Values(NamedTuple):
    """Values of a run on one measure, [query], turned where less is better."""

    expected: Floats
    lowest: Floats
    highest: Floats
    sd: Floats

    @classmethod
    def of(cls, scores: Scores, rows: Ints, column: int) -> _Values:
        """Of some queries."""
        expected, lowest, highest, sd = (
            getattr(scores, name)[rows, column] for name in ("expected", "lowest", "highest", "sd")
        )
        if scores.measures[column].better == "higher":
            return cls(expected, lowest, highest, sd)
        return cls(-expected, -highest, -lowest, sd)


def _squared_standard_error(apart: Floats, units: QueryUnits) -> float:
    """Squared standard error of a mean over queries in units; NaN below two units.

    A ratio of sums where clusters differ in size; with one query each, that of a mean of independent differences.
    """
    count, total = len(units.sizes), units.sizes.sum()
    if count < 2:
        return math.nan
    residuals = units.sums(apart - apart.mean())
    return float((residuals**2).sum() * count / (count - 1) / total**2)


class DropRule(NamedTuple):
    """How drops are decided.

    Attributes:
        level: of all checks of the call together.
        checks: how many they are.
        when_unclear: whether a check that cannot tell is a "pass" or a "fail".
        bets: how the intervals are made, each at the level that one check has; None where by resampling.
    """

    level: float
    checks: int
    when_unclear: str
    bets: Bets | None = None

    @property
    def level_of_one(self) -> float:
        """The level that each check has, so that all hold together."""
        return 1 - (1 - self.level) / self.checks


def drop(row: Difference, pair: PairedDifference, limit: MaxDrop, rule: DropRule) -> Check:
    """What the joint interval of a difference says of an allowed drop.

    Args:
        row: the difference, run - baseline.
        pair: what the queries of both say.
        limit: the allowed drop.
        rule: how it is decided.
    """
    low, high = row.simultaneous_realized_interval
    if row.better == "lower":
        low, high = 0.0 - high, 0.0 - low  # 0 -: no minus zero
    known = not math.isnan(low)
    verdict = verdict_of(low, high, limit.limit, pair.rounding) if known else CANNOT_TELL
    if pair.identical or (pair.same and rule.bets is None):
        verdict = NOT_WORSE
    says_rare = verdict == NOT_WORSE and not pair.identical
    check = Check(
        limit.name,
        row.first,
        row.measure,
        limit.limit,
        or_null(row.gain),
        or_null(low),
        or_null(high),
        verdict,
        # Without an interval nothing is known, which is less than unclear.
        verdict == NOT_WORSE or (verdict == CANNOT_TELL and known and rule.when_unclear == "pass"),
        "",
        str(limit),
        row.second,
        rule.level,
        known and row.realized_bounded,
        row.queries,
        pair.clusters,
        _queries_needed(row, pair, limit, rule) if known and verdict == CANNOT_TELL else None,
        rare_losses=rare_losses(pair.worse, pair.units, pair.largest, rule.level_of_one) if says_rare else None,
        concentration=row.concentration if rule.bets is None else None,
    )
    return replace(check, line=_line(check, pair))


def _queries_needed(row: Difference, pair: PairedDifference, limit: MaxDrop, rule: DropRule) -> int | None:
    """How many queries, or clusters, would decide; None where no number does."""
    if rule.bets is not None:
        # As few as exclude the limit whatever the orders of ties are.
        sign, ends = (1, pair.least) if row.gain > -limit.limit else (-1, -pair.most)
        if not ends.sum() / pair.sizes.sum() > -sign * limit.limit:
            return None
        return units_needed(ends, pair.sizes, pair.largest, -sign * limit.limit, rule.bets, power=POWER)
    if row.realized_bounded:
        return None
    needed = queries_needed(row.gain + limit.limit, pair.sd, level=rule.level_of_one, power=POWER)
    return None if needed is None else max(needed, pair.units + 1)


def _line(check: Check, pair: PairedDifference) -> str:
    """The whole story of a check."""
    run, measure, limit = check.run, check.measure, check.option
    rare = "" if check.rare_losses is None else f" {check.rare_losses.sentence(pair.called).capitalize()}"
    if pair.same and check.verdict == NOT_WORSE:
        return f"{run}: {measure} is the same on every query as in {check.baseline}, which keeps {limit}.{rare}"
    if check.low is None or check.high is None or check.value is None:
        return f"{run}: {measure} has no interval against {check.baseline}, so {limit} cannot pass."
    bounds = ", bounded over all orders of ties," if check.bounded else ""
    span = f"the {check.level:.0%} interval of the difference [{check.low:+.4f}, {check.high:+.4f}]{bounds}"
    said = {
        NOT_WORSE: f"{span} keeps {limit}.{rare}",
        WORSE: f"{span} is beyond {limit}.",
        CANNOT_TELL: f"{span} does not decide {limit}. {_unclear(check, pair)}",
    }
    moved = "lost" if check.value < 0 else "gained"
    few = "" if check.concentration is None else f" {check.concentration.sentence(pair.called)}."
    return f"{run}: {measure} {moved} {abs(check.value):.6g} against {check.baseline}; {said[check.verdict]}{few}"


def _unclear(check: Check, pair: PairedDifference) -> str:
    """What a check that cannot tell says of itself."""
    more = "no number of queries would decide a difference at the limit"
    if check.needed is not None:
        more = f"about {check.needed:,} would decide it with a chance of {POWER:.0%}, if the difference stays"
    elif check.bounded:
        more = "more queries do not narrow the bounds that ties leave"
    end = "It passes" if check.passed else "It fails"
    return f"{pair.units:,} {pair.called} cannot tell; {more}. {end}, as --when-unclear says."
