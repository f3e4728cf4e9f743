"""Corrected: what people's labels of a sample make of the values that a judge's labels gave."""

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
FORMAT_VERSION: Final = 1  # 1: the first.


class EstimateWithInterval(NamedTuple):
    """An estimate with its interval.

    Attributes:
        estimate: of the mean over the target's queries.
        low: end of the interval at the level; NaN where there is none.
        high: its other end.
        se: standard error; NaN where there is none.
        degrees: of freedom of t.
    """

    estimate: float
    low: float
    high: float
    se: float
    degrees: float

    @property
    def width(self) -> float:
        """High - low."""
        return self.high - self.low

    def to_dict(self) -> dict[str, Any]:
        """Its numbers; null where not available."""
        return {name: or_null(getattr(self, name)) for name in ("estimate", "low", "high", "se", "degrees")}


NOTHING: Final = EstimateWithInterval(*[math.nan] * 5)


class StratumGain(NamedTuple):
    """What more labels in a stratum would be worth.

    Attributes:
        name: of the stratum; "queries" of the design of that name, whose units are queries.
        population: units in it.
        audited: of them with people's labels.
        spread: variance of what the judge leaves open, in units of the corrected value.
        share: of the variance that labels can take away.
        worth: by how much one more unit of it lowers the variance of the corrected value.
    """

    name: str
    population: int
    audited: int
    spread: float
    share: float
    worth: float

    def to_dict(self) -> dict[str, Any]:
        """Its entry; null where not available."""
        numbers = {name: or_null(getattr(self, name)) for name in ("share", "worth")}
        return {"stratum": self.name, "population": self.population, "audited": self.audited, **numbers}


class OpenQuery(NamedTuple):
    """A query in which judge and people differ much.

    Attributes:
        query: its id.
        share: of the squared residuals of all audited units.
    """

    query: str
    share: float


@dataclass(frozen=True)
class Correction:
    """One measure of one run, or of the difference of two, corrected.

    Attributes:
        measure: its text form.
        run: name of the run; of a difference, of the first.
        second: name of the run that is taken away; None where this is no difference.
        design: of the audit.
        target: what it is an estimate of, "new queries" or "these queries".
        level: of the intervals.
        judge: mean by the judge's labels.
        judge_queries: that this mean counts.
        people: by people's labels alone.
        people_queries: audited queries that count.
        corrected: by both, with the tuned weight.
        untuned: by both, with the weight 1.
        weight: of the judge's labels, 0 to 1: mean of the cross-fitted ones.
        correlation: of the two values of audited units; NaN where one does not vary.
        labels: of people, that were used.
        queries: that have any.
        skipped: items that people saw and left open.
        strata: where more labels are worth how much.
        open: audited queries in which judge and people differ most.
        span: what values, or differences, of queries lie in: intervals end there.
        fixed: the part of the variance of `corrected` that no label takes away: queries are few.
        warnings: one line each.
        refused: why there are no numbers, and the design that has them; None where there are.
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
        """Its entry in the JSON of results; null where not available."""
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
    """Corrected measures of runs, and of their differences.

    Attributes:
        design: of the audit.
        target: "new queries" or "these queries".
        level: of the intervals.
        runs: names, in the order in which they were given.
        corrections: of each run by each measure.
        differences: of each pair by each measure; the first less the second.
        policy: behind the numbers, as `Policy.to_dict` has it.
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
            run: its name.
            measure: its text form.

        Raises:
            InputError: there is none.
        """
        return _only(self.corrections, f"{measure} of {run}", lambda each: (each.run, each.measure) == (run, measure))

    def difference(self, first: str, second: str, measure: str) -> Correction:
        """The correction of the difference of two runs.

        Args:
            first: name of a run.
            second: name of the one that is taken away from it.
            measure: its text form.

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
