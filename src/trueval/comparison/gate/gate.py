"""Gates: check runs against limits, and report a finding for each.

Limits and findings are data: the command, test or notebook that calls the gate decides what to do with them.

An allowed drop is decided by the joint interval [low, high] of run - baseline, in the direction in which higher is
better. It holds the uncertainty of queries and of the ties of both, and is simultaneous over all runs and measures of
the call:

    not worse      low >= -limit
    worse          high < -limit
    cannot tell    else
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trueval.comparison.budget.shared_doubt import read_budget
from trueval.comparison.checks import FAILED, Check, pass_or_fail
from trueval.comparison.choices import BOOTSTRAP, ComparisonChoices
from trueval.comparison.gate.baseline_matching import find_baseline, match_baseline, own_baseline, says_missing
from trueval.comparison.gate.corrected_checks import CorrectedChecks, check_labels, count_checks, minima
from trueval.comparison.gate.corrected_checks import drops as corrected_drops
from trueval.comparison.gate.drop_checks import DropRule, PairedDifference, drop
from trueval.comparison.gate.sample_size_checks import check_sample_size, too_few_compared
from trueval.comparison.labels.label_source import CORRECTED, PEOPLE
from trueval.comparison.limits import (
    Limit,
    MaxDrop,
    MaxRange,
    Minimum,
    MinQueries,
    check_limits,
    name_measures,
    parse_limit,
    rounding_tolerance,
)
from trueval.comparison.resampling.bounded_intervals import bets_of
from trueval.errors import InputError, PolicyError
from trueval.evaluation.scores import Scores
from trueval.numerics import or_null

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.comparison.budget.budget_result import Budget
    from trueval.comparison.compare_choices import GateChoices
    from trueval.comparison.labels.correction import CorrectedResults
    from trueval.comparison.resampling.clusters import Clusters
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
    corrected: CorrectedResults | None = None,
    labels: str = "judge",
    clusters: Clusters | Mapping[str, str] | Source | None = None,
    budget: Budget | str | PathLike[str] | None = None,
    threads: int | None = None,
    **choices: Unpack[GateChoices],
) -> tuple[Check, ...]:
    """Check runs against limits.

    Args:
        scores: scores of the runs.
        limits: limits to keep. Without MinQueries, a run must have all judged queries, 6 with a
            relevant document.
        baseline: the baseline of MaxDrop: scores, a run's name, or a folder of results (DIR#RUN).
        when_unclear: whether a check that cannot tell is a "pass" or a "fail".
        when_same: whether a run with the same rows as its baseline is a "pass" or a "fail".
        missing: how a query that a run lacks counts, "worst" or "skip"; None: such a run fails.
        corrected: results of `trueval.correct`, for these labels:
        labels: "corrected": Minimum and MaxDrop use its intervals; "people": Minimum uses people's labels alone.
        clusters: as in compare; not with corrected values.
        budget: result of `trueval.budget`: MaxDrop then holds for other repeats and judges.
        threads: as in compare.
        choices: choices of the comparison behind MaxDrop: level, intervals, resamples, seed.

    Returns:
        The findings; a run without any judged document has a single failed check.

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
    if labels == CORRECTED and choices.get("intervals", BOOTSTRAP) != BOOTSTRAP:
        raise PolicyError(
            f"intervals={choices['intervals']!r} does not go with labels={labels!r}, which has its own intervals."
        )
    if budget is not None and labels == CORRECTED:
        raise PolicyError("A budget does not go with labels='corrected', whose intervals hold for people's labels.")
    if not runs:
        raise InputError("A gate needs at least one run.")
    limits = name_measures(limits, runs[0].measures, runs[0].policy)
    found_baseline = None if baseline is None else find_baseline(baseline, runs)
    for each in runs:
        check_limits(limits, each.measures, baseline=baseline is not None)
    every = [*runs, *([] if found_baseline is None else [found_baseline])]
    if not limits:
        return ()
    if strangers := tuple(_strangers(every)):
        return strangers
    least = next((limit for limit in limits if isinstance(limit, MinQueries)), None)
    found = [
        check for run in runs for check in check_sample_size(run, limits, least, chosen=says_missing(missing, run))
    ]
    found += [check for limit in limits if isinstance(limit, MaxRange) for check in _ranges(runs, limit)]
    name = None if found_baseline is None else found_baseline.name
    judged = None
    if corrected is not None and labels in (CORRECTED, PEOPLE):
        level = float(choices.get("level", 0.95))
        judged = CorrectedChecks(corrected, labels, when_unclear, count_checks(runs, limits, labels, name), level)
    least_means = [limit for limit in limits if isinstance(limit, Minimum)]
    if judged is not None:
        found += minima(runs, least_means, judged)
    else:
        found += [check for limit in least_means for check in _minima(runs, limit)]
    drops = [limit for limit in limits if isinstance(limit, MaxDrop)]
    if drops and found_baseline is not None:
        asked: dict[str, Any] = {**choices, "clusters": clusters, "threads": threads}
        doubt = None if budget is None else read_budget(budget, runs[0].policy.to_dict())
        rules = _Rules(when_unclear, when_same, missing, least, judged if labels == CORRECTED else None, doubt)
        said = {check.run for check in found if check.name in ("queries", "relevant") and not check.passed}
        told = _drops(runs, found_baseline, drops, asked, rules)
        found += [check for check in told if check.name != "queries" or check.run not in said]
    return tuple(found)


class _Rules(NamedTuple):
    """How a comparison with the baseline is decided, other than its limits: arguments of `gate`."""

    when_unclear: str
    when_same: str
    missing: str | None
    least: MinQueries | None
    judged: CorrectedChecks | None = None
    budget: Budget | None = None


def check_choice(name: str, value: str | None, accepted: Sequence[str]) -> None:
    """Refuse a choice that is not accepted.

    Raises:
        PolicyError: it is not one of those.
    """
    if value not in accepted:
        raise PolicyError(f"{name} must be one of {', '.join(accepted)}. Got {value!r}.")


def mismatch(scores: Scores) -> str:
    """The kind of ids of a run that are all missing from the judgments, so that its values are meaningless.

    Returns:
        The end of a sentence, empty where something is judged.
    """
    if len(scores.missing_queries) >= len(scores.query_ids):
        return "no query of the run is judged and has a document in its list"
    return "no retrieved document is judged" if scores.matched == 0 else ""


def measures_of_limits(limits: Iterable[MaxDrop], scores: Scores) -> list[Measure]:
    """The measures named by the limits: others may have no interval."""
    named = {limit.measure for limit in limits}
    return [measure for measure in scores.measures if None in named or str(measure) in named]


def _strangers(scores: Iterable[Scores]) -> Iterator[Check]:
    """One failed check per run whose ids the judgments do not know."""
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
            passed = found is not None and found <= limit.limit + rounding_tolerance(mean.lowest, mean.highest)
            if found is None:
                line = f"{what} not available, so {limit} cannot pass."
            else:
                line = f"{what} {found:.6g}, {'not above' if passed else 'above'} {limit}."
            numbers = limit.limit, found, or_null(mean.lowest), or_null(mean.highest)
            yield Check(limit.name, run.name, name, *numbers, pass_or_fail(passed), passed, line, str(limit))


def _minima(scores: Iterable[Scores], limit: Minimum) -> Iterator[Check]:
    for run in scores:
        mean, within = run.mean(limit.measure or ""), _within(run, limit.measure or "")
        found, least = or_null(mean.expected), limit.limit - rounding_tolerance(limit.limit)
        passed = found is not None and found - within >= least
        line = f"{run.name}: {limit.measure} has no value, so {limit} fails."
        if found is not None:
            told = f"{run.name}: {limit.measure} is {found:.6g}"
            line = f"{told}, {'not ' if passed else ''}below {limit}."
            if not passed and found + within >= least:
                line = f"{told}, or up to {within:.6g} less or more, as ties leave it: that may be below {limit}."
        numbers = limit.limit, found, or_null(mean.lowest), or_null(mean.highest)
        verdict = pass_or_fail(passed)
        yield Check(
            limit.name, run.name, limit.measure, *numbers, verdict, passed, line, str(limit), bounded=bool(within)
        )


def _within(run: Scores, measure: str) -> float:
    """Maximum error of a mean expectation that is the middle of bounds; else 0."""
    return run.details[run.index(measure)].get("expected_within", 0.0) if run.details else 0.0


def _drops(
    runs: Sequence[Scores], baseline: Scores, limits: Sequence[MaxDrop], choices: dict[str, Any], rules: _Rules
) -> Iterator[Check]:
    """The checks of allowed drops, after the failed checks of runs that cannot be compared on all queries."""
    from trueval.comparison.compare import compare_scores
    from trueval.comparison.resampling.clusters import Clusters

    others = [each for each in runs if each is not baseline]
    if not others:
        yield own_baseline(baseline, baseline)
        return
    sides = match_baseline(others, baseline, measures_of_limits(limits, others[0]), rules.missing, rules.least)
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
    by_name, count = {run.name: run for run in sides.runs}, len(compared.differences)
    chosen = ComparisonChoices(
        **{name: value for name, value in choices.items() if name in ComparisonChoices.__dataclass_fields__}
    )
    pairs = [
        PairedDifference.of(by_name[row.first], sides.baseline, row.measure, clusters, chosen.tolerance)
        for row in compared.differences
    ]
    bets = bets_of(chosen, clusters, 1)
    bets = None if bets is None else bets._replace(alpha=bets.alpha / count)
    rule = DropRule(chosen.level, count, rules.when_unclear, bets, rules.budget)
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
                yield drop(row, pair, limit, rule)
