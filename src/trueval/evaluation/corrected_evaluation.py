"""An evaluation with what people's labels say of it, as `trueval evaluate` writes it where there was an audit."""

from __future__ import annotations

from dataclasses import dataclass, field

from trueval.evaluation.corrected_values import AuditSummary, CorrectedValue, RefusedValue
from trueval.evaluation.evaluation_result import Evaluation, RunMeans
from trueval.report.json_fields import OMITTED


@dataclass(frozen=True)
class CorrectedRunMeans(RunMeans):
    """The means of a run, and for each measure its corrected value or why there is none."""

    corrected: tuple[RefusedValue | CorrectedValue, ...] = field(default=(), metadata=OMITTED)


@dataclass(frozen=True, repr=False)
class CorrectedEvaluation(Evaluation):
    """The means of several runs under one policy.

    Attributes:
        runs: in the order given.
        audit: the audit that values were corrected by; None where there was none.
    """

    runs: tuple[CorrectedRunMeans, ...]
    audit: AuditSummary | None = field(default=None, metadata=OMITTED)
