"""Values of runs by the judge's labels and by people's, over the same queries under the same policy.

People's values use the judge's judgments with people's grades in place of the judge's, so that only grades differ:
documents, their order, sources, ties and conventions are the same on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from trueval.comparison.labels.audit_batches import KEYS
from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.prediction_powered import rounding_tolerance
from trueval.errors import InputError, Place, PolicyError
from trueval.evaluation.evaluate import evaluate_measure
from trueval.judgments import Judgments
from trueval.measures import Measure, Values
from trueval.policy.policy import Policy
from trueval.run import Run
from trueval.standings.counting import counter
from trueval.standings.standings import Bools, Floats, Ints, Standings

# Shares of the highest grade in hypothetical labels that test whether any labels can distinguish two runs.
IMAGINED: Final = (0.5, 0.2, 0.1, 0.05)

# Values that differ by less count as equal.
ROUNDING: Final = 1e-9


@dataclass(frozen=True, eq=False)
class LabelSets:
    """The judge's judgments and people's labels of a sample of them.

    Attributes:
        judge: judgments as they were when the sample was drawn.
        audited: people's labels of a sample of these judgments.
        policy: all choices that affect the numbers.
    """

    judge: Judgments
    audited: AuditSample
    policy: Policy

    @cached_property
    def people(self) -> Judgments:
        """The judgments with people's grades in place of the judge's."""
        return self.audited.over(self.judge)

    @cached_property
    def query_ids(self) -> list[str]:
        """The queries of the judgments; all values are over these."""
        found: list[str] = self.judge.query_ids.to_list()
        return found

    @cached_property
    def judged(self) -> pl.DataFrame:
        """query_id, doc_id, grade of the passages that the judge graded; grades below 0 mean unjudged."""
        return self.judge.frame.filter(pl.col("grade") >= 0)

    @cached_property
    def answered(self) -> pl.DataFrame:
        """query_id, doc_id of the items that people graded or skipped."""
        left = pl.DataFrame(sorted(self.audited.skipped), schema=dict.fromkeys(KEYS, pl.String), orient="row")
        return pl.concat([self.audited.labels.select(KEYS), left])

    @cached_property
    def whole(self) -> Bools:
        """[query] whether people answered all its judged passages, and graded at least one."""
        open_passages = self.judged.join(self.answered, on=list(KEYS), how="anti")["query_id"]
        graded = self.audited.labels["query_id"]
        ids = self.judge.query_ids
        found: Bools = (ids.is_in(graded.implode()) & ~ids.is_in(open_passages.implode())).to_numpy()
        return found

    @cached_property
    def settled(self) -> Bools:
        """[query] whether the judge graded none of its passages: it cannot be drawn, and labels do not affect it."""
        found: Bools = (~self.judge.query_ids.is_in(self.judged["query_id"].implode())).to_numpy()
        return found

    @cached_property
    def owner(self) -> Ints:
        """[row of the judgments] index of its query."""
        return np.repeat(np.arange(len(self.query_ids)), np.diff(self.judge.offsets))

    @cached_property
    def graded(self) -> pl.DataFrame:
        """Row of the judgments, and stratum, of each passage that people graded."""
        rows = self.judge.frame.select(KEYS).with_row_index("row")
        asked = self.audited.items.join(self.audited.labels, on=list(KEYS), how="semi")
        return rows.join(asked, on=list(KEYS), how="inner", maintain_order="left").select("row", "stratum")

    def check(self) -> None:
        """Refuse labels that do not fit the judgments: other passages, or another scale.

        Raises:
            InputError: an item is not judged, or the judge's grades are not on people's scale.
            PolicyError: the judgments have facets.
        """
        place, (low, high) = Place(self.judge.source), self.audited.scale
        if "facet" in self.judge.frame.columns:
            raise PolicyError(
                "Corrections need judgments without facets: people grade passages, not facets. Remove their column."
            )
        self._check_passages(place)
        outside = self.judged.filter(~pl.col("grade").is_between(low, high))
        if len(outside):
            query, document, grade = outside.select(*KEYS, "grade").row(0)
            raise place.error(
                f"the judge gave document {document!r} of query {query!r} the grade {grade:g}, and people grade from "
                f"{low:g} to {high:g}. Both must be on one scale: map the grades of both."
            )

    def _check_passages(self, place: Place) -> None:
        """Refuse a sample of passages that are not in the judgments, or that was drawn from fewer or more."""
        if self.audited.batches is not None:
            members = self.audited.batches.members
            strange = members.filter(~pl.col("query_id").is_in(self.judge.query_ids.implode()))
            if len(strange):
                raise place.error(
                    f"query {strange['query_id'][0]!r} is in the audit and not judged here. Give the judgments that "
                    "the sample was drawn from, or draw a new sample."
                )
            return
        strange = self.audited.items.join(self.judged, on=list(KEYS), how="anti")
        if len(strange):
            query, document = strange.select(KEYS).row(0)
            raise place.error(
                f"document {document!r} of query {query!r} is in the audit and not judged here; such documents: "
                f"{len(strange)}. Give the judgments that the sample was drawn from, or draw a new sample."
            )
        populations = sum(self.audited.population.values())
        drawn_from = self.judged["query_id"].n_unique() if self.audited.design == "queries" else len(self.judged)
        if populations != drawn_from:
            what = "queries" if self.audited.design == "queries" else "judged passages"
            raise place.error(
                f"{drawn_from:,} {what}, and the sample was drawn from {populations:,}. Give the judgments that it was "
                "drawn from, or draw a new sample."
            )


@dataclass(frozen=True, eq=False)
class Sides:
    """One run, evaluated under both labels.

    Attributes:
        labels: labels of judge and people.
        judge: standings under the policy by the judge's labels.
        people: standings by people's labels.
    """

    run: Run
    labels: LabelSets
    judge: Callable[[Policy], Standings]
    people: Callable[[Policy], Standings]

    @classmethod
    def of(cls, run: Run, labels: LabelSets) -> Sides:
        """Count the standings of a run under both labels.

        Args:
            labels: labels of judge and people.
        """
        return cls(run, labels, counter(run, labels.judge), counter(run, labels.people))

    @property
    def name(self) -> str:
        """The run's name."""
        return self.run.name

    @cached_property
    def absent(self) -> Bools:
        """[query] whether the run lacks the query.

        Raises:
            InputError: it does, and the policy refuses that.
        """
        found: Bools = self.judge(self.labels.policy).absent
        if self.labels.policy.missing == "error" and found.any():
            raise InputError(
                f"{self.name} lacks {int(found.sum())} of {len(found)} judged queries, the first "
                f"{self.labels.query_ids[int(found.argmax())]!r}. Count them with missing='worst', or leave them out "
                "with missing='skip'."
            )
        return found

    def values(self, measure: Measure) -> PairedValues:
        """Values of a measure per query under both labels, expected over tie orders.

        Args:
            measure: the measure as requested.

        Raises:
            InputError: a query is empty under one of them, and the policy refuses that.
        """
        policy = self.labels.policy.of(measure.innermost.name)
        found: list[Values] = [
            evaluate_measure(count(policy), measure, policy, self.absent, self.labels.query_ids)
            for count in (self.judge, self.people)
        ]
        judge, people, settled = found[0].expected, found[1].expected, self.labels.settled
        # Documents without a value under any labels are treated like documents that the run lacks.
        there = ~(self.absent & (policy.missing == "skip")) & ~(settled & np.isnan(judge))
        return PairedValues(judge, people, there, settled & there, rounding_tolerance(judge))


def never_differ(one: Sides, other: Sides, measure: Measure) -> bool:
    """Whether two runs have equal values under all labels: their lists differ only where the measure ignores them.

    Args:
        one: values of one run.
        other: another run, under the same labels.
        measure: the measure as requested.
    """
    labels, rng = one.labels, np.random.default_rng(0)
    policy, frame = replace(labels.policy, empty="zero"), labels.judge.frame
    low, high = (0.0, 1.0) if policy.labels == "binary" else labels.audited.scale
    for share in IMAGINED:
        ends = np.where(rng.random(frame.height) < share, high, low)
        grades = pl.Series("grade", np.where(frame["grade"].to_numpy() < 0, -1.0, ends))
        imagined = LabelSets(replace(labels.judge, frame=frame.with_columns(grades)), labels.audited, policy)
        apart = np.subtract(*(Sides.of(side.run, imagined).values(measure).judge for side in (one, other)))
        if (np.abs(np.nan_to_num(apart)) > ROUNDING).any():
            return False
    return True


@dataclass(frozen=True, eq=False)
class PairedValues:
    """Per-query values by both labels.

    Attributes:
        judge: [query] by the judge's labels; NaN where the policy leaves the query out.
        people: [query] by people's labels where they graded the query, by the judge's elsewhere.
        there: [query] whether the run has the query, or the policy counts missing queries.
        settled: [query] whether the query counts and has the same value under all labels, as none of its passages is
            graded.
        rounding: values by the judge's labels that differ by at most this are equal.
    """

    judge: Floats
    people: Floats
    there: Bools
    settled: Bools
    rounding: float = 0.0

    def less(self, other: PairedValues) -> PairedValues:
        """The differences from another run, on the queries for which both have a value.

        Args:
            other: values to subtract.
        """
        there = self.there & other.there
        least = max(self.rounding, other.rounding)
        return PairedValues(self.judge - other.judge, self.people - other.people, there, self.settled & there, least)
