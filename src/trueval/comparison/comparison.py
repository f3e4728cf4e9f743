"""Comparison: the differences between systems, with intervals, tests and verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import polars as pl

from trueval.comparison.resampling.concentration import Concentration
from trueval.comparison.resampling.run_reshuffle import RunReshuffle
from trueval.comparison.resampling.win_probability import WinProbability
from trueval.errors import InputError
from trueval.forks import need_polars
from trueval.numerics import nulls
from trueval.report.result import ReprByKind

KIND = "compare"
# 1: first version. 2: every file names its kind; "standings" of a leaderboard became "ranking".
FORMAT_VERSION = 2


class Interval(NamedTuple):
    """A closed interval; its ends are NaN where it is not available."""

    low: float
    high: float


# Intervals of a difference.
INTERVALS = ("expected_interval", "realized_interval", "simultaneous_interval", "simultaneous_realized_interval")


class Significance(NamedTuple):
    """Two-sided p values of the paired tests over queries; NaN if not available.

    Attributes:
        randomization: p of the sign-flip randomization test.
        exact: whether every sign pattern was enumerated.
        t: p of Student's paired t test.
        wilcoxon: p of the Wilcoxon signed-rank test.
        maxt: p of the randomization test, adjusted for the family by the single-step MaxT.
        holm: p of the chosen test, adjusted for the family by Holm.
        benjamini_hochberg: p of the chosen test, adjusted for the family by Benjamini & Hochberg.
        adjusted: the one of these three that decides.
    """

    randomization: float
    exact: bool
    t: float
    wilcoxon: float
    maxt: float
    holm: float
    benjamini_hochberg: float
    adjusted: float


@dataclass(frozen=True)
class Difference:
    """The difference of two systems on one measure, first - second on the scale of the measure.

    Attributes:
        measure: the measure's text form.
        better: "higher" or "lower": the direction of winning, wins and losses; it does not affect the sign of
            differences.
        first: name of the first run.
        second: name of the second run.
        queries: number of queries that count for both.
        expected: difference of the expected means.
        lowest: lowest difference over tie orders: lowest of the first - highest of the second.
        highest: highest difference over tie orders.
        tie_broken: difference of the tie-broken values; NaN if unknown.
        sd: standard deviation of the difference over tie orders; NaN if unknown.
        win: probability over tie orders that the first is the better one.
        expected_interval: bootstrap interval of the expected difference.
        realized_interval: bootstrap interval of a realized difference, ties broken at random.
        simultaneous_interval: interval of the expected difference, simultaneous over all pairs of the family.
        simultaneous_realized_interval: interval of a realized difference, simultaneous over all pairs of the family.
        realized_bounded: whether the ends of realized intervals are bounds over all tie orders, because the sd of one
            of the runs is not known.
        tests: paired tests over queries.
        cohen_d: mean / standard deviation of the differences of expected values over queries; NaN where not defined.
        hedges_g: Cohen's d corrected for its small-sample bias.
        wins: queries on which the first is better by more than the tolerance.
        ties: queries within the tolerance.
        losses: queries on which the second is better by more than the tolerance.
        reversed: whether the tie-broken values rank the pair in the opposite order of the expected values.
        undecidable: whether ties decide who wins.
        separated: whether the queries separate the two and ties do not undo it.
        verdict: the verdict in words.
        concentration: the few queries that account for most of the variance; None where many do.
    """

    measure: str
    better: str
    first: str
    second: str
    queries: int
    expected: float
    lowest: float
    highest: float
    tie_broken: float
    sd: float
    win: WinProbability
    expected_interval: Interval
    realized_interval: Interval
    simultaneous_interval: Interval
    simultaneous_realized_interval: Interval
    realized_bounded: bool
    tests: Significance
    cohen_d: float
    hedges_g: float
    wins: int
    ties: int
    losses: int
    reversed: bool
    undecidable: bool
    separated: bool
    verdict: str
    concentration: Concentration | None = None

    @property
    def gain(self) -> float:
        """How much better the first is: the expected difference, its sign changed where lower is better."""
        return self.expected if self.better == "higher" else -self.expected

    def to_dict(self) -> dict[str, object]:
        """The difference as a dict, as in the JSON of comparisons; null if not available."""
        parts = {name: getattr(self, name)._asdict() for name in ("win", "tests")}
        parts["concentration"] = None if self.concentration is None else self.concentration.to_dict()
        spans = {name: list(getattr(self, name)) for name in INTERVALS}
        found: dict[str, object] = nulls(vars(self) | parts | spans)
        return found


class RankedSystem(NamedTuple):
    """One system in the ranking of a leaderboard.

    Attributes:
        place: 1 for the best expected mean; equal means share a place.
        run: name of the run.
        expected: mean over the queries compared.
        lowest: lowest mean over tie orders.
        highest: highest mean over tie orders.
        groups: letters; systems that share a letter are not separated. Empty where runs were compared with a baseline
            only.
        rank_interval: the best and the worst rank consistent with the separated pairs; None against a baseline.
    """

    place: int
    run: str
    expected: float
    lowest: float
    highest: float
    groups: str
    rank_interval: tuple[int, int] | None


@dataclass(frozen=True)
class Leaderboard:
    """Systems from best to worst on one measure.

    Attributes:
        measure: the measure's text form.
        better: "higher" or "lower".
        queries: number of queries that count for all systems.
        left_out: ids of queries that are not counted.
        clusters: number of clusters of the queries; None where each query is its own cluster.
        ranking: the systems, best first.
    """

    measure: str
    better: str
    queries: int
    left_out: tuple[str, ...]
    clusters: int | None
    ranking: tuple[RankedSystem, ...]


@dataclass(frozen=True, repr=False)
class Comparison(ReprByKind):
    """The differences between systems, with leaderboards and notes.

    Attributes:
        runs: names of the runs, in the order given.
        baseline: name of the run that the others were compared with; None for all pairs.
        differences: ordered by measure, then pair. Against a baseline, the baseline is second.
        leaderboards: one per measure.
        choices: all choices that affect the numbers.
        notes: one-line remarks for readers.
        reshuffle: how much the lists of the runs agree; None where only their scores are known.
    """

    runs: tuple[str, ...]
    baseline: str | None
    differences: tuple[Difference, ...]
    leaderboards: tuple[Leaderboard, ...]
    choices: dict[str, object]
    notes: tuple[str, ...]
    reshuffle: RunReshuffle | None = None

    def difference(self, measure: str, first: str, second: str) -> Difference:
        """The difference of two runs on a measure.

        Raises:
            InputError: they were not compared, or in the other order.
        """
        for each in self.differences:
            if (each.measure, each.first, each.second) == (measure, first, second):
                return each
        known = ", ".join(f"{each.first} - {each.second} on {each.measure}" for each in self.differences[:3])
        raise InputError(f"{first} - {second} on {measure} was not compared. Compared are {known}, ...")

    def to_dict(self) -> dict[str, object]:
        """The comparison as a dict, the JSON of `trueval compare`; null if not available."""
        from trueval.version import __version__

        return {
            "kind": KIND,
            "format": FORMAT_VERSION,
            "trueval": __version__,
            "runs": list(self.runs),
            "baseline": self.baseline,
            "choices": self.choices,
            "leaderboards": [
                {
                    **asdict(board),
                    "left_out": list(board.left_out),
                    "ranking": [_ranking_row_to_json(row) for row in board.ranking],
                }
                for board in self.leaderboards
            ],
            "differences": [each.to_dict() for each in self.differences],
            "reshuffle": None if self.reshuffle is None else nulls(self.reshuffle.to_dict()),
            "notes": list(self.notes),
        }

    def to_polars(self) -> pl.DataFrame:
        """One row per difference as a polars frame; null if not available."""
        need_polars()
        return pl.DataFrame([dict(flatten(each.to_dict())) for each in self.differences], infer_schema_length=None)

    def to_pandas(self) -> Any:
        """The frame of `to_polars` as a pandas frame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        from trueval.report.pandas_frames import to_pandas

        return to_pandas(self.to_polars())


def _ranking_row_to_json(row: RankedSystem) -> object:
    """A row of a ranking for JSON, with lists in place of tuples."""
    return nulls({**row._asdict(), "rank_interval": None if row.rank_interval is None else list(row.rank_interval)})


def flatten(entry: dict[str, object]) -> Iterator[tuple[str, object]]:
    """Names and values with nested names joined, as win_low or expected_interval_high."""
    for name, value in entry.items():
        if name == "concentration":
            few = value if isinstance(value, dict) else {"units": None, "share": None}
            yield "concentration_units", None if few["units"] is None else " ".join(few["units"])
            yield "concentration_share", few["share"]
        elif isinstance(value, dict):
            yield from ((f"{name}_{part}" if name == "win" else f"p_{part}", each) for part, each in value.items())
        elif isinstance(value, list):
            yield from zip((f"{name}_low", f"{name}_high"), value, strict=True)
        else:
            yield name, value
