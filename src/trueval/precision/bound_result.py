"""The result of a bound: what a measure can become when scores move, and where the order of two runs can turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from trueval.report.result import Result


@dataclass(frozen=True)
class MeasureBound:
    """A measure of a run over all scores within the width.

    Attributes:
        measure: the measure's text form.
        better: "higher" or "lower".
        queries: number of queries in the means.
        expected: mean over the orders of ties, scores as they are.
        tie_lowest: lowest mean over the orders of ties.
        tie_highest: highest mean over them.
        lowest: lowest mean over all scores within the width.
        highest: highest mean over them.
        exact: whether some scores within the width reach both; else they are bounds.
        moved: number of queries whose value can change.
        widest: largest difference of highest and lowest value of a query.
        widest_query: its id; "" where no query can change.
        open_queries: number of queries in which a document below the last listed one could rise into the cutoff.
    """

    measure: str
    better: str
    queries: int
    expected: float
    tie_lowest: float
    tie_highest: float
    lowest: float
    highest: float
    exact: bool
    moved: int
    widest: float
    widest_query: str
    open_queries: int


@dataclass(frozen=True)
class RunBound:
    """The bounds of a run: its name, and one for each measure."""

    name: str
    measures: tuple[MeasureBound, ...]


@dataclass(frozen=True)
class TurningPoint:
    """Two neighbors in the ranking of a measure, and how far scores may move before their order can turn.

    Attributes:
        measure: the measure's text form.
        first: the run with the better expected mean.
        second: the other one.
        difference: expected mean of the first minus that of the second.
        lowest: lowest difference over all scores of both within the width.
        highest: highest one.
        turns: whether the second can reach the first within the width.
        margin: number of units up to which it cannot; 0 where the order of ties is enough; None where no scores are.
        exact: whether the margin is reached; else the order may hold further.
    """

    measure: str
    first: str
    second: str
    difference: float
    lowest: float
    highest: float
    turns: bool
    margin: float | None
    exact: bool


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionBound(Result):
    """What measures can become if every score moves by at most so much.

    Attributes:
        within: the width, as `ScoreWidth` writes it.
        factor: number of units of the width.
        unit: the unit, as in `ScoreWidth`.
        runs: bounds of each run.
        pairs: neighbors in the ranking of each measure.
        policy: choices behind the numbers.
        notes: one-line warnings.
    """

    KIND: ClassVar[str] = "precision-bound"
    FORMAT: ClassVar[int] = 1

    within: str
    factor: float
    unit: str
    runs: tuple[RunBound, ...]
    pairs: tuple[TurningPoint, ...]
    policy: Mapping[str, object]
    notes: tuple[str, ...] = ()

    def __getitem__(self, key: tuple[str, str]) -> MeasureBound:
        """The bound of a run and a measure, by their names."""
        run, measure = key
        return next(
            each for one in self.runs if one.name == run for each in one.measures if each.measure == str(measure)
        )
