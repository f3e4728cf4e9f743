"""Checks of an allowed drop: what the joint interval of run - baseline says, and what few queries cannot tell."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueval.comparison.against import is_same
from trueval.comparison.checks import CANNOT_TELL, NOT_WORSE, POWER, WORSE, Check
from trueval.comparison.limits import ROUNDING, MaxDrop
from trueval.comparison.power import queries_needed
from trueval.comparison.rare_losses import rare_losses
from trueval.evaluation.scores import STATISTICS, Scores
from trueval.numerics import or_null
from trueval.standings.standings import Floats, Ints

if TYPE_CHECKING:
    from trueval.comparison.clusters import Clusters
    from trueval.comparison.comparison import Difference


def verdict_of(low: float, high: float, limit: float) -> str:
    """What an interval of run - baseline says of an allowed drop.

    >>> verdict_of(-0.02, 0.01, 0.05), verdict_of(-0.02, 0.01, 0.0), verdict_of(-0.02, -0.01, 0.0)
    ('not worse', 'cannot tell', 'worse')
    """
    if low >= -limit - ROUNDING:
        return NOT_WORSE
    return WORSE if high < -limit - ROUNDING else CANNOT_TELL


class Paired(NamedTuple):
    """What the queries that two runs have in common say about their difference on one measure.

    Attributes:
        same: whether no query tells the two apart.
        identical: whether the run holds the rows of its baseline.
        units: how many queries, or clusters of them.
        clusters: how many clusters; None where there are none.
        worse: units on which the run is worse.
        largest: the largest loss that a query can have; infinite where the measure sets no limit.
        sd: of a difference between units, ties included: sqrt(units) times the standard error of the mean.
    """

    same: bool
    identical: bool
    units: int
    clusters: int | None
    worse: int
    largest: float
    sd: float

    @property
    def called(self) -> str:
        """What its units are."""
        return "queries" if self.clusters is None else "clusters"

    @classmethod
    def of(cls, run: Scores, baseline: Scores, measure: str, clusters: Clusters | None, tolerance: float) -> Paired:
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
        one = {name: getattr(run, name)[:, column] for name in STATISTICS}
        other = {name: getattr(baseline, name)[rows, column] for name in STATISTICS}
        kept = ~np.isnan(one["expected"]) & ~np.isnan(other["expected"]) & (rows >= 0)
        apart, count = (one["expected"] - other["expected"])[kept], int(kept.sum())
        ids = [query for query, counts in zip(run.query_ids, kept.tolist(), strict=True) if counts]
        codes = np.unique(np.arange(count) if clusters is None else clusters.codes(ids), return_inverse=True)[1]
        same = count > 0 and all(
            np.array_equal(one[name][kept], other[name][kept], equal_nan=True)
            for name in STATISTICS
            if name != "tie_broken"
        )
        definition, units = run.measures[column], int(codes.max(initial=-1)) + 1
        lost = np.bincount(codes, weights=apart) * (-1 if definition.better == "higher" else 1)
        ties = (one["sd"][kept] ** 2 + other["sd"][kept] ** 2).sum() / max(count, 1) ** 2
        return cls(
            same,
            is_same(run, baseline),
            units,
            None if clusters is None else units,
            int((lost > tolerance).sum()),
            definition.span.of_differences.high,
            math.sqrt(units * (_squared_error(apart, codes) + ties)),
        )


def _squared_error(apart: Floats, codes: Ints) -> float:
    """Squared standard error of a mean over queries in units; NaN below two units.

    A ratio of sums where clusters differ in size; with one query each, that of a mean of independent differences.
    """
    sizes, residuals = np.bincount(codes), np.bincount(codes, weights=apart - apart.sum() / max(len(apart), 1))
    units = len(sizes)
    return float((residuals**2).sum() * units / (units - 1) / sizes.sum() ** 2) if units > 1 else math.nan


def drop(row: Difference, pair: Paired, limit: MaxDrop, level: float, checks: int, when_unclear: str) -> Check:
    """What the joint interval of a difference says of an allowed drop.

    Args:
        row: the difference, run - baseline.
        pair: what the queries of both say.
        limit: the allowed drop.
        level: of all checks of the call together.
        checks: how many they are.
        when_unclear: whether a check that cannot tell is a "pass" or a "fail".
    """
    low, high = row.simultaneous_realized_interval
    if row.better == "lower":
        low, high = 0.0 - high, 0.0 - low  # 0 -: no minus zero
    known = not math.isnan(low)
    verdict = NOT_WORSE if pair.same else verdict_of(low, high, limit.limit) if known else CANNOT_TELL
    # Simultaneous over the checks: of a level that is shared out between them.
    shared, needed = 1 - (1 - level) / checks, None
    if known and verdict == CANNOT_TELL and not row.realized_bounded:
        needed = queries_needed(row.gain + limit.limit, pair.sd, level=shared, power=POWER)
        needed = None if needed is None else max(needed, pair.units + 1)
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
        verdict == NOT_WORSE or (verdict == CANNOT_TELL and known and when_unclear == "pass"),
        "",
        str(limit),
        row.second,
        level,
        known and row.realized_bounded,
        row.queries,
        pair.clusters,
        needed,
        rare_losses=rare_losses(pair.worse, pair.units, pair.largest, shared) if says_rare else None,
    )
    return replace(check, line=_line(check, pair))


def _line(check: Check, pair: Paired) -> str:
    """The whole story of a check."""
    run, measure, limit = check.run, check.measure, check.option
    rare = "" if check.rare_losses is None else f" {check.rare_losses.sentence(pair.called).capitalize()}"
    if pair.same:
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
    return f"{run}: {measure} {moved} {abs(check.value):.6g} against {check.baseline}; {said[check.verdict]}"


def _unclear(check: Check, pair: Paired) -> str:
    """What a check that cannot tell says of itself."""
    more = "no number of queries would decide a difference at the limit"
    if check.bounded:
        more = "more queries do not narrow the bounds that ties leave"
    elif check.needed is not None:
        more = f"about {check.needed:,} would decide it with a chance of {POWER:.0%}, if the difference stays"
    end = "It passes" if check.passed else "It fails"
    return f"{pair.units:,} {pair.called} cannot tell; {more}. {end}, as --when-unclear says."
