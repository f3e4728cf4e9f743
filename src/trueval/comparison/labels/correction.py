"""Corrections: a judge's values corrected by people's labels of a sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

from trueval.errors import InputError
from trueval.evaluation.corrected_values import (
    AuditSummary,
    CorrectedRun,
    CorrectedValue,
    EstimateWithInterval,
    JudgeMean,
    LabelPlan,
    OpenQuery,
    PeopleEstimate,
    RefusedValue,
    StratumWorth,
)
from trueval.measures.span import ANYTHING, ValueRange
from trueval.report.json_fields import OMITTED, encode
from trueval.report.result import ReprByKind, Result

NOTHING: Final = EstimateWithInterval(*[math.nan] * 5)


class StratumGain(NamedTuple):
    """The gain from more labels in a stratum.

    Attributes:
        name: name of the stratum; "queries" in the design of that name, whose units are queries.
        population: number of units in the stratum.
        audited: number of units with people's labels.
        spread: variance of the residuals, in units of the corrected value.
        share: share of the variance that labels can remove.
        worth: reduction of the variance of the corrected value by one more label in the stratum.
    """

    name: str
    population: int
    audited: int
    spread: float
    share: float
    worth: float


@dataclass(frozen=True)
class Correction:
    """The corrected value of one measure, for one run or for the difference of two.

    Attributes:
        measure: the measure's text form.
        run: name of the run; for a difference, of the first run.
        second: name of the run that is subtracted; None for a single run.
        design: design of the audit.
        target: target of the estimate, "new queries" or "these queries".
        level: level of the intervals.
        judge: mean by the judge's labels.
        judge_queries: number of queries in that mean.
        people: estimate by people's labels alone.
        people_queries: number of audited queries that count.
        corrected: estimate by both labels, with the tuned weight.
        untuned: estimate by both labels, with weight 1.
        weight: weight of the judge's labels, 0 to 1: mean of the cross-fitted weights.
        correlation: correlation of the judge's and people's values over audited units; NaN where one does not vary.
        labels: number of people's labels used.
        queries: number of queries with any of them.
        skipped: number of items that people saw but did not grade.
        strata: gain of more labels per stratum.
        open: audited queries in which judge and people differ most.
        span: range of the values, or differences, of queries; intervals are cut to it.
        fixed: part of the variance of `corrected` that no label removes, due to the number of queries.
        warnings: one line per warning.
        refused: why there are no numbers, and which design would give them; None where there are numbers.
    """

    measure: str
    run: str
    second: str | None
    design: str
    target: str
    level: float
    judge: float = math.nan
    judge_queries: int = 0
    people: EstimateWithInterval = NOTHING
    people_queries: int = 0
    corrected: EstimateWithInterval = NOTHING
    untuned: EstimateWithInterval = NOTHING
    weight: float = math.nan
    correlation: float = math.nan
    labels: int = 0
    queries: int = 0
    skipped: int = 0
    strata: tuple[StratumGain, ...] = ()
    open: tuple[OpenQuery, ...] = ()
    span: ValueRange = ANYTHING
    fixed: float = 0.0
    warnings: tuple[str, ...] = ()
    refused: str | None = None

    def to_dict(self) -> dict[str, object]:
        """The correction as a dict, as the JSON of results holds it; null if not available."""
        found: dict[str, Any] = encode(self.entry())
        return found

    def entry(self, plan: LabelPlan | None = None) -> RefusedValue | CorrectedValue:
        """The correction as results hold it.

        Args:
            plan: the labels that a narrower interval takes.
        """
        about = (self.measure, self.design, self.target, self.level)
        first = None if self.second is None else self.run
        if self.refused is not None:
            return RefusedValue(*about, self.refused, first=first, second=self.second)
        strata = (
            StratumWorth(each.name, each.population, each.audited, each.share, each.worth) for each in self.strata
        )
        return CorrectedValue(
            *about,
            JudgeMean(self.judge, self.judge_queries),
            PeopleEstimate(**vars(self.people), queries=self.people_queries),
            self.corrected,
            self.untuned,
            self.weight,
            self.correlation,
            self.labels,
            self.queries,
            self.skipped,
            tuple(strata),
            self.open,
            self.warnings,
            first=first,
            second=self.second,
            plan=plan,
        )


# The width of a result whose values have no plans.
NO_PLANS: Final = -math.inf


@dataclass(frozen=True, repr=False)
class Corrected(Result):
    """Measures of runs and of their differences, corrected by people's labels of a sample.

    Attributes:
        design: design of the audit.
        target: "new queries" or "these queries".
        level: level of the intervals.
        policy: policy of the evaluation.
        runs: their corrected values.
        differences: those of pairs, the first run minus the second.
        audit: the audit; None where only its labels are known.
        width: the width that plans aim at; None for halfway to the least one, `NO_PLANS` where there are no plans.
    """

    KIND: ClassVar = "corrected"
    FORMAT: ClassVar = 1

    design: str
    target: str
    level: float
    policy: Mapping[str, object]
    runs: tuple[CorrectedRun, ...]
    differences: tuple[RefusedValue | CorrectedValue, ...]
    audit: AuditSummary | None = field(default=None, metadata=OMITTED)
    width: float | None = field(default=NO_PLANS, metadata=OMITTED)


@dataclass(frozen=True, repr=False)
class CorrectedResults(ReprByKind):
    """Corrected measures of runs and of their differences.

    Attributes:
        design: design of the audit.
        target: "new queries" or "these queries".
        level: level of the intervals.
        runs: names of the runs, in the order given.
        corrections: one per run and measure.
        differences: one per pair and measure; the first run minus the second.
        policy: policy of the evaluation, as `Policy.to_dict` returns it.
    """

    design: str
    target: str
    level: float
    runs: tuple[str, ...]
    corrections: tuple[Correction, ...]
    differences: tuple[Correction, ...]
    policy: Mapping[str, object]

    def of(self, run: str, measure: str) -> Correction:
        """The correction of a measure of a run.

        Args:
            run: name of the run.
            measure: the measure's text form.

        Raises:
            InputError: there is none.
        """
        return _only(self.corrections, f"{measure} of {run}", lambda each: (each.run, each.measure) == (run, measure))

    def difference(self, first: str, second: str, measure: str) -> Correction:
        """The correction of the difference of two runs.

        Args:
            first: name of a run.
            second: name of the run that is subtracted.
            measure: the measure's text form.

        Raises:
            InputError: there is none.
        """
        wanted = (first, second, measure)
        return _only(
            self.differences,
            f"{measure} of {first} less {second}",
            lambda each: (each.run, each.second, each.measure) == wanted,
        )

    def to_dict(self) -> dict[str, object]:
        """The JSON of the corrections, of kind `corrected`, without the audit and plans of `trueval golden correct`."""
        return self.to_result().to_dict()

    def to_result(self, plan: Callable[[Correction], LabelPlan | None] = lambda _: None) -> Corrected:
        """The corrections as a result holds them.

        Args:
            plan: the labels that a narrower interval of each takes.
        """

        def entries(corrections: Iterable[Correction]) -> tuple[RefusedValue | CorrectedValue, ...]:
            return tuple(each.entry(plan(each)) for each in corrections)

        runs = tuple(
            CorrectedRun(name, entries(each for each in self.corrections if each.run == name)) for name in self.runs
        )
        return Corrected(self.design, self.target, self.level, self.policy, runs, entries(self.differences))


def _only(corrections: tuple[Correction, ...], what: str, is_wanted: Any) -> Correction:
    found = next((each for each in corrections if is_wanted(each)), None)
    if found is None:
        raise InputError(f"{what} was not corrected. Name a run and a measure that were given.")
    return found
