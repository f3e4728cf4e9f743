"""Checks: what was found about each limit that a run must keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from trueval.comparison.resampling.concentration import Concentration
from trueval.comparison.resampling.rare_losses import RareLosses

# What a check against an allowed drop says; every other one has passed or failed, or cannot tell where people's labels
# decide.
NOT_WORSE: Final = "not worse"
WORSE: Final = "worse"
CANNOT_TELL: Final = "cannot tell"
PASSED: Final = "passed"
FAILED: Final = "failed"

# The chance with which `needed` queries decide a check, if the difference is what it seems.
POWER: Final = 0.8

# What the JSON of a check holds, in this order.
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
    """What was found about one limit, run and measure.

    Attributes:
        name: "max-range", "min", "max-drop"; or why a run cannot be held against its limits: "judged" (nothing of it is
            judged), "queries" (too few judged queries are in it, or in its baseline too, or have something to find),
            "relevant" (none has), "comparable" (its baseline was measured otherwise), "distinct" (it is its own
            baseline).
        run: its name.
        measure: the measure's text form; None where it is about all.
        limit: the limit; None where there is none. Of "queries", how many there must be.
        value: what was held against it: the range, the expected mean, or the difference from the baseline, above 0
            where the run is better; None where not available. Of "queries", how many there are.
        low: lower end of what was found: the lowest mean, or the lower end of the interval of the difference.
        high: its upper end.
        verdict: "passed" or "failed"; of "max-drop" "not worse" or "worse"; "cannot tell" where an interval decides and
            does not.
        passed: whether the run keeps the limit; what is not available does not.
        line: the whole story in one sentence or two.
        option: the limit as an option of the command line.
        baseline: name of the run that it is compared with; None if there is none.
        level: of the interval; None where there is none.
        bounded: whether the interval, or the mean of "min", is known by bounds only.
        queries: that the comparison counts; None where there is none.
        clusters: that they are in; None where each counts by itself.
        needed: how many queries, or clusters where there are any, would decide a check that cannot tell; of corrected
            values, how many queries or passages people must have graded. None where no number would, or it is decided.
        labels: whose grades the value is of: "judge" (those of the judgments), "corrected" or "people".
        rare_losses: what so few queries do not exclude though the run is "not worse"; None for every other verdict, and
            where the run holds the rows of its baseline.
        concentration: the few queries that the interval of a drop rests on; None where many carry it, or it is by bets.
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

    def to_dict(self) -> dict[str, Any]:
        """As it appears in the JSON of a run."""
        rests = {
            "rare_losses": None if self.rare_losses is None else self.rare_losses.to_dict(),
            "concentration": None if self.concentration is None else self.concentration.to_dict(),
        }
        return {name: getattr(self, name) for name in NAMES} | rests


def pass_or_fail(passed: bool) -> str:
    """The verdict of a check that is not about a difference."""
    return PASSED if passed else FAILED
