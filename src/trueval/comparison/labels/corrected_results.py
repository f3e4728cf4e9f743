"""Corrected results: corrected values alongside the judge's, the audit they use, and what more labels would gain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from trueval.comparison.labels.audit_planning import labels_needed, width_after
from trueval.comparison.labels.audit_sample import ALL_QUERIES
from trueval.comparison.labels.both_labels import LabelSets
from trueval.comparison.labels.label_source import JUDGE
from trueval.evaluation.corrected_values import (
    AuditSummary,
    ExpectedWidth,
    LabelPlan,
)
from trueval.policy.policy import OURS
from trueval.report.json_fields import encode

if TYPE_CHECKING:
    from trueval.comparison.labels.audit_sample import AuditSample
    from trueval.comparison.labels.correction import Corrected, CorrectedResults, Correction
    from trueval.comparison.labels.label_source import LabelSource

# Growth factors of the graded part in the curve of widths, up to the population.
GROWTH: Final = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0)


def with_corrections(
    results: Mapping[str, Any], found: CorrectedResults, joined: LabelSource, folder: str, labels: str = JUDGE
) -> dict[str, object]:
    """The JSON of an evaluation or a comparison with corrected values alongside its own, and a summary of the audit.

    Args:
        results: results of `trueval evaluate` or `trueval compare` on the same runs.
        found: corrected values of the runs.
        joined: the judgments and the audit.
        folder: folder of the audit, as recorded in the results.
        labels: whose labels the values of the results use.
    """
    if joined.audited is None:
        return dict(results)
    entries = {name: [each.to_dict() for each in found.corrections if each.run == name] for name in found.runs}
    added = {**results, "audit": encode(about(found, joined, joined.audited, folder, labels))}
    if "leaderboards" not in results:
        return {**added, "runs": [{**run, "corrected": entries[run["name"]]} for run in results["runs"]]}
    pairs = {(each.run, each.second, each.measure): each.to_dict() for each in found.differences}
    return {
        **added,
        "corrected": [{"name": name, "corrected": entries[name]} for name in results["runs"]],
        "differences": [
            {**row, "corrected": pairs[row["first"], row["second"], row["measure"]]} for row in results["differences"]
        ],
    }


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
        PolicyError: the width is not above 0.
    """
    planned = found.to_result(lambda each: _plan(each, width))
    return replace(planned, audit=audit, width=width)


def _plan(correction: Correction, width: float | None) -> LabelPlan | None:
    """The labels needed for a width, and how the width falls as more is graded; None where it cannot fall."""
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
    return LabelPlan(now, needed.width, needed.units, needed.labels, needed.least, tuple(curve))
