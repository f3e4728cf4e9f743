"""Corrections: a judge's values corrected by people's labels of a sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from trueval.errors import InputError
from trueval.measures.span import ANYTHING, ValueRange
from trueval.numerics import or_null
from trueval.report.result import ReprByKind

KIND: Final = "corrected"
FORMAT_VERSION: Final = 1  # 1: first version.


class EstimateWithInterval(NamedTuple):
    """An estimate with its interval.

    Attributes:
        estimate: estimated mean over the target's queries.
        low: lower end of the interval at the level; NaN if there is none.
        high: upper end; NaN if there is none.
        se: standard error; NaN if there is none.
        degrees: degrees of freedom of t.
    """

    estimate: float
    low: float
    high: float
    se: float
    degrees: float

    @property
    def width(self) -> float:
        """Width of the interval, high - low."""
        return self.high - self.low

    def to_dict(self) -> dict[str, Any]:
        """The estimate as a dict for JSON; null if not available."""
        return {name: or_null(getattr(self, name)) for name in ("estimate", "low", "high", "se", "degrees")}


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

    def to_dict(self) -> dict[str, Any]:
        """The stratum as a dict for JSON; null if not available."""
        numbers = {name: or_null(getattr(self, name)) for name in ("share", "worth")}
        return {"stratum": self.name, "population": self.population, "audited": self.audited, **numbers}


class OpenQuery(NamedTuple):
    """A query on which judge and people differ much.

    Attributes:
        query: the query's id.
        share: its share of the squared residuals of all audited units.
    """

    query: str
    share: float


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

    def to_dict(self) -> dict[str, Any]:
        """The correction as a dict for the JSON of results; null if not available."""
        names = {} if self.second is None else {"first": self.run, "second": self.second}
        about = {"measure": self.measure, **names, "design": self.design, "target": self.target, "level": self.level}
        if self.refused is not None:
            return {**about, "refused": self.refused}
        return {
            **about,
            "judge": {"estimate": or_null(self.judge), "queries": self.judge_queries},
            "people": {**self.people.to_dict(), "queries": self.people_queries},
            "corrected": self.corrected.to_dict(),
            "untuned": self.untuned.to_dict(),
            "weight": or_null(self.weight),
            "correlation": or_null(self.correlation),
            "labels": self.labels,
            "queries": self.queries,
            "skipped": self.skipped,
            "strata": [each.to_dict() for each in self.strata],
            "open_queries": [each._asdict() for each in self.open],
            "warnings": list(self.warnings),
        }


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
        """The JSON of `trueval golden correct`."""
        from trueval.version import __version__

        return {
            "kind": KIND,
            "format": FORMAT_VERSION,
            "trueval": __version__,
            "design": self.design,
            "target": self.target,
            "level": self.level,
            "policy": dict(self.policy),
            "runs": [
                {"name": name, "corrected": [each.to_dict() for each in self.corrections if each.run == name]}
                for name in self.runs
            ],
            "differences": [each.to_dict() for each in self.differences],
        }


def _only(corrections: tuple[Correction, ...], what: str, is_wanted: Any) -> Correction:
    found = next((each for each in corrections if is_wanted(each)), None)
    if found is None:
        raise InputError(f"{what} was not corrected. Name a run and a measure that were given.")
    return found
