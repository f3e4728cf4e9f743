"""Gates: runs held against limits, and what was found about each.

The limits are data, and so are the findings: a command, a test or a notebook decides what to do with them.

A drop is told by the joint interval [low, high] of run - baseline, in the direction in which more is better. It holds
the uncertainty of queries and of the ties of both, and is simultaneous over all runs and measures of the call:

    not worse      low >= -limit
    worse          high < -limit
    cannot tell    else
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trueval.comparison.against import against, find_baseline, own_baseline, says_missing
from trueval.comparison.checks import CANNOT_TELL, FAILED, NOT_WORSE, POWER, WORSE, Check, passed_or_failed
from trueval.comparison.corrected_checks import Judged, check_labels, count_checks, minima
from trueval.comparison.corrected_checks import drops as corrected_drops
from trueval.comparison.enough import enough, too_few_compared
from trueval.comparison.labels import CORRECTED, PEOPLE
from trueval.comparison.limits import (
    ROUNDING,
    Limit,
    MaxDrop,
    MaxRange,
    Minimum,
    MinQueries,
    check_limits,
    parse_limit,
    rounding,
)
from trueval.comparison.power import queries_needed
from trueval.errors import InputError, PolicyError
from trueval.evaluation.scores import STATISTICS, Scores
from trueval.numerics import or_null

if TYPE_CHECKING:
    from trueval.comparison.clusters import Clusters
    from trueval.comparison.comparison import Difference
    from trueval.comparison.corrected import Corrected
    from trueval.files import Source
    from trueval.measures import Measure

__all__ = [
    "Check",
    "Limit",
    "MaxDrop",
    "MaxRange",
    "MinQueries",
    "Minimum",
    "check_limits",
    "gate",
    "mismatch",
    "parse_limit",
]

PASS_OR_FAIL: Final = ("pass", "fail")


def gate(
    scores: Scores | Sequence[Scores],
    limits: Iterable[Limit],
    *,
    baseline: Scores | str | PathLike[str] | None = None,
    when_unclear: str = "pass",
    when_same: str = "fail",
    missing: str | None = None,
    corrected: Corrected | None = None,
    labels: str = "judge",
    clusters: Clusters | Mapping[str, str] | Source | None = None,
    threads: int | None = None,
    **choices: Any,
) -> tuple[Check, ...]:
    """Hold runs against limits.

    Args:
        scores: of the runs.
        limits: what they must keep. Without MinQueries, all judged queries, 6 of them with something to find.
        baseline: what MaxDrop compares with: scores, a run's name, or a folder of results (DIR#RUN).
        when_unclear: whether a check that cannot tell is a "pass" or a "fail".
        when_same: whether a run with the rows of its baseline is a "pass" or a "fail".
        missing: what a query that a run lacks counts as, "worst" or "skip"; None: a lack fails.
        corrected: of `trueval.correct`, for these labels:
        labels: "corrected": Minimum and MaxDrop look at its intervals; "people": Minimum at people's alone.
        clusters: as in compare; not of corrected values.
        threads: as in compare.
        choices: of the comparison behind MaxDrop: level, resamples, seed.

    Returns:
        What was found; where the judgments know nothing of a run, that alone, and it fails.

    Raises:
        InputError: there is no run, or no such baseline.
        MeasureError: a measure has no interval, as geometric means.
        PolicyError: a limit is of another measure, or MaxDrop or labels lack what they need.

    >>> from trueval import Judgments, Run, evaluate
    >>> run = Run.from_dict({f"q{query}": {"a": 1.0, "b": 1.0} for query in range(6)}, name="tied")
    >>> judgments = Judgments.from_dict({f"q{query}": {"a": 1} for query in range(6)})
    >>> check, = gate(evaluate(run, judgments, "RR"), [MaxRange(None, 0.02)])
    >>> check.passed, check.line
    (False, 'tied: the range of RR is 0.5, above --max-range 0.02.')
    """
    runs, limits = [scores] if isinstance(scores, Scores) else list(scores), tuple(limits)
    check_choice("when_unclear", when_unclear, PASS_OR_FAIL)
    check_choice("when_same", when_same, PASS_OR_FAIL)
    check_labels(labels, corrected)
    if not runs:
        raise InputError("A gate needs at least one run.")
    found_baseline = None if baseline is None else find_baseline(baseline, runs)
    for each in runs:
        check_limits(limits, each.measures, baseline=baseline is not None)
    every = [*runs, *([] if found_baseline is None else [found_baseline])]
    if not limits:
        return ()
    if strangers := tuple(_strangers(every)):
        return strangers
    least = next((limit for limit in limits if isinstance(limit, MinQueries)), None)
    found = [check for run in runs for check in enough(run, limits, least, chosen=says_missing(missing, run))]
    found += [check for limit in limits if isinstance(limit, MaxRange) for check in _ranges(runs, limit)]
    name = None if found_baseline is None else found_baseline.name
    judged = None
    if corrected is not None and labels in (CORRECTED, PEOPLE):
        level = float(choices.get("level", 0.95))
        judged = Judged(corrected, labels, when_unclear, count_checks(runs, limits, labels, name), level)
    least_means = [limit for limit in limits if isinstance(limit, Minimum)]
    if judged is not None:
        found += minima(runs, least_means, judged)
    else:
        found += [check for limit in least_means for check in _minima(runs, limit)]
    drops = [limit for limit in limits if isinstance(limit, MaxDrop)]
    if drops and found_baseline is not None:
        asked = {**choices, "clusters": clusters, "threads": threads}
        rules = _Rules(when_unclear, when_same, missing, least, judged if labels == CORRECTED else None)
        said = {check.run for check in found if check.name in ("queries", "relevant") and not check.passed}
        told = _drops(runs, found_baseline, drops, asked, rules)
        found += [check for check in told if check.name != "queries" or check.run not in said]
    return tuple(found)


class _Rules(NamedTuple):
    """What decides a comparison with the baseline beside its limits: arguments of `gate`."""

    when_unclear: str
    when_same: str
    missing: str | None
    least: MinQueries | None
    judged: Judged | None = None


def check_choice(name: str, value: str | None, accepted: Sequence[str]) -> None:
    """Refuse a choice that is not accepted.

    Raises:
        PolicyError: it is not one of those.
    """
    if value not in accepted:
        raise PolicyError(f"{name} must be one of {', '.join(accepted)}. Got {value!r}.")


def mismatch(scores: Scores) -> str:
    """What of a run the judgments do not know at all, so that its numbers say nothing and no gate may pass.

    Returns:
        The end of a sentence, empty where something is judged.
    """
    if len(scores.missing_queries) >= len(scores.query_ids):
        return "no query of the run is judged and has a document in its list"
    return "no retrieved document is judged" if scores.matched == 0 else ""


def asked_of(limits: Iterable[MaxDrop], scores: Scores) -> list[Measure]:
    """The measures that some limit is about: others may have no interval at all."""
    named = {limit.measure for limit in limits}
    return [measure for measure in scores.measures if None in named or str(measure) in named]


def verdict_of(low: float, high: float, limit: float) -> str:
    """What an interval of run - baseline says of an allowed drop.

    >>> verdict_of(-0.02, 0.01, 0.05), verdict_of(-0.02, 0.01, 0.0), verdict_of(-0.02, -0.01, 0.0)
    ('not worse', 'cannot tell', 'worse')
    """
    if low >= -limit - ROUNDING:
        return NOT_WORSE
    return WORSE if high < -limit - ROUNDING else CANNOT_TELL


def _strangers(scores: Iterable[Scores]) -> Iterator[Check]:
    """A failed check for each run whose ids the judgments do not know."""
    for each in {id(one): one for one in scores}.values():  # a baseline may be one of the runs
        if why := mismatch(each):
            line = f"{each.name}: {why}, so no gate can pass. Are the ids the same?"
            yield Check("judged", each.name, None, None, None, None, None, FAILED, False, line, "any gate")


def _ranges(scores: Iterable[Scores], limit: MaxRange) -> Iterator[Check]:
    for run in scores:
        for name, mean in run.means().items():
            if limit.measure not in (None, name):
                continue
            found, what = or_null(mean.range), f"{run.name}: the range of {name} is"
            passed = found is not None and found <= limit.limit + rounding(mean.lowest, mean.highest)
            if found is None:
                line = f"{what} not available, so {limit} cannot pass."
            else:
                line = f"{what} {found:.6g}, {'not above' if passed else 'above'} {limit}."
            numbers = limit.limit, found, or_null(mean.lowest), or_null(mean.highest)
            yield Check(limit.name, run.name, name, *numbers, passed_or_failed(passed), passed, line, str(limit))


def _minima(scores: Iterable[Scores], limit: Minimum) -> Iterator[Check]:
    for run in scores:
        mean, within = run.mean(limit.measure or ""), _within(run, limit.measure or "")
        found, least = or_null(mean.expected), limit.limit - rounding(limit.limit)
        passed = found is not None and found - within >= least
        line = f"{run.name}: {limit.measure} has no value, so {limit} fails."
        if found is not None:
            told = f"{run.name}: {limit.measure} is {found:.6g}"
            line = f"{told}, {'not ' if passed else ''}below {limit}."
            if not passed and found + within >= least:
                line = f"{told}, or up to {within:.6g} less or more, as ties leave it: that may be below {limit}."
        numbers = limit.limit, found, or_null(mean.lowest), or_null(mean.highest)
        verdict = passed_or_failed(passed)
        yield Check(
            limit.name, run.name, limit.measure, *numbers, verdict, passed, line, str(limit), bounded=bool(within)
        )


def _within(run: Scores, measure: str) -> float:
    """How far the mean of a measure can be from its expectation, where that is the middle of bounds; else 0."""
    return run.details[run.index(measure)].get("expected_within", 0.0) if run.details else 0.0


def _drops(
    runs: Sequence[Scores], baseline: Scores, limits: Sequence[MaxDrop], choices: dict[str, Any], rules: _Rules
) -> Iterator[Check]:
    """The checks of allowed drops, after those that say why some run cannot be compared, or not on all queries."""
    from trueval.comparison.clusters import Clusters
    from trueval.comparison.compare import compare_scores

    others = [each for each in runs if each is not baseline]
    if not others:
        yield own_baseline(baseline, baseline)
        return
    sides = against(others, baseline, asked_of(limits, others[0]), rules.missing, rules.least)
    yield from (*sides.refused, *(sides.same if rules.when_same == "fail" else ()), *sides.unlike)
    if not sides.runs:
        return
    if rules.judged is not None:
        yield from corrected_drops(sides.runs, baseline.name, limits, rules.judged)
        return
    clusters = choices["clusters"] = Clusters.of(choices["clusters"])
    compared = compare_scores(
        [*sides.runs, sides.baseline], baseline=sides.baseline.name, **{**choices, "family": "all"}
    )
    by_name, level = {run.name: run for run in sides.runs}, float(str(compared.choices["level"]))
    pairs = [_Paired.of(by_name[row.first], sides.baseline, row.measure, clusters) for row in compared.differences]
    for name in by_name:
        own = [
            (row.queries, pair.clusters)
            for row, pair in zip(compared.differences, pairs, strict=True)
            if row.first == name
        ]
        if few := too_few_compared(name, sides.baseline.name, *min(own), rules.least):
            yield few
    for limit in limits:
        for row, pair in zip(compared.differences, pairs, strict=True):
            if limit.measure in (None, row.measure):
                yield _drop(row, pair, limit, level, len(compared.differences), rules.when_unclear)


class _Paired(NamedTuple):
    """What the queries that two runs have in common say about their difference on one measure.

    Attributes:
        same: whether no query tells the two apart.
        units: how many queries, or clusters of them.
        clusters: how many clusters; None where there are none.
        sd: of a difference between units, ties included: sqrt(units) times the standard error of the mean.
    """

    same: bool
    units: int
    clusters: int | None
    sd: float

    @classmethod
    def of(cls, run: Scores, baseline: Scores, measure: str, clusters: Clusters | None) -> _Paired:
        """Pair the queries of two runs."""
        place = {query: at for at, query in enumerate(baseline.query_ids)}
        column = [str(each) for each in run.measures].index(measure)  # the same in both
        rows = np.array([place.get(query, -1) for query in run.query_ids])
        one = {name: getattr(run, name)[:, column] for name in STATISTICS}
        other = {name: getattr(baseline, name)[rows, column] for name in STATISTICS}
        kept = ~np.isnan(one["expected"]) & ~np.isnan(other["expected"]) & (rows >= 0)
        apart, count = (one["expected"] - other["expected"])[kept], int(kept.sum())
        ids = [query for query, counts in zip(run.query_ids, kept.tolist(), strict=True) if counts]
        codes = np.arange(count) if clusters is None else clusters.codes(ids)
        units = len(np.unique(codes))
        same = count > 0 and all(
            np.array_equal(one[name][kept], other[name][kept], equal_nan=True)
            for name in STATISTICS
            if name != "tie_broken"
        )
        if units < 2:
            return cls(same, units, None if clusters is None else units, math.nan)
        # A ratio of sums where clusters differ in size; with one query each, the standard deviation of differences.
        sizes, residuals = np.bincount(codes), np.bincount(codes, weights=apart - apart.mean())
        ties = (one["sd"][kept] ** 2 + other["sd"][kept] ** 2).sum() / count**2
        error = (residuals**2).sum() * units / (units - 1) / sizes.sum() ** 2 + ties
        return cls(same, units, None if clusters is None else units, math.sqrt(units * error))


def _drop(row: Difference, pair: _Paired, limit: MaxDrop, level: float, checks: int, when_unclear: str) -> Check:
    """What the joint interval of a difference says of an allowed drop."""
    low, high = row.simultaneous_realized_interval
    if row.better == "lower":
        low, high = 0.0 - high, 0.0 - low  # 0 -: no minus zero
    known, needed = not math.isnan(low), None
    verdict = NOT_WORSE if pair.same else verdict_of(low, high, limit.limit) if known else CANNOT_TELL
    # Without an interval nothing is known, which is less than unclear.
    passed = verdict == NOT_WORSE or (verdict == CANNOT_TELL and known and when_unclear == "pass")
    if known and verdict == CANNOT_TELL and not row.realized_bounded:
        # Simultaneous over the checks: of a level that is shared out between them.
        shared = 1 - (1 - level) / checks
        needed = queries_needed(row.gain + limit.limit, pair.sd, level=shared, power=POWER)
        needed = None if needed is None else max(needed, pair.units + 1)
    what = f"{row.first}: {row.measure} {'lost' if row.gain < 0 else 'gained'} {abs(row.gain):.6g} against {row.second}"
    line = f"{row.first}: {row.measure} has no interval against {row.second}, so {limit} cannot pass."
    if pair.same:
        line = f"{row.first}: {row.measure} is the same on every query as in {row.second}, which keeps {limit}."
    elif known:
        bounds = ", bounded over all orders of ties," if row.realized_bounded else ""
        span = f"the {level:.0%} interval of the difference [{low:+.4f}, {high:+.4f}]{bounds}"
        said = {
            NOT_WORSE: f"{span} keeps {limit}.",
            WORSE: f"{span} is beyond {limit}.",
            CANNOT_TELL: f"{span} does not decide {limit}. {_unclear(pair, needed, row, passed)}",
        }
        line = f"{what}; {said[verdict]}"
    numbers = (limit.limit, or_null(row.gain), or_null(low), or_null(high))
    return Check(
        limit.name,
        row.first,
        row.measure,
        *numbers,
        verdict,
        passed,
        line,
        str(limit),
        row.second,
        level,
        known and row.realized_bounded,
        row.queries,
        pair.clusters,
        needed,
    )


def _unclear(pair: _Paired, needed: int | None, row: Difference, passed: bool) -> str:
    """What a check that cannot tell says of itself."""
    units = "queries" if pair.clusters is None else "clusters"
    more = "no number of queries would decide a difference at the limit"
    if row.realized_bounded:
        more = "more queries do not narrow the bounds that ties leave"
    elif needed is not None:
        more = f"about {needed:,} would decide it with a chance of {POWER:.0%}, if the difference stays"
    end = "It passes" if passed else "It fails"
    return f"{pair.units:,} {units} cannot tell; {more}. {end}, as --when-unclear says."
