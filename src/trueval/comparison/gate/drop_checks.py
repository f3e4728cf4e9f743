"""Checks of an allowed drop by the joint interval of run - baseline, and what few queries cannot exclude."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueval.comparison.budget.shared_doubt import shared_doubt
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
    from trueval.comparison.budget.budget_result import Budget
    from trueval.comparison.comparison import Difference
    from trueval.comparison.resampling.clusters import Clusters


def verdict_of(low: float, high: float, limit: float, within: float = ROUNDING) -> str:
    """The verdict on an allowed drop from an interval of run - baseline.

    Args:
        low: lower end of the interval.
        high: upper end.
        within: how far rounding alone can move an end from the limit.

    >>> verdict_of(-0.02, 0.01, 0.05), verdict_of(-0.02, 0.01, 0.0), verdict_of(-0.02, -0.01, 0.0)
    ('not worse', 'cannot tell', 'worse')
    """
    if low >= -limit - within:
        return NOT_WORSE
    return WORSE if high < -limit - within else CANNOT_TELL


class PairedDifference(NamedTuple):
    """The paired differences of two runs on one measure, over the queries they share.

    Attributes:
        same: whether the two runs have equal values on every query.
        identical: whether the run holds the same rows as its baseline.
        units: number of queries, or of clusters of them.
        clusters: number of clusters; None if there are none.
        worse: number of units on which the run is worse.
        largest: the largest loss possible on a query; infinite where the measure is unbounded.
        sd: standard deviation between units, ties included: sqrt(units) times the standard error of the mean
            difference.
        least: [unit] sums of the lowest differences over tie orders, above 0 where the run is better.
        most: [unit] sums of the highest.
        sizes: [unit] number of queries.
        rounding: how far rounding alone can move the mean difference from a limit.
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
    def unit_name(self) -> str:
        """The word for its units: queries or clusters."""
        return "queries" if self.clusters is None else "clusters"

    @classmethod
    def of(
        cls, run: Scores, baseline: Scores, measure: str, clusters: Clusters | None, tolerance: float
    ) -> PairedDifference:
        """Pair the queries of two runs.

        Args:
            run: scores of the run.
            baseline: scores of the baseline on the same measures.
            measure: the measure's text form.
            clusters: which queries belong together; None where each query is its own cluster.
            tolerance: differences up to this value count as none.
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
    """Values of a run on one measure, [query], negated where lower is better."""

    expected: Floats
    lowest: Floats
    highest: Floats
    sd: Floats

    @classmethod
    def of(cls, scores: Scores, rows: Ints, column: int) -> _Values:
        """The values of some queries."""
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
    """How allowed drops are decided.

    Attributes:
        level: simultaneous level of all checks of the call.
        when_unclear: whether a check that cannot tell is a "pass" or a "fail".
        bets: how intervals are made by betting, each at the level of one check; None where by resampling.
        budget: what repeats and labels vary by, which intervals then include; None for intervals over queries.
    """

    level: float
    checks: int
    when_unclear: str
    bets: Bets | None = None
    budget: Budget | None = None

    @property
    def level_of_one(self) -> float:
        """The level of each check at which all hold simultaneously."""
        return 1 - (1 - self.level) / self.checks


def drop(row: Difference, pair: PairedDifference, limit: MaxDrop, rule: DropRule) -> Check:
    """Check an allowed drop by the joint interval of a difference.

    Args:
        row: the difference, run - baseline.
        pair: the paired differences per query.
        rule: how it is decided.
    """
    low, high = row.simultaneous_realized_interval
    if row.better == "lower":
        low, high = 0.0 - high, 0.0 - low  # 0 -: no minus zero
    known = not math.isnan(low)
    added = None
    if known and rule.budget is not None:
        doubt = shared_doubt(rule.budget, row.measure, row.first, row.second)
        added = doubt.half_width(rule.level_of_one)
        low, high = doubt.widen(row.gain, low, high, rule.level_of_one)
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
        # Without an interval nothing is known, so this is not a case of "cannot tell".
        verdict == NOT_WORSE or (verdict == CANNOT_TELL and known and rule.when_unclear == "pass"),
        "",
        str(limit),
        row.second,
        rule.level,
        known and row.realized_bounded,
        row.queries,
        pair.clusters,
        _queries_needed(row, pair, limit, rule, added or 0.0) if known and verdict == CANNOT_TELL else None,
        rare_losses=rare_losses(pair.worse, pair.units, pair.largest, rule.level_of_one) if says_rare else None,
        concentration=row.concentration if rule.bets is None else None,
        shared=added,
    )
    return replace(check, line=_line(check, pair))


def _queries_needed(
    row: Difference, pair: PairedDifference, limit: MaxDrop, rule: DropRule, added: float
) -> int | None:
    """Number of queries, or clusters, that would decide; None if no number would.

    Args:
        added: half width of what more queries leave.
    """
    apart = row.gain + limit.limit
    if abs(apart) <= added:
        return None
    if rule.bets is not None:
        # The smallest number that excludes the limit under any tie order.
        sign, ends = (1, pair.least) if row.gain > -limit.limit else (-1, -pair.most)
        if not ends.sum() / pair.sizes.sum() > -sign * limit.limit:
            return None
        return units_needed(ends, pair.sizes, pair.largest, -sign * limit.limit, rule.bets, power=POWER)
    if row.realized_bounded:
        return None
    needed = queries_needed(math.sqrt(apart**2 - added**2), pair.sd, level=rule.level_of_one, power=POWER)
    return None if needed is None else max(needed, pair.units + 1)


def _line(check: Check, pair: PairedDifference) -> str:
    """The finding of a check in words."""
    run, measure, limit = check.run, check.measure, check.option
    rare = "" if check.rare_losses is None else f" {check.rare_losses.sentence(pair.unit_name).capitalize()}"
    if pair.same and check.verdict == NOT_WORSE:
        return f"{run}: {measure} is the same on every query as in {check.baseline}, which keeps {limit}.{rare}"
    if check.low is None or check.high is None or check.value is None:
        return f"{run}: {measure} has no interval against {check.baseline}, so {limit} cannot pass."
    about = ["bounded over all orders of ties"] * check.bounded
    about += [f"with ±{check.shared:.4f} of repeats and labels"] if check.shared is not None else []
    bounds = f", {', '.join(about)}," if about else ""
    span = f"the {check.level:.0%} interval of the difference [{check.low:+.4f}, {check.high:+.4f}]{bounds}"
    said = {
        NOT_WORSE: f"{span} keeps {limit}.{rare}",
        WORSE: f"{span} is beyond {limit}.",
        CANNOT_TELL: f"{span} does not decide {limit}. {_unclear(check, pair)}",
    }
    moved = "lost" if check.value < 0 else "gained"
    few = "" if check.concentration is None else f" {check.concentration.sentence(pair.unit_name)}."
    return f"{run}: {measure} {moved} {abs(check.value):.6g} against {check.baseline}; {said[check.verdict]}{few}"


def _unclear(check: Check, pair: PairedDifference) -> str:
    """The explanation of a check that cannot tell."""
    more = "no number of queries would decide a difference at the limit"
    if check.needed is not None:
        more = f"about {check.needed:,} would decide it with a chance of {POWER:.0%}, if the difference stays"
    elif check.bounded:
        more = "more queries do not narrow the bounds that ties leave"
    end = "It passes" if check.passed else "It fails"
    return f"{pair.units:,} {pair.unit_name} cannot tell; {more}. {end}, as --when-unclear says."
