"""Power: what is known about the differences that some queries can find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from trueval.errors import InputError
from trueval.forks import need_polars
from trueval.numerics import nulls, or_null
from trueval.report.result import ReprByKind

if TYPE_CHECKING:
    import polars as pl

KIND = "power"
# 1: the first.
FORMAT_VERSION = 1


class Detection(NamedTuple):
    """What queries find of one difference: of expected values, or of values under one tie order.

    Attributes:
        difference: measured, first - second; NaN where not known.
        sd: standard deviation of differences between queries, or clusters; for tie-broken values with the variance over
            tie orders. NaN where not known.
        half_width: of the interval of the mean difference; NaN where not known.
        least_difference: the least that these queries find with the power; NaN where nothing varies or sd is not known.
        queries_needed: for the wanted difference; None where no number is enough, or it is not known.
        clusters_needed: that hold so many queries; None without clusters, and as above.
    """

    difference: float
    sd: float
    half_width: float
    least_difference: float
    queries_needed: int | None
    clusters_needed: int | None


class NoiseSource(NamedTuple):
    """What one source of noise does to the difference of tie-broken values. Squares of half widths add up.

    Attributes:
        half_width: of the interval of the mean difference, if this noise were the only one; NaN where not known.
        share: of the variance; NaN where there is no variance, or it is not known.
    """

    half_width: float
    share: float


class PairPower(NamedTuple):
    """What the queries find of the difference of two runs.

    Attributes:
        first: name of a run; without a baseline, of the one with the better expected mean.
        second: name of the other.
        wanted: difference for which queries were counted; the measured one unless it was chosen.
        expected: of expected values.
        tie_broken: of values under one tie order, those of the two runs independent.
        sampling: what the choice of queries adds to the noise.
        ties: what the orders of tied documents add.
        curve_expected: [point] least difference of expected values at the numbers of queries of the measure.
        curve_tie_broken: [point] the same of tie-broken values.
    """

    first: str
    second: str
    wanted: float
    expected: Detection
    tie_broken: Detection
    sampling: NoiseSource
    ties: NoiseSource
    curve_expected: tuple[float, ...]
    curve_tie_broken: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The pair in the JSON of power; null where not available."""
        names = ("expected", "tie_broken", "sampling", "ties")
        curves = {"expected": self.curve_expected, "tie_broken": self.curve_tie_broken}
        return {
            "first": self.first,
            "second": self.second,
            "wanted": or_null(self.wanted),
            **{name: nulls(getattr(self, name)._asdict()) for name in names},
            "curve": {name: [or_null(value) for value in values] for name, values in curves.items()},
        }


class MeasurePower(NamedTuple):
    """What the queries find by one measure.

    Attributes:
        measure: its text form.
        better: "higher" or "lower".
        queries: counted by all runs.
        left_out: ids of queries that are not counted.
        clusters: that these queries are in; None where each is its own.
        effective: how many clusters of one size these are as good as; the number of queries without clusters.
        ranking: (run, expected mean), best first.
        curve_queries: [point] numbers of queries of the curves.
        curve_clusters: [point] clusters that hold so many; None without clusters.
        pairs: in the order of the ranking.
    """

    measure: str
    better: str
    queries: int
    left_out: tuple[str, ...]
    clusters: int | None
    effective: float
    ranking: tuple[tuple[str, float], ...]
    curve_queries: tuple[int, ...]
    curve_clusters: tuple[int, ...] | None
    pairs: tuple[PairPower, ...]

    def to_dict(self) -> dict[str, Any]:
        """The measure in the JSON of power; null where not available."""
        clusters = None if self.curve_clusters is None else list(self.curve_clusters)
        return {
            "measure": self.measure,
            "better": self.better,
            "queries": self.queries,
            "left_out": list(self.left_out),
            "clusters": self.clusters,
            "effective_clusters": self.effective,
            "ranking": [{"run": name, "expected": or_null(mean)} for name, mean in self.ranking],
            "curve": {"queries": list(self.curve_queries), "clusters": clusters},
            "pairs": [each.to_dict() for each in self.pairs],
        }


@dataclass(frozen=True, repr=False)
class Power(ReprByKind):
    """What some queries can find: least differences, queries needed, and the noise of queries and of ties.

    Attributes:
        runs: names, in the order given.
        baseline: name of the run that the others are held against; None for all pairs.
        measures: one entry for each.
        choices: everything chosen that changes a number.
        notes: one line for each thing a reader must know.
    """

    runs: tuple[str, ...]
    baseline: str | None
    measures: tuple[MeasurePower, ...]
    choices: dict[str, Any]
    notes: tuple[str, ...]

    def pair(self, measure: str, first: str, second: str) -> PairPower:
        """What is known of two runs, in either order.

        Raises:
            InputError: they were not held against each other by this measure.
        """
        for each in self.measures:
            for pair in each.pairs:
                if each.measure == measure and {pair.first, pair.second} == {first, second}:
                    return pair
        names = [f"{pair.first} and {pair.second} on {each.measure}" for each in self.measures for pair in each.pairs]
        known = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        raise InputError(f"{first} and {second} on {measure} were not asked about. Known are {known}.")

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `trueval power`; null where not available."""
        from trueval.version import __version__

        return {
            "kind": KIND,
            "format": FORMAT_VERSION,
            "trueval": __version__,
            "runs": list(self.runs),
            "baseline": self.baseline,
            "choices": self.choices,
            "measures": [each.to_dict() for each in self.measures],
            "notes": list(self.notes),
        }

    def to_polars(self) -> pl.DataFrame:
        """One row for each measure and pair, without the curves; null where not available."""
        need_polars()
        import polars as pl

        return pl.DataFrame(list(rows(self.to_dict())), infer_schema_length=None)

    def to_pandas(self) -> Any:
        """What `to_polars` returns as a frame of pandas.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        from trueval.report.pandas_frames import to_pandas

        return to_pandas(self.to_polars())


def rows(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row for each measure and pair, with parts of parts as expected_sd or ties_share.

    Args:
        result: the JSON of `trueval power`.
    """
    for each in result["measures"]:
        about = {name: each[name] for name in ("measure", "better", "queries", "clusters", "effective_clusters")}
        for pair in each["pairs"]:
            row = {**about, **{name: pair[name] for name in ("first", "second", "wanted")}}
            for name in ("expected", "tie_broken", "sampling", "ties"):
                row |= {f"{name}_{part}": value for part, value in pair[name].items()}
            yield row
