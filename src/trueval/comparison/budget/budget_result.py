"""Budget results: what means and differences vary by, and what shortens their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from trueval.errors import InputError
from trueval.forks import need_polars
from trueval.report.result import Result

if TYPE_CHECKING:
    import polars as pl

TIES = "ties"


@dataclass(frozen=True)
class Purchase:
    """More questions, repeats or judges, and what they take.

    Attributes:
        questions: number of more questions.
        repeats: number of more repeats of each system.
        judges: number of more judges.
        audited: number of more queries, or passages, that people audit.
        labels: number of passages to grade.
        answers: number of questions to run through a system.
        cost: in the currency of the prices; None without prices.
        half_width: half width of the interval that is then expected.
    """

    questions: int
    repeats: int
    judges: int
    audited: int
    labels: int
    answers: int
    cost: float | None
    half_width: float


@dataclass(frozen=True)
class ShorterInterval:
    """What makes the half width of an interval at most a target.

    Attributes:
        target: the half width to reach.
        questions: more questions alone; None where no number is enough.
        repeats: more repeats alone; None where no number is enough, or their effect is not known.
        judges: more judges alone; None as for repeats.
        audited: a larger audit alone; None where none is enough, or without an audit.
        cheapest: the cheapest of all of them together; None where nothing is enough, or without prices.
    """

    target: float
    questions: Purchase | None
    repeats: Purchase | None
    judges: Purchase | None
    audited: Purchase | None
    cheapest: Purchase | None


@dataclass(frozen=True)
class DoubtSource:
    """What one source adds to the variance of a mean.

    Attributes:
        source: questions, repeats, labels, repeats and labels together, or ties.
        variance: its part of the variance of the mean; that of ties is added by values under one tie order alone.
        low: lower end of its interval.
        high: upper end of it.
        share: of the variance of a mean of values under one tie order; NaN if nothing varies.
    """

    source: str
    variance: float
    low: float
    high: float
    share: float


@dataclass(frozen=True)
class DoubtEffect:
    """A variance of the model.

    Attributes:
        effect: its factors: Q the question, R the repeat, J the judge; QR what a repeat changes for one
            question; A what people's labels differ by from those that the judge's predict.
        system: name of the system whose repeats it is about; None where it is of all.
        source: what it is counted as.
        variance: variance between its levels; 0 where the estimate is below.
        untruncated: the estimate, which may be below 0.
        low: lower end of its interval.
        high: upper end of it.
        degrees: degrees of freedom.
        divisor: number by which it is divided in the variance of the mean.
    """

    effect: str
    system: str | None
    source: str
    variance: float
    untruncated: float
    low: float
    high: float
    degrees: float
    divisor: float


@dataclass(frozen=True)
class Doubt:
    """A mean, or the difference of two, and what it varies by.

    Attributes:
        run: name of the run, or of the first of a pair.
        minus: name of the second run of a pair; None for the mean of one run.
        value: expected mean, or difference.
        low: lower end of its interval.
        high: upper end of it.
        half_width: half width of it.
        se: standard error.
        degrees: degrees of freedom (Satterthwaite).
        tie_broken_half_width: half width for values under one tie order.
        without_ties_and_repeats: half width that a number format without ties, in which repeats agree, could have at
            best.
        queries: number of queries.
        sources: what the variance is made of.
        effects: variances of the model.
        shorter: what shortens the interval; None where nothing varies.
    """

    run: str
    minus: str | None
    value: float
    low: float
    high: float
    half_width: float
    se: float
    degrees: float
    tie_broken_half_width: float
    without_ties_and_repeats: float
    queries: int
    sources: tuple[DoubtSource, ...]
    effects: tuple[DoubtEffect, ...]
    shorter: ShorterInterval | None

    @property
    def separated(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    def source(self, name: str) -> DoubtSource | None:
        """A source by its name; None where it is not known."""
        return next((each for each in self.sources if each.source == name), None)


@dataclass(frozen=True)
class MeasureBudget:
    """The budget of one measure.

    Attributes:
        measure: the measure's text form.
        better: "higher" or "lower".
        means: one entry per run, the best first.
        differences: one entry per pair, in the order of the means.
    """

    measure: str
    better: str
    means: tuple[Doubt, ...]
    differences: tuple[Doubt, ...]


@dataclass(frozen=True, repr=False)
class Budget(Result):
    """What means and differences vary by: questions, labels, repeats and ties, and what shortens their intervals.

    Attributes:
        runs: names of the systems.
        repeats: number of runs of each system.
        judges: names of the judges.
        baseline: name of the run that the others are compared with; None for all pairs.
        choices: all choices that affect the numbers.
        measures: one entry per measure.
        notes: one line per thing a reader must know.
    """

    KIND: ClassVar = "budget"
    FORMAT: ClassVar = 1

    runs: tuple[str, ...]
    repeats: tuple[int, ...]
    judges: tuple[str, ...]
    baseline: str | None
    choices: Mapping[str, Any]
    measures: tuple[MeasureBudget, ...]
    notes: tuple[str, ...]

    def pair(self, measure: str, first: str, second: str) -> Doubt:
        """The difference of a pair of runs, given in either order.

        Raises:
            InputError: they were not held against each other by this measure.
        """
        pairs = [(each.measure, pair) for each in self.measures for pair in each.differences]
        for name, pair in pairs:
            if name == measure and {pair.run, pair.minus} == {first, second}:
                return pair
        known = "; ".join(f"{pair.run} and {pair.minus} on {name}" for name, pair in pairs[:3])
        raise InputError(f"{first} and {second} on {measure} were not asked about. Known are {known}.")

    def to_polars(self) -> pl.DataFrame:
        """One row per measure, mean or difference, and source, as a polars frame."""
        need_polars()
        import polars as pl

        return pl.DataFrame(list(rows(self.to_dict())), infer_schema_length=None)


def rows(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row per measure, mean or difference, and source.

    Args:
        result: the JSON of `trueval budget`.
    """
    for each in result["measures"]:
        for doubt in (*each["means"], *each["differences"]):
            about = {name: doubt[name] for name in ("run", "minus", "value", "low", "high", "half_width", "degrees")}
            for source in doubt["sources"]:
                yield {
                    "measure": each["measure"],
                    **about,
                    "source": source["source"],
                    "variance": source["variance"],
                    "variance_low": source["low"],
                    "variance_high": source["high"],
                    "share": source["share"],
                }
