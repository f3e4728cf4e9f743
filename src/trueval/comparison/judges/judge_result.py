"""Verdicts over judges: whether a difference holds by the labels of others, and for every judge with bounded errors."""

from __future__ import annotations

from dataclasses import dataclass

ROBUST = "robust"
DEPENDS = "depends on the judge"
EQUAL = "no difference"
UNDECIDED = "not shown"


@dataclass(frozen=True)
class JudgeVerdict:
    """The difference of two runs by several judges.

    Attributes:
        measure: the measure's text form.
        first: name of the first run.
        second: name of the second run.
        differences: [judge] mean difference, first - second, by the labels of each.
        mean: of these.
        without: [judge] the mean of the others.
        turned_by: names of the judges whose labels give the other run the lead, against the first judge.
        deciding: name of the judge without which the mean of the others has another sign; None if there is none.
        verdict: "robust" where it has one sign by all judges; "turned by judge B" and so on; "depends on the judge"
            where it is 0 by some of them; "no difference" where it is 0 by all.
    """

    measure: str
    first: str
    second: str
    differences: tuple[float, ...]
    mean: float
    without: tuple[float, ...]
    turned_by: tuple[str, ...]
    deciding: str | None
    verdict: str


@dataclass(frozen=True)
class BoundedVerdict:
    """The difference of two runs for every judge with errors inside the bounds of an audit.

    Attributes:
        measure: the measure's text form.
        first: name of the first run.
        second: name of the second run.
        difference: mean difference, first - second, by the judge's labels.
        low: least difference over all label tables inside the bounds that keep people's labels, expected over tie
            orders; of nDCG and recall a bound that no table may reach, as are the next two.
        high: greatest one.
        with_ties: the end nearer to 0, or beyond it, whatever the orders of ties; a bound, which no order may reach.
        turning: least number of labels whose change makes the leading run lose its lead; None where no number does, and
            for nDCG and recall.
        labels: number of judged passages.
        verdict: "robust" where the lead has one sign for all tables, "depends on the judge" where a table ends it, "not
            shown" where bounds of nDCG or recall leave that open, or "no difference".
    """

    measure: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    with_ties: float
    turning: int | None
    labels: int
    verdict: str

    @property
    def error(self) -> float | None:
        """The smallest share of wrong labels that turns the difference; None where no share does."""
        return None if self.turning is None else self.turning / self.labels


@dataclass(frozen=True)
class JudgeVerdicts:
    """Verdicts over judges.

    Attributes:
        judges: names of the judges; one where only its errors are bounded.
        by_judge: one per pair and measure; empty for one judge.
        error: "bounded" by grade, "by-system" by grade and by the system that a passage favors; None without bounds.
        bounded: one per pair and measure with bounds.
        refused: why measures have no bounds.
        level: level of the bounds, all together.
    """

    judges: tuple[str, ...]
    by_judge: tuple[JudgeVerdict, ...]
    error: str | None
    bounded: tuple[BoundedVerdict, ...]
    refused: tuple[str, ...]
    level: float
