"""Correcting runs from files: what `trueval golden correct` does, in one call from Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from trueval.comparison.labels.correct import correct, correction_defaults
from trueval.comparison.labels.corrected_results import about, add_label_plans
from trueval.comparison.labels.correction import Corrected
from trueval.comparison.labels.label_source import CORRECTED, audit_beside, join
from trueval.errors import InputError, PolicyError
from trueval.evaluation.notes import note_low_thresholds
from trueval.rag.context_inputs import InputRules
from trueval.report.provenance import strip_folders

if TYPE_CHECKING:
    from trueval.measures.measure import Measure
    from trueval.policy.policy import Policy

TARGETS: Final = {"these": "these queries", "new": "new queries"}


class CorrectedRuns(NamedTuple):
    """Corrected measures of run files, and the precision that more labels would give.

    Attributes:
        result: the result of `trueval golden correct`.
        notes: one-line remarks on measures and judgments.
    """

    result: Corrected
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """The JSON of `trueval golden correct`."""
        return self.result.to_dict()


def correct_runs(
    place: str,
    runs: Sequence[str],
    measures: Sequence[Measure] | None = None,
    *,
    policy: Policy | None = None,
    audit: Path | None = None,
    grades: Mapping[float, float] | None = None,
    target: str = "new",
    level: float = 0.95,
    width: float | None = None,
    baseline: str | None = None,
    begin: Callable[[str], None] | None = None,
    **choices: object,
) -> CorrectedRuns:
    """Correct measures of run files by people's labels, and estimate the number of labels for a given interval width.

    Args:
        place: a golden set, or its judgments.
        runs: paths, or name=path.
        measures: measures to correct; if None, all that the design of the audit supports.
        audit: folder of the audit; that of the golden set by default.
        grades: grade in files → grade to use, for both judge and people; None keeps them.
        target: population of the intervals: "these" queries or "new" ones.
        width: full width of the intervals; None for halfway to the smallest that labels can give.
        baseline: the run with which the others are compared; None for all pairs.
        begin: called with each file before it is read.
        choices: attributes of Policy, as in evaluate.

    Raises:
        InputError: there is no audit, it has no answers, it is of other judgments, or a file is invalid.
        PolicyError: a choice is none.
    """
    if target not in TARGETS:
        raise PolicyError(f"target must be one of {', '.join(TARGETS)}. Got {target!r}.")
    folder = audit or audit_beside(place)
    if folder is None:
        raise InputError(f"{place}: there is no audit of it. Make one by trueval golden audit, or name --audit DIR.")
    if begin is not None:
        begin(place)
    inputs = InputRules()
    joined = join(inputs.read_judgments(place), folder, CORRECTED, grades=grades)
    lists = [pair.run for pair in inputs.read_runs(runs, joined.judge, begin)]
    audited = joined.audited
    if audited is None:  # refused earlier by join
        raise InputError(f"{folder}: there is no audit. Make one by trueval golden audit.")
    chosen, rules = correction_defaults(joined.judge, audited, measures, policy, choices)
    name = None if baseline is None else lists[list(runs).index(baseline)].name
    found = correct(
        lists, joined.judge, audited, chosen, target=TARGETS[target], level=level, baseline=name, policy=rules
    )
    notes = note_low_thresholds(joined.judge.frame["grade"].to_numpy(), chosen, rules)
    summary = about(found, joined, audited, strip_folders(str(folder)))
    return CorrectedRuns(add_label_plans(found, summary, width), notes)
