"""Comparison: the differences between systems, with intervals, tests and verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from trueval.comparison.judges.judge_result import JudgeVerdicts
from trueval.comparison.resampling.concentration import Concentration
from trueval.comparison.resampling.run_reshuffle import RunReshuffle
from trueval.comparison.resampling.win_probability import WinProbability
from trueval.errors import InputError
from trueval.evaluation.corrected_values import AuditSummary, CorrectedRun, CorrectedValue, RefusedValue
from trueval.forks import need_polars
from trueval.report.json_fields import OMITTED, encode
from trueval.report.result import Result

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Interval(NamedTuple):
    """A closed interval; its ends are NaN where it is not available."""

    low: float
    high: float


@dataclass(frozen=True)
class Significance:
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
        corrected: the difference as people's labels correct it; None without an audit.
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
    corrected: RefusedValue | CorrectedValue | None = field(default=None, metadata=OMITTED)

    @property
    def gain(self) -> float:
        """How much better the first is: the expected difference, its sign changed where lower is better."""
        return self.expected if self.better == "higher" else -self.expected

    @property
    def tie_range(self) -> Interval:
        """The lowest and the highest difference over tie orders."""
        return Interval(self.lowest, self.highest)

    def to_dict(self) -> dict[str, object]:
        """The difference as a dict, as in the JSON of comparisons; null if not available."""
        found: dict[str, Any] = encode(self)
        return found


class RankInterval(NamedTuple):
    """The best and the worst rank of a system that are consistent with the separated pairs."""

    low: int
    high: int


@dataclass(frozen=True)
class RankedSystem:
    """One system in the ranking of a leaderboard.

    Attributes:
        place: 1 for the best expected mean; equal means share a place.
        run: name of the run.
        expected: mean over the queries compared.
        lowest: lowest mean over tie orders.
        highest: highest mean over tie orders.
        groups: letters; systems that share a letter are not separated. Empty where runs were compared with a baseline
            only.
        rank_interval: the ranks that it can have: by the separated pairs; against a baseline by a randomization test
            of all pairs together (resampling/rank_bounds.py), None where intervals are by bets.
    """

    place: int
    run: str
    expected: float
    lowest: float
    highest: float
    groups: str
    rank_interval: RankInterval | None

    @property
    def tie_range(self) -> Interval:
        """The lowest and the highest mean over tie orders."""
        return Interval(self.lowest, self.highest)


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
class Comparison(Result):
    """The differences between systems, with leaderboards and notes.

    Attributes:
        runs: names of the runs, in the order given.
        baseline: name of the run that the others were compared with; None for all pairs.
        choices: all choices that affect the numbers.
        leaderboards: one per measure.
        differences: ordered by measure, then pair. Against a baseline, the baseline is second.
        reshuffle: how much the lists of the runs agree; None where only their scores are known.
        notes: one-line remarks for readers.
        audit: the audit whose labels correct the values; None without one.
        corrected: corrected values of each run; None without an audit.
        judges: verdicts by other judges, and for every judge with bounded errors; None unless asked for.
    """

    KIND: ClassVar = "compare"
    FORMAT: ClassVar = 2  # 1: first version. 2: every file names its kind; "standings" became "ranking".

    runs: tuple[str, ...]
    baseline: str | None
    choices: Mapping[str, Any]
    leaderboards: tuple[Leaderboard, ...]
    differences: tuple[Difference, ...]
    reshuffle: RunReshuffle | None = None
    notes: tuple[str, ...] = ()
    audit: AuditSummary | None = field(default=None, metadata=OMITTED)
    corrected: tuple[CorrectedRun, ...] | None = field(default=None, metadata=OMITTED)
    judges: JudgeVerdicts | None = field(default=None, metadata=OMITTED)

    @property
    def level(self) -> float:
        """Level of intervals, tests and verdicts."""
        return float(self.choices["level"])

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

    def to_polars(self) -> pl.DataFrame:
        """One row per difference as a polars frame; null if not available."""
        need_polars()
        import polars as pl

        return pl.DataFrame([dict(flatten(each)) for each in self.differences], infer_schema_length=None)

    def to_pandas(self) -> pd.DataFrame:
        """The frame of `to_polars` as a pandas frame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        from trueval.report.pandas_frames import to_pandas

        return to_pandas(self.to_polars())


def flatten(difference: Difference) -> Iterator[tuple[str, object]]:
    """Names and values of a row of a table, with nested names joined, as win_low or expected_interval_high.

    Args:
        difference: its correction is left out.
    """
    for name, value in replace(difference, corrected=None).to_dict().items():
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


def identical_note(first: str, second: str) -> str:
    """The note on two runs of a comparison that are one."""
    return f"{first} and {second} are identical: the same documents with the same scores for every query."
