"""Corrected results: corrected values alongside the judge's, the audit they use, and what more labels would gain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from trueval.comparison.labels.audit_planning import labels_needed, width_after
from trueval.comparison.labels.audit_sample import ALL_QUERIES
from trueval.comparison.labels.both_labels import LabelSets
from trueval.comparison.labels.label_source import JUDGE
from trueval.errors import PolicyError
from trueval.evaluation.corrected_values import (
    AuditSummary,
    CorrectedRun,
    CorrectedValue,
    ExpectedWidth,
    LabelPlan,
    RefusedValue,
)
from trueval.policy.policy import OURS
from trueval.report.json_fields import encode

if TYPE_CHECKING:
    from trueval.comparison.comparison import Comparison
    from trueval.comparison.labels.audit_sample import AuditSample
    from trueval.comparison.labels.correction import Corrected, CorrectedResults, Correction
    from trueval.comparison.labels.label_source import LabelSource

# Growth factors of the graded part in the curve of widths, up to the population.
GROWTH: Final = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0)


def correct_evaluation(results: Mapping[str, Any], found: CorrectedResults, audit: AuditSummary) -> dict[str, object]:
    """The JSON of an evaluation with corrected values beside its own; other rooms may have added entries to it.

    Args:
        results: results of `trueval evaluate`.
        found: corrected values of the same runs.
        audit: summary of the audit.
    """
    runs = [{**run, "corrected": encode(_of_run(found, run["name"]))} for run in results["runs"]]
    return {**results, "audit": encode(audit), "runs": runs}


def correct_comparison(comparison: Comparison, found: CorrectedResults, audit: AuditSummary) -> Comparison:
    """A comparison with corrected values beside its own.

    Args:
        comparison: result of `trueval compare`.
        found: corrected values of the same runs.
        audit: summary of the audit.
    """
    return replace(
        comparison,
        audit=audit,
        corrected=tuple(CorrectedRun(name, _of_run(found, name)) for name in comparison.runs),
        differences=tuple(
            replace(each, corrected=found.difference(each.first, each.second, each.measure).entry())
            for each in comparison.differences
        ),
    )


def _of_run(found: CorrectedResults, run: str) -> tuple[RefusedValue | CorrectedValue, ...]:
    return tuple(each.entry() for each in found.corrections if each.run == run)


def about(
    found: CorrectedResults, joined: LabelSource, audited: AuditSample, folder: str, labels: str = JUDGE
) -> AuditSummary:
    """Summarize the audit for the results.

    Args:
        found: corrected values.
        joined: the judgments and the audit.
        folder: folder of the audit, as recorded in the results.
        labels: whose labels the values of the results use.
    """
    whole = int(LabelSets(joined.judge, audited, OURS).whole.sum())
    return AuditSummary(
        folder,
        labels,
        found.design,
        found.target,
        found.level,
        sampled=whole if audited.design == ALL_QUERIES else len(audited.labels),
        population=sum(audited.population.values()),
        people_labels=len(audited.labels),
        skipped=len(audited.skipped),
    )


def add_label_plans(found: CorrectedResults, audit: AuditSummary, width: float | None) -> Corrected:
    """The result of `trueval golden correct`: corrected values, a summary of the audit, and label plans.

    Args:
        found: corrected values.
        audit: summary of the audit.
        width: target width of the intervals, from end to end; None for half of the width that labels can remove from
            each.

    Raises:
        PolicyError: the width is not above 0, or the audit was drawn for a decision.
    """
    if width is not None and audit.design == "poisson":
        raise PolicyError(
            "--width plans labels that are drawn with equal chances, and this audit was drawn where they decide. Leave "
            "it out; trueval golden next draws more until the decision holds."
        )
    planned = found.to_result(lambda each: _plan(each, width))
    return replace(planned, audit=audit, width=width)


def _plan(correction: Correction, width: float | None) -> LabelPlan | None:
    """The labels needed for a width, and how the width falls as more is graded; None where it cannot fall."""
    if correction.design == "poisson":  # the next chances follow a decision, which is not known here
        return None
    # An interval of width 0, of two equal runs, cannot become narrower; NaN is that of none.
    if correction.refused is not None or not correction.corrected.width > 0:
        return None
    graded = sum(each.audited for each in correction.strata)
    population = sum(each.population for each in correction.strata)
    now = correction.corrected.width
    halfway = (now + width_after(correction, population - graded)) / 2
    needed = labels_needed(correction, halfway if width is None else width)
    points = dict.fromkeys(min(round(graded * factor), population) for factor in GROWTH)
    curve = (ExpectedWidth(point, width_after(correction, point - graded)) for point in points)
    unit = "queries" if correction.design == "queries" else "passages"
    return LabelPlan(now, needed.width, unit, needed.units, needed.labels, needed.least, tuple(curve))
