"""Checks: the finding for each limit that a run must keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from trueval.comparison.resampling.concentration import Concentration
from trueval.comparison.resampling.rare_losses import RareLosses

# Verdicts on an allowed drop; every other check has passed or failed, or cannot tell where people's labels decide.
NOT_WORSE: Final = "not worse"
WORSE: Final = "worse"
CANNOT_TELL: Final = "cannot tell"
PASSED: Final = "passed"
FAILED: Final = "failed"

# Probability with which `needed` queries decide a check, if the true difference is the measured one.
POWER: Final = 0.8

# Keys of a check in the JSON, in this order.
NAMES: Final = (
    "name",
    "measure",
    "baseline",
    "limit",
    "value",
    "low",
    "high",
    "level",
    "bounded",
    "queries",
    "clusters",
    "needed",
    "rare_losses",
    "concentration",
    "labels",
    "verdict",
    "passed",
)


@dataclass(frozen=True)
class Check:
    """The finding for one limit, one run and one measure.

    Attributes:
        name: "max-range", "min", "max-drop"; or the reason why a run cannot be checked: "judged" (none of its documents
            is judged), "queries" (the run, or its baseline, has too few judged queries or too few with a relevant
            document), "relevant" (no query has a relevant document), "comparable" (its baseline was measured
            otherwise), "distinct" (it is its own baseline).
        run: name of the run.
        measure: the measure's text form; None where the check concerns all measures.
        limit: the limit; None if there is none. For "queries", the number required.
        value: the value compared with the limit: the range, the expected mean, or the difference from the baseline,
            above 0 where the run is better; None if not available. For "queries", the number present.
        low: lower end: the lowest mean, or the lower end of the interval of the difference.
        high: upper end, as for low.
        verdict: "passed" or "failed"; for "max-drop" "not worse" or "worse"; "cannot tell" where an interval decides
            and contains the limit.
        passed: whether the run keeps the limit; False where the value is not available.
        line: the finding in one or two sentences.
        option: the limit as an option of the command line.
        baseline: name of the run compared with; None if there is none.
        level: level of the interval; None if there is none.
        bounded: whether the interval, or the mean of "min", is known only by bounds.
        queries: number of queries in the comparison; None if there is none.
        clusters: number of clusters of these queries; None where each query is its own cluster.
        needed: how many queries, or clusters where there are any, would decide a check that cannot tell; for corrected
            values, how many queries or passages people must grade. None where no number would, or the check is decided.
        labels: whose grades the value is computed from: "judge" (those of the judgments), "corrected" or "people".
        rare_losses: the rare losses that so few queries do not exclude although the run is "not worse"; None for every
            other verdict, and where the run holds the rows of its baseline.
        concentration: the few queries that the interval of a drop rests on; None where many carry it, or where the
            interval is by bets.
        shared: half width of what repeats and labels add to the interval, by a budget; None without one.
    """

    name: str
    run: str
    measure: str | None
    limit: float | None
    value: float | None
    low: float | None
    high: float | None
    verdict: str
    passed: bool
    line: str
    option: str
    baseline: str | None = None
    level: float | None = None
    bounded: bool = False
    queries: int | None = None
    clusters: int | None = None
    needed: int | None = None
    labels: str = "judge"
    rare_losses: RareLosses | None = None
    concentration: Concentration | None = None
    shared: float | None = None

    def to_dict(self) -> dict[str, object]:
        """The check as a dict, as in the JSON of a run."""
        rests = {
            "rare_losses": None if self.rare_losses is None else self.rare_losses.to_dict(),
            "concentration": None if self.concentration is None else self.concentration.to_dict(),
        }
        shared = {} if self.shared is None else {"shared": self.shared}
        return {name: getattr(self, name) for name in NAMES} | rests | shared


def pass_or_fail(passed: bool) -> str:
    """The verdict of a check that does not concern a difference."""
    return PASSED if passed else FAILED
