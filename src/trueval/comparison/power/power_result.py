"""Power results: the differences that a set of queries can detect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from trueval.errors import InputError
from trueval.forks import need_polars
from trueval.report.json_fields import OMITTED
from trueval.report.result import Result

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


@dataclass(frozen=True)
class Detection:
    """What queries detect of one difference, either of expected values or of values under one tie order.

    Attributes:
        difference: measured difference, first - second; NaN if unknown.
        sd: standard deviation of differences between queries, or clusters; for tie-broken values it includes the
            variance over tie orders. NaN if unknown.
        half_width: half width of the interval of the mean difference; NaN if unknown.
        least_difference: the least difference that these queries detect with the power; NaN where nothing varies or sd
            is not known.
        queries_needed: queries needed for the target difference; None where no number is enough, or it is not known.
        clusters_needed: number of clusters that hold these queries; None without clusters, or where queries_needed is
            None.
    """

    difference: float
    sd: float
    half_width: float
    least_difference: float
    queries_needed: int | None
    clusters_needed: int | None


@dataclass(frozen=True)
class NoiseSource:
    """The contribution of one source of noise to the difference of tie-broken values. Squared half widths add up.

    Attributes:
        half_width: half width of the interval of the mean difference if this were the only noise; NaN if unknown.
        share: share of the variance; NaN if there is no variance, or it is not known.
    """

    half_width: float
    share: float


@dataclass(frozen=True)
class LeastDifferences:
    """[point] least differences of expected values, and of values under one tie order."""

    expected: tuple[float, ...]
    tie_broken: tuple[float, ...]


@dataclass(frozen=True)
class CurveSizes:
    """[point] numbers of queries, and of clusters that hold them; None without clusters."""

    queries: tuple[int, ...]
    clusters: tuple[int, ...] | None


@dataclass(frozen=True)
class RankedRun:
    """A run and its expected mean."""

    run: str
    expected: float


@dataclass(frozen=True)
class SharedNoise:
    """What repeats and judges add to the difference of expected values, which more queries do not average out.

    Attributes:
        variance: variance of the difference, for one repeat of each system and one judge.
        degrees: its degrees of freedom; NaN where the variance is 0.
        pair: names of the runs that a budget found it for.
        half_width: half width of the interval over queries, repeats and judges.
        least_difference: the least difference that is found with other repeats and judges too.
        queries_needed: queries for the target difference; None where no number is enough.
    """

    variance: float
    degrees: float
    pair: tuple[str, str]
    half_width: float
    least_difference: float
    queries_needed: int | None


@dataclass(frozen=True)
class PairPower:
    """What the queries detect of the difference between two runs.

    Attributes:
        first: name of the first run; without a baseline, the one with the better expected mean.
        second: name of the second run.
        wanted: target difference; the measured one unless it was chosen.
        expected: detection by expected values.
        tie_broken: detection by values under one tie order, drawn independently for the two runs.
        sampling: noise from the sampling of queries.
        ties: noise from the order of tied documents.
        curve: least differences at the numbers of queries of the measure's curve.
        shared: what repeats and judges add, by a budget; None without one.
    """

    first: str
    second: str
    wanted: float
    expected: Detection
    tie_broken: Detection
    sampling: NoiseSource
    ties: NoiseSource
    curve: LeastDifferences
    shared: SharedNoise | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class MeasurePower:
    """What the queries detect by one measure.

    Attributes:
        measure: the measure's text form.
        better: "higher" or "lower".
        queries: number of queries that count for all runs.
        left_out: ids of queries that are not counted.
        clusters: number of clusters of these queries; None where each query is its own cluster.
        effective_clusters: effective number of equal-sized clusters; the number of queries without clusters.
        ranking: runs, the best first.
        curve: sizes at which the curves of all pairs are known.
        pairs: pairs in the order of the ranking.
    """

    measure: str
    better: str
    queries: int
    left_out: tuple[str, ...]
    clusters: int | None
    effective_clusters: float
    ranking: tuple[RankedRun, ...]
    curve: CurveSizes
    pairs: tuple[PairPower, ...]


@dataclass(frozen=True, repr=False)
class Power(Result):
    """What a set of queries can detect: least differences, queries needed, and the noise of queries and of ties.

    Attributes:
        runs: names of the runs, in the order given.
        baseline: name of the run that the others are compared with; None for all pairs.
        choices: all choices that affect the numbers.
        measures: one entry per measure.
        notes: one line per thing a reader must know.
    """

    KIND: ClassVar = "power"
    FORMAT: ClassVar = 1

    runs: tuple[str, ...]
    baseline: str | None
    choices: Mapping[str, Any]
    measures: tuple[MeasurePower, ...]
    notes: tuple[str, ...]

    def pair(self, measure: str, first: str, second: str) -> PairPower:
        """The power of a pair of runs, given in either order.

        Raises:
            InputError: they were not held against each other by this measure.
        """
        for each in self.measures:
            for pair in each.pairs:
                if each.measure == measure and {pair.first, pair.second} == {first, second}:
                    return pair
        names = [f"{pair.first} and {pair.second} on {each.measure}" for each in self.measures for pair in each.pairs]
        known = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        raise InputError(f"{first} and {second} on {measure} were not analyzed. Analyzed are {known}.")

    def to_polars(self) -> pl.DataFrame:
        """One row per measure and pair as a polars frame, without the curves; null if not available."""
        need_polars()
        import polars as pl

        return pl.DataFrame(list(rows(self.to_dict())), infer_schema_length=None)

    def to_pandas(self) -> pd.DataFrame:
        """The frame of `to_polars` as a pandas frame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        from trueval.report.pandas_frames import to_pandas

        return to_pandas(self.to_polars())


def rows(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row per measure and pair, with nested names joined, as expected_sd or ties_share.

    Args:
        result: the JSON of `trueval power`.
    """
    for each in result["measures"]:
        about = {name: each[name] for name in ("measure", "better", "queries", "clusters", "effective_clusters")}
        for pair in each["pairs"]:
            row = {**about, **{name: pair[name] for name in ("first", "second", "wanted")}}
            for name in ("expected", "tie_broken", "sampling", "ties"):
                row |= {f"{name}_{part}": value for part, value in pair[name].items()}
            if (shared := pair.get("shared")) is not None:
                row |= {f"shared_{part}": value for part, value in shared.items() if part != "pair"}
            yield row
