"""Correction: measures with intervals from runs, a judge's labels and people's labels of a sample.

Source: docs/formulas.md §7; Angelopoulos et al. 2023; Oosterhuis et al. 2024.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trueval.comparison.labels.audit_batches import ALL_PASSAGES
from trueval.comparison.labels.audit_sample import ALL_QUERIES, AuditSample, no_labels
from trueval.comparison.labels.both_labels import LabelSets, Sides, never_differ
from trueval.comparison.labels.contributions import Contributions, contributions
from trueval.comparison.labels.correction import CorrectedResults, Correction
from trueval.comparison.labels.design_estimate import NEW, TARGETS, DesignEstimate, varies, without_interval
from trueval.comparison.labels.document_design import FEWEST, Strata, by_documents, merge_strata
from trueval.comparison.labels.gain_weights import GainWeights, scale_of, weigh_gains
from trueval.comparison.labels.poisson_design import BatchLabels, by_chances
from trueval.comparison.labels.query_design import by_queries
from trueval.errors import InputError, PolicyError
from trueval.evaluation.defaults import PLAIN, RELEVANT, Request, fill_defaults
from trueval.judgments import Judgments
from trueval.measures import Measure
from trueval.report.number_texts import count_phrase
from trueval.run import Run, is_one_run
from trueval.standings.standings import Floats, sum_by

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.evaluation.evaluate import Measures
    from trueval.judgments import JudgmentsLike
    from trueval.policy.policy import Policy
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.run import RunLike, RunsLike

__all__ = ["CorrectedResults", "Correction", "correct", "correction_defaults"]

# Default measures by design: from single passages, no measure with an estimated norm can be corrected.
DEFAULTS: Final = {"queries": PLAIN, "documents": "P@10 DCG@10", "poisson": "P@10 DCG@10"}
OF_PASSAGES: Final = "P4+@10 Harm@10"  # added where grades reach 4
RUBRIC: Final = (1.0, 5.0)  # least and greatest grade
OF_CONTEXTS: Final = f"RA-nWG@10 N-Recall4+@10 {OF_PASSAGES}"  # added where people graded whole queries from 1 to 5

# Minimum number of labels, or of fully graded queries, for a claim of coverage (docs/audit.md).
FEW_LABELS = 50
FEW_QUERIES = 20


def correct(
    runs: RunLike | RunsLike,
    judgments: JudgmentsLike,
    audited: AuditSample | str | Path,
    measures: Measures | None = None,
    *,
    target: str = NEW,
    level: float = 0.95,
    baseline: str | None = None,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> CorrectedResults:
    """Correct measures of runs, and their differences, by people's labels of a sample.

    A corrected value is the judge's mean over all queries plus an estimate, from people's labels, of the judge's error.

    Args:
        runs: one run, or several in a list or a dict by name, as `Run.of` takes them.
        judgments: the judge's judgments, unchanged since the sample was drawn; as in evaluate.
        audited: people's labels: an AuditSample, or the folder of an audit.
        measures: as in evaluate; None for those that the design of the audit can correct.
        target: "new queries", of which the given ones are a sample, or "these queries", as if people had graded all.
        baseline: name of the run to compare the others with; None for all pairs.
        policy: as in evaluate.
        choices: attributes of Policy, as in evaluate.

    Returns:
        For each measure the judge's mean, people's mean and the corrected one, or the reason for its absence.

    Raises:
        InputError: labels and judgments do not belong together, nobody graded, or a run is bad.
        PolicyError: the target or a choice is unknown.

    >>> import polars as pl
    >>> judge = {query: {"a": 1, "b": 0} for query in "1234"}
    >>> items = pl.DataFrame({"query_id": list("1122"), "doc_id": list("abab"), "stratum": "queries"})
    >>> said = items.select("query_id", "doc_id", grade=pl.Series([1.0, 0.0, 0.0, 0.0]))
    >>> audited = AuditSample("queries", items, said, {"queries": 4}, (0.0, 1.0))
    >>> run = {query: {"a": 2.0, "b": 1.0} for query in judge}
    >>> found = correct(run, judge, audited, "P@1").of("run", "P@1")
    >>> found.judge, found.people.estimate, found.corrected.estimate
    (1.0, 0.5, 0.5)
    """
    if target not in TARGETS:
        raise PolicyError(f"target must be one of {', '.join(map(repr, TARGETS))}. Got {target!r}.")
    if not 0.5 < level < 1:
        raise PolicyError(f"level must be between 0.5 and 1, such as 0.95. Got {level!r}.")
    several, judge = _runs(runs), Judgments.of(judgments)
    audited = audited if isinstance(audited, AuditSample) else AuditSample.read(audited)
    if not len(audited.labels):
        raise no_labels(audited)
    parsed, chosen = correction_defaults(judge, audited, measures, policy, choices)
    if audited.batches is not None:
        judge = audited.batches.extend(judge)
    labels = LabelSets(judge, audited, chosen)
    labels.check()
    sides = {run.name: Sides.of(run, labels) for run in several}
    pairs = _pairs(list(sides), baseline)
    asked = _CorrectionSettings(labels, target, level)
    return CorrectedResults(
        audited.design,
        target,
        level,
        tuple(sides),
        tuple(asked.correct_measure(measure, side) for side in sides.values() for measure in parsed),
        tuple(asked.correct_measure(measure, sides[a], sides[b]) for a, b in pairs for measure in parsed),
        chosen.to_dict(),
    )


def correction_defaults(
    judgments: object,
    audited: AuditSample,
    measures: Measures | None,
    policy: Policy | None = None,
    choices: Mapping[str, object] | None = None,
) -> Request:
    """The measures and policy of a correction; defaults are those that the design of the audit can correct.

    Args:
        audited: the audit, with its design and scale.
        measures: as in evaluate; None for the defaults.
        choices: attributes of Policy, as in evaluate.

    Raises:
        MeasureError: a measure cannot be read.
        PolicyError: a choice is unknown.
    """
    of_documents = audited.design != "queries"
    beside = ""
    if of_documents and audited.scale[1] >= RELEVANT:
        beside = OF_PASSAGES
    elif not of_documents and audited.scale == RUBRIC:
        beside = OF_CONTEXTS
    plain = f"{DEFAULTS[audited.design]} {beside}"
    return fill_defaults(
        judgments, measures, policy, choices, plain=plain, rubric=OF_PASSAGES if of_documents else None
    )


def _runs(given: Any) -> list[Run]:
    """Read the runs and check that their names differ.

    Raises:
        InputError: two have the same.
    """
    several = isinstance(given, list | tuple) or (isinstance(given, Mapping) and not is_one_run(given))
    runs = Run.of_several(given) if several else [Run.of(given)]
    name, times = Counter(run.name for run in runs).most_common(1)[0]
    if times > 1:
        raise InputError(f"Runs must have different names. Got {name!r} {times} times; rename one.")
    return runs


def _pairs(names: Sequence[str], baseline: str | None) -> list[tuple[str, str]]:
    if baseline is None:
        return list(combinations(names, 2))
    if baseline not in names:
        raise InputError(f"The baseline must be one of the runs {', '.join(names)}. Got {baseline!r}.")
    return [(name, baseline) for name in names if name != baseline]


class _CorrectionSettings:
    """Settings that all corrections share.

    Args:
        labels: labels of judge and people.
        target: "new queries" or "these queries".
    """

    def __init__(self, labels: LabelSets, target: str, level: float) -> None:
        self.labels, self.target, self.level = labels, target, level

    def correct_measure(self, measure: Measure, side: Sides, other: Sides | None = None) -> Correction:
        """Correct one measure of a run, or of its difference from another."""
        second = None if other is None else other.name
        span = measure.span if other is None else measure.span.of_differences
        empty = Correction(
            str(measure), side.name, second, self.labels.audited.design, self.target, self.level, span=span
        )
        if measure.definition.mean != "arithmetic":
            return _mark_refused(empty, f"it is a {measure.definition.mean} mean over queries; correct {measure.inner}")
        if measure.needs_facets:
            return _mark_refused(empty, "it needs grades of facets, and people graded passages; no design has it")
        if empty.design == "queries":
            return self._by_queries(empty, measure, side, other)
        added = contributions(side, measure)
        taken = None if other is None else contributions(other, measure)
        if isinstance(added, str) or isinstance(taken, str):
            return _mark_refused(empty, added if isinstance(added, str) else str(taken))
        less = added if taken is None else added.less(taken)
        if self.labels.audited.batches is None:
            return self._by_documents(empty, measure, less, side, other)
        worth = weigh_gains(side, measure, scale_of(self.labels), added)
        if isinstance(worth, str):
            return _mark_refused(empty, worth)
        if other is not None and taken is not None:
            of_other = weigh_gains(other, measure, scale_of(self.labels), taken)
            if isinstance(of_other, str):
                return _mark_refused(empty, of_other)
            worth = worth.less(of_other)
        return self._by_chances(empty, less, worth, measure, side, other)

    def _by_documents(
        self, empty: Correction, measure: Measure, added: Contributions, side: Sides, other: Sides | None
    ) -> Correction:
        labels, owner = self.labels, self.labels.owner
        rows = labels.graded["row"].to_numpy().astype(np.int64)
        number = int(added.there.sum())
        if len(rows) < FEWEST or number < FEWEST:
            return _mark_refused(
                empty, f"at least 2 graded passages and 2 queries are needed. Got {len(rows)} and {number}"
            )
        strata = merge_strata(labels.audited.population, labels.graded["stratum"].to_list())
        found = by_documents(added, rows, strata, owner, self.target, self.level, empty.span)
        judge = sum_by(owner, added.judge, len(added.there)) + added.constant
        begun = replace(empty, labels=len(rows), queries=len(np.unique(owner[rows])), judge_queries=number)
        begun = replace(begun, judge=_mean(judge[added.there]))
        found = self._with_intervals(found, measure, side, other)
        return self._fill(begun, found, strata.names, self._document_warnings(strata))

    def _by_chances(
        self,
        empty: Correction,
        added: Contributions,
        worth: GainWeights,
        measure: Measure,
        side: Sides,
        other: Sides | None,
    ) -> Correction:
        """Correct a measure, or a difference, from batches of passages with known chances."""
        batches = self.labels.audited.batches
        if batches is None:
            return _mark_refused(empty, "the audit has no chances")
        known, number = BatchLabels.of(self.labels, batches), int(added.there.sum())
        why = known.refuse(worth, self.labels.judge)
        if why is not None:
            return _mark_refused(empty, why)
        if len(known.rows) < FEWEST or number < FEWEST:
            return _mark_refused(
                empty,
                f"at least 2 graded passages of batches that are answered as a whole, and 2 queries, are needed. Got "
                f"{len(known.rows)} and {number}",
            )
        sample = known.sample(worth, known.number)
        found = by_chances(sample, self.target, self.level, empty.span)
        found = self._with_intervals(found, measure, side, other)
        judge = sum_by(sample.owner, added.judge, len(added.there)) + added.constant
        queries = len(np.unique(sample.owner[sample.drawn.rows]))
        begun = replace(empty, labels=len(sample.gains), queries=queries, judge_queries=number)
        begun = replace(begun, judge=_mean(judge[added.there]))
        return self._fill(begun, found, (ALL_PASSAGES,), self._batch_warnings())

    def _batch_warnings(self) -> Iterator[str]:
        """Warnings about a batch that is not answered, and passages that were skipped."""
        audited = self.labels.audited
        if audited.batches is not None:
            left = len(audited.batches.open_ones(audited.labels, audited.skipped))
            if left:
                yield f"The last batch does not count yet: {count_phrase(left, 'passage is', 'passages are')} open."
        if audited.skipped:
            yield (
                f"{count_phrase(len(audited.skipped), 'passage', 'passages')} that people skipped count as what people "
                "said of passages with the same grade."
            )

    def _document_warnings(self, strata: Strata) -> Iterator[str]:
        """Warnings about strata that were merged and passages that were skipped."""
        audited = self.labels.audited
        if len(strata.names) < len(audited.population):
            count = len(audited.population)
            yield f"{count} strata were merged to {len(strata.names)}: the others have fewer than 2 answers."
        if audited.skipped:
            yield (
                f"{count_phrase(len(audited.skipped), 'passage', 'passages')} that people skipped: the others of their "
                "strata stand for them."
            )

    def _by_queries(self, empty: Correction, measure: Measure, side: Sides, other: Sides | None) -> Correction:
        values = side.values(measure)
        if other is not None:
            values = values.less(other.values(measure))
        whole = self.labels.whole & values.there
        found = by_queries(values, whole, self.target, self.level, empty.span)
        if found is None:
            return _mark_refused(
                empty,
                f"people graded {count_phrase(int(whole.sum()), 'query', 'queries')} whole, and at least 2 must count. "
                "Grade on, or draw single passages (design documents) for P, Hits, DCG and RBP",
            )
        ids = self.labels.judge.query_ids.filter(whole)
        used = int(self.labels.audited.labels["query_id"].is_in(ids.implode()).sum())
        known = values.judge[~np.isnan(values.judge)]
        return self._fill(
            replace(empty, labels=used, queries=len(ids), judge=_mean(known), judge_queries=len(known)),
            self._with_intervals(found, measure, side, other),
            (ALL_QUERIES,),
            self._query_warnings(),
        )

    @staticmethod
    def _with_intervals(found: DesignEstimate, measure: Measure, side: Sides, other: Sides | None) -> DesignEstimate:
        """The estimates, without intervals of accidental zero width: equal units say nothing about spread.

        Where everything is graded, or no labels can separate two runs, zero width is correct.
        """
        told = (found.people, found.corrected, found.untuned)
        if not found.is_partial or all(map(varies, told)):
            return found
        if other is not None and never_differ(side, other, measure):
            return found
        people, corrected, untuned = (each if varies(each) else without_interval(each) for each in told)
        return replace(found, people=people, corrected=corrected, untuned=untuned)

    def _fill(
        self, begun: Correction, found: DesignEstimate, strata: Sequence[str], notes: Iterator[str]
    ) -> Correction:
        """The numbers of a design as fields of a correction."""
        if math.isnan(found.corrected.se):
            notes = chain(_alike(begun.design), notes)
        return replace(
            begun,
            people=found.people,
            people_queries=found.queries,
            corrected=found.corrected,
            untuned=found.untuned,
            weight=found.weight,
            correlation=found.correlation,
            skipped=len(self.labels.audited.skipped),
            strata=found.strata(strata),
            open=found.open(self.labels.query_ids),
            fixed=found.fixed,
            warnings=(*_few(begun), *notes),
        )

    def _query_warnings(self) -> Iterator[str]:
        """Warnings about queries that are only partly graded, and about passages that were skipped."""
        audited, whole = self.labels.audited, int(self.labels.whole.sum())
        sampled = audited.items["query_id"].n_unique()
        if whole < sampled:
            yield f"{sampled - whole} of {sampled} queries of the sample are not answered whole and are left out."
        if audited.skipped:
            yield (
                f"{count_phrase(len(audited.skipped), 'passage', 'passages')} that people skipped keep the "
                "judge's grade: "
                "the interval takes the judge to be right about them."
            )


def _few(begun: Correction) -> Iterator[str]:
    little = None
    if begun.labels < FEW_LABELS:
        little = f"{count_phrase(begun.labels, 'label', 'labels')} of people: below about {FEW_LABELS}"
    elif begun.design == "queries" and begun.queries < FEW_QUERIES:
        little = f"{count_phrase(begun.queries, 'query', 'queries')} graded whole: below about {FEW_QUERIES}"
    if little is not None:
        yield f"only {little} the interval has no stated coverage."


def _alike(design: str) -> Iterator[str]:
    units = "queries" if design == "queries" else "passages"
    yield f"the graded {units} are all alike, which tells nothing of how the others differ: there is no interval."


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _mark_refused(empty: Correction, why: str) -> Correction:
    return replace(empty, refused=f"{empty.measure}: {why}.")
