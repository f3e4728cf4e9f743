"""Corrected values of measures as results hold them: by the judge's labels, by people's, and corrected."""

from __future__ import annotations

from dataclasses import dataclass, field

from trueval.report.json_fields import OMITTED


@dataclass(frozen=True)
class EstimateWithInterval:
    """An estimate with its interval; what is not known is NaN.

    Attributes:
        estimate: estimated mean over the target's queries.
        low: lower end of the interval at the level.
        high: upper end.
        se: standard error.
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


@dataclass(frozen=True)
class PeopleEstimate(EstimateWithInterval):
    """An estimate by people's labels alone, over the audited queries that count."""

    queries: int


@dataclass(frozen=True)
class JudgeMean:
    """The mean by the judge's labels, over all its queries that count; NaN where there are none."""

    estimate: float
    queries: int


@dataclass(frozen=True)
class StratumWorth:
    """What more labels of a stratum would gain.

    Attributes:
        stratum: its name; "queries" in the design of that name, whose units are queries.
        population: number of units in it.
        audited: number of units with people's labels.
        share: share of the variance that labels can remove.
        worth: reduction of the variance of the corrected value by one more label.
    """

    stratum: str
    population: int
    audited: int
    share: float
    worth: float


@dataclass(frozen=True)
class OpenQuery:
    """A query on which judge and people differ much, with its share of the squared residuals of all audited units."""

    query: str
    share: float


@dataclass(frozen=True)
class ExpectedWidth:
    """The width that the interval is expected to have once so many units are graded."""

    graded: int
    width: float


@dataclass(frozen=True)
class LabelPlan:
    """How many more labels make an interval narrow enough, if judge and people go on to differ as they do.

    Attributes:
        width_now: width of the interval from end to end, on the scale of the measure.
        target_width: the width to reach, from end to end, on the scale of the measure.
        unit: what people grade, "queries" or "passages".
        more_units: further units to grade; None where no number is enough.
        more_labels: further labels; None where no number is enough.
        least_width: width with everything graded.
        curve: how the width falls as more is graded.
    """

    width_now: float
    target_width: float
    unit: str
    more_units: int | None
    more_labels: int | None
    least_width: float
    curve: tuple[ExpectedWidth, ...]


@dataclass(frozen=True)
class _Correction:
    """What was corrected.

    Attributes:
        measure: the measure's text form.
        first: of a difference the first run; None for a single run.
        second: of a difference the run that is subtracted; None for a single run.
        design: design of the audit.
        target: target of the estimate, "new queries" or "these queries".
        level: level of the intervals.
    """

    measure: str
    first: str | None = field(default=None, metadata=OMITTED, kw_only=True)
    second: str | None = field(default=None, metadata=OMITTED, kw_only=True)
    design: str
    target: str
    level: float


@dataclass(frozen=True)
class RefusedValue(_Correction):
    """A measure that the design of the audit cannot correct.

    Attributes:
        refused: why, and the design that can; it begins with the measure.
    """

    refused: str


@dataclass(frozen=True)
class CorrectedValue(_Correction):
    """The corrected value of one measure, of a run or of the difference of two.

    Attributes:
        judge: mean by the judge's labels.
        people: estimate by people's labels alone.
        corrected: estimate by both labels, with the tuned weight.
        untuned: estimate by both labels, with weight 1.
        weight: weight of the judge's labels, 0 to 1.
        correlation: of the judge's and people's values over audited units; NaN where one does not vary.
        labels: number of people's labels used.
        queries: number of queries with any of them.
        skipped: number of items that people saw but did not grade.
        strata: gain of more labels per stratum.
        open_queries: audited queries in which judge and people differ most.
        warnings: one line per warning.
        plan: the labels that a narrower interval takes; None where they were not asked for.
    """

    judge: JudgeMean
    people: PeopleEstimate
    corrected: EstimateWithInterval
    untuned: EstimateWithInterval
    weight: float
    correlation: float
    labels: int
    queries: int
    skipped: int
    strata: tuple[StratumWorth, ...]
    open_queries: tuple[OpenQuery, ...]
    warnings: tuple[str, ...]
    plan: LabelPlan | None = field(default=None, metadata=OMITTED, kw_only=True)


@dataclass(frozen=True)
class AuditSummary:
    """The audit that values were corrected by.

    Attributes:
        folder: its name.
        labels: whose labels the other values of the results use: "judge", "corrected", "people" or "people-first".
        design: "queries", "documents" or "poisson".
        target: as in `CorrectedValue`.
        level: level of the intervals.
        sampled: number of units that people graded: queries or passages.
        population: number of units that the sample represents.
        people_labels: number of people's labels.
        skipped: number of items that people saw but did not grade.
    """

    folder: str
    labels: str
    design: str
    target: str
    level: float
    sampled: int
    population: int
    people_labels: int
    skipped: int


@dataclass(frozen=True)
class CorrectedRun:
    """A run, and for each measure its corrected value or why there is none."""

    name: str
    corrected: tuple[RefusedValue | CorrectedValue, ...]
