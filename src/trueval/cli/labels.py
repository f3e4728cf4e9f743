"""Labels of judge and people: the options, and the correction of values by people's labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from trueval.cli.output import talk

if TYPE_CHECKING:
    from trueval.comparison.labels.correction import CorrectedResults
    from trueval.comparison.labels.label_source import LabelSource
    from trueval.evaluation.corrected_values import AuditSummary
    from trueval.measures import Measure
    from trueval.policy.policy import Policy
    from trueval.rag.context_inputs import InputRules
    from trueval.run import Run


@dataclass(frozen=True, eq=False, repr=False)
class LabelOptions:
    """Whose labels count."""

    panel: ClassVar = "People's labels"

    labels: Annotated[
        Literal["judge", "corrected", "people", "people-first"],
        typer.Option(
            help="Whose grades values and gates are of, where people audited QRELS: judge (of QRELS), corrected (the "
            "judge's, and gates look at the values that people's labels correct), people (of the queries that they "
            "graded as a whole, and nothing else), people-first (people's where there is one, else the judge's)."
        ),
    ] = "judge"
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of an audit of QRELS, whose corrected values are shown beside. Default: that of the golden "
            "set, where QRELS is one and has an audit.",
        ),
    ] = None

    def folder(self, qrels: str) -> Path | None:
        """The named audit, or the one beside the judgments; None if there is none."""
        from trueval.comparison.labels.label_source import audit_beside

        return self.audit or audit_beside(qrels)

    def read(self, qrels: str, inputs: "InputRules") -> "LabelSource":
        """Read the judgments and people's labels.

        Args:
            qrels: argument of the command.
            inputs: transformations of the input.

        Raises:
            InputError: a file is invalid, or people's labels are requested and missing.
            PolicyError: another choice is incompatible with the labels.
        """
        from trueval.comparison.labels.label_source import LabelSource, join
        from trueval.errors import PolicyError

        folder = self.folder(qrels)
        if folder is None and self.labels == "judge":
            judgments = inputs.read_judgments(qrels)
            return LabelSource(judgments, judgments, None)
        raw = inputs._replace(grades=None).read_judgments(qrels)
        against = {"--unjudged": inputs.unjudged is not None, "--facets": inputs.facets}
        odd = [option for option, given in against.items() if given]
        if odd and self.labels != "judge":
            raise PolicyError(
                f"{odd[0]} does not go with --labels {self.labels}: people graded what the judge graded, and nothing "
                "else. Leave one of them out."
            )
        if odd:
            judgments = raw if inputs.grades is None else raw.map_grades(inputs.grades)
            talk([f"Values are not corrected by people's labels under {odd[0]}."])
            return LabelSource(judgments, judgments, None)
        joined = join(raw, folder, self.labels, grades=inputs.grades, found=self.audit is None)
        talk(joined.notes)
        return joined

    def correct(
        self,
        joined: "LabelSource",
        runs: "Sequence[Run]",
        measures: "Sequence[Measure]",
        policy: "Policy",
        *,
        baseline: str | None = None,
        level: float = 0.95,
    ) -> "CorrectedResults | None":
        """Correct the values of runs; None without an audit.

        Args:
            joined: judgments and audit.
            runs: evaluated runs, with their baseline.
            measures: evaluated measures.
            policy: policy of the values.
            baseline: name of the run to compare the others with; None for all pairs.
            level: level of the intervals.

        Raises:
            InputError: nothing can be corrected, although corrected values or an audit were requested.
        """
        if joined.audited is None:
            return None
        from trueval.comparison.labels.correct import correct
        from trueval.errors import TruevalError

        try:
            return correct(
                list(runs), joined.judge, joined.audited, measures, level=level, baseline=baseline, policy=policy
            )
        except TruevalError as error:
            if self.audit is not None or self.labels != "judge":
                raise
            talk([f"{error} Values are not corrected."])
            return None

    def summarize(self, found: "CorrectedResults | None", joined: "LabelSource", qrels: str) -> "AuditSummary | None":
        """Summarize the audit that values were corrected by; None where they were not.

        Args:
            found: corrected values.
            joined: judgments and audit.
            qrels: argument of the command.
        """
        if found is None or joined.audited is None:
            return None
        from trueval.comparison.labels.corrected_results import about
        from trueval.report.provenance import strip_folders

        return about(found, joined, joined.audited, strip_folders(str(self.folder(qrels))), self.labels)
