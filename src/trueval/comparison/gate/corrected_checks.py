"""Gate checks on values corrected by people's labels, in place of the judge's values.

    value >= limit of --min, or run - baseline >= -limit of --max-drop:
    passed, not worse      the whole interval says so
    failed, worse          the whole interval says the contrary
    cannot tell            else

Intervals are those of labels/design_estimate.py, at a level that is divided among all such checks of a call
(Bonferroni), so that they hold simultaneously. They are of expected values: --max-range reports the spread over tie
orders.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from trueval.comparison.checks import CANNOT_TELL, FAILED, NOT_WORSE, PASSED, POWER, WORSE, Check
from trueval.comparison.gate.drop_checks import verdict_of
from trueval.comparison.labels.audit_planning import fewest
from trueval.comparison.labels.correction import CorrectedResults, Correction
from trueval.comparison.labels.design_estimate import interval
from trueval.comparison.labels.label_source import CORRECTED, PEOPLE
from trueval.comparison.limits import MaxDrop, Minimum, rounding_tolerance
from trueval.errors import InputError, PolicyError
from trueval.evaluation.corrected_values import EstimateWithInterval
from trueval.evaluation.scores import Scores
from trueval.measures import parse
from trueval.measures.span import ANYTHING, ValueRange
from trueval.numerics import or_null

# Names of the values in sentences.
CALLED: Final = {CORRECTED: "corrected by people's labels", PEOPLE: "by people's labels alone"}


@dataclass(frozen=True)
class CorrectedChecks:
    """Settings of the checks other than their limits.

    Attributes:
        corrected: corrected values of the runs, and of their baseline where there is one.
        labels: "corrected" or "people".
        when_unclear: whether a check that cannot tell is a "pass" or a "fail".
        checks: number of checks that share 1 - level.
        level: simultaneous level of all checks.
    """

    corrected: CorrectedResults
    labels: str
    when_unclear: str
    checks: int = 1
    level: float = 0.95

    def value(self, correction: Correction) -> EstimateWithInterval:
        """The corrected value or people's, whichever the checks use."""
        return correction.corrected if self.labels == CORRECTED else correction.people

    def interval(self, value: EstimateWithInterval, span: ValueRange = ANYTHING) -> tuple[float, float]:
        """The interval of a value at the level of one check.

        Args:
            value: a value with a standard error.
            span: range of the values, or differences, of queries.

        >>> results = CorrectedResults("queries", "new queries", 0.95, (), (), (), {})
        >>> one = CorrectedChecks(results, "corrected", "pass", checks=2)
        >>> [round(end, 3) for end in one.interval(EstimateWithInterval(0.5, 0.0, 1.0, 0.1, 20.0))]
        [0.258, 0.742]
        """
        if math.isnan(value.se):
            return math.nan, math.nan
        found = interval(value.estimate, value.se**2, value.degrees, self.level_of_one, span)
        return found.low, found.high

    @property
    def level_of_one(self) -> float:
        """The level of each check at which all hold simultaneously."""
        return 1 - (1 - self.level) / self.checks


def check_labels(labels: str, corrected: CorrectedResults | None) -> None:
    """Refuse a gate on corrected values where none are given.

    Raises:
        PolicyError: corrected values are asked for and none are given.
    """
    if labels in (CORRECTED, PEOPLE) and corrected is None:
        raise PolicyError(
            f"labels={labels!r} needs corrected=, what trueval.correct(runs, judgments, audited, measures) returns."
        )


def minima(runs: Sequence[Scores], limits: Iterable[Minimum], judged: CorrectedChecks) -> Iterator[Check]:
    """One check per run and --min.

    Args:
        runs: runs to check.
        judged: corrected values and the level of the checks.
    """
    for limit in limits:
        for run in runs:
            found = _of(judged, run.name, limit.measure or "")
            low, high = judged.interval(judged.value(found), found.span)
            verdict, least = CANNOT_TELL, limit.limit - rounding_tolerance(limit.limit)
            if not math.isnan(low):
                verdict = PASSED if low >= least else FAILED if high < least else CANNOT_TELL
            yield _check(limit, found, judged, verdict, judged.value(found).estimate, (low, high))


def drops(runs: Sequence[Scores], baseline: str, limits: Iterable[MaxDrop], judged: CorrectedChecks) -> Iterator[Check]:
    """One check per run, measure and --max-drop.

    Args:
        runs: runs to check, without the baseline.
        baseline: name of the baseline.
        judged: corrected values and the level of the checks.
    """
    for limit in limits:
        for run in runs:
            for measure in map(str, run.measures):
                if limit.measure not in (None, measure):
                    continue
                found = _difference(judged, run.name, baseline, measure)
                value = judged.value(found)
                gain, (low, high) = value.estimate, judged.interval(value, found.span)
                if parse(measure).better == "lower":
                    gain, low, high = 0.0 - gain, 0.0 - high, 0.0 - low  # 0 -: no minus zero
                verdict = CANNOT_TELL
                if not math.isnan(low):
                    within = rounding_tolerance(run.mean(measure).expected, gain)
                    verdict = verdict_of(low, high, limit.limit, within)
                yield _check(limit, found, judged, verdict, gain, (low, high))


def count_checks(runs: Sequence[Scores], limits: Iterable[object], labels: str, baseline: str | None) -> int:
    """Count the checks that share a level.

    Args:
        runs: runs to check.
        labels: "corrected" or "people"; drops by "people" are decided as those of the judge's values are.
        baseline: name of the baseline; None if there is none.
    """
    total = 0
    for limit in limits:
        if isinstance(limit, Minimum):
            total += len(runs)
        elif isinstance(limit, MaxDrop) and labels == CORRECTED:
            others = [run for run in runs if run.name != baseline]
            total += sum(limit.measure in (None, str(measure)) for run in others for measure in run.measures)
    return max(total, 1)


def _of(judged: CorrectedChecks, run: str, measure: str) -> Correction:
    try:
        return judged.corrected.of(run, measure)
    except InputError as error:
        raise InputError(f"A gate on labels={judged.labels!r}: {error}") from None


def _difference(judged: CorrectedChecks, run: str, baseline: str, measure: str) -> Correction:
    try:
        return judged.corrected.difference(run, baseline, measure)
    except InputError as error:
        raise InputError(f"A gate on labels={judged.labels!r}: {error}") from None


def _check(
    limit: Minimum | MaxDrop,
    found: Correction,
    judged: CorrectedChecks,
    verdict: str,
    value: float,
    ends: tuple[float, float],
) -> Check:
    known = not math.isnan(ends[0])
    passed = verdict in (PASSED, NOT_WORSE) or (verdict == CANNOT_TELL and known and judged.when_unclear == "pass")
    return Check(
        limit.name,
        found.run,
        found.measure,
        limit.limit,
        or_null(value),
        or_null(ends[0]),
        or_null(ends[1]),
        verdict,
        passed,
        _line(limit, found, judged, verdict, value, ends, passed=passed),
        str(limit),
        found.second,
        judged.level,
        queries=found.queries,
        needed=_labels_needed(limit, found, judged, value) if known and verdict == CANNOT_TELL else None,
        labels=judged.labels,
    )


def _labels_needed(limit: Minimum | MaxDrop, found: Correction, judged: CorrectedChecks, value: float) -> int | None:
    """Number of queries, or passages, that people must grade to decide if the value stays; None if none suffices.

    Decided with probability POWER: the whole interval lies on one side of the limit also for an estimate z standard
    errors nearer to it.
    """
    from scipy.special import ndtri

    border = limit.limit if found.second is None else -limit.limit
    if judged.labels != CORRECTED or value == border:  # the width of people's own interval is not covered here
        return None
    z = math.copysign(float(ndtri(POWER)), border - value)

    def decides(after: EstimateWithInterval) -> bool:
        low, high = judged.interval(replace(after, estimate=value + z * after.se), found.span)
        return low >= border if value > border else high < border

    more = fewest(found, decides)
    return None if more is None else more + sum(each.audited for each in found.strata)


def _line(
    limit: Minimum | MaxDrop,
    found: Correction,
    judged: CorrectedChecks,
    verdict: str,
    value: float,
    ends: tuple[float, float],
    *,
    passed: bool,
) -> str:
    """The finding of a check in words."""
    called = CALLED[judged.labels]
    careful = "".join(f" {warning}" for warning in found.warnings)
    if math.isnan(ends[0]):
        why = found.refused or "people's labels give none."
        return f"{found.run}: {found.measure} {called} has no interval, so {limit} cannot pass: {why}{careful}"
    if found.second is None:
        what = f"{found.run}: {found.measure} {called} is {value:.6g}; its {judged.level:.0%} interval "
        what += f"[{ends[0]:.4f}, {ends[1]:.4f}]"
    else:
        moved = "lost" if value < 0 else "gained"
        what = f"{found.run}: {found.measure}, {called}, {moved} {abs(value):.6g} against {found.second}; the "
        what += f"{judged.level:.0%} interval of the difference [{ends[0]:+.4f}, {ends[1]:+.4f}]"
    says = {PASSED: "keeps", NOT_WORSE: "keeps", FAILED: "is below", WORSE: "is beyond", CANNOT_TELL: "does not decide"}
    end = f" It {'passes' if passed else 'fails'}, as --when-unclear says." if verdict == CANNOT_TELL else ""
    return f"{what} {says[verdict]} {limit}.{end}{careful}"
