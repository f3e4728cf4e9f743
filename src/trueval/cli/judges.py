"""Options of other judges of a comparison: their labels, and bounds on the errors of one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trueval.cli.labels import LabelOptions
from trueval.cli.options import JUDGED, JudgeFiles
from trueval.cli.output import talk
from trueval.cli.paths import judge_paths

if TYPE_CHECKING:
    from trueval.comparison.judges.judge_result import JudgeVerdicts
    from trueval.comparison.labels.label_source import LabelSource
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.policy.policy import Policy
    from trueval.rag.context_inputs import InputRules
    from trueval.run import Run


@dataclass(frozen=True, eq=False, repr=False)
class LabelAndJudgeOptions(LabelOptions):
    """Whose labels count, and whether a verdict holds for other judges."""

    judges: JudgeFiles = None
    judge_error: Annotated[
        Literal["bounded", "by-system"] | None,
        typer.Option(
            rich_help_panel=JUDGED,
            help="Whether a difference has one sign for every judge whose errors an audit does not exclude: bounded by "
            "grade, or by-system, apart for the passages that favor either run. Of P, DCG, RBP, Hits, P4+, Harm; "
            "bounds of nDCG and R. Needs --audit, or a golden set with an audit.",
        ),
    ] = None

    def verdicts(
        self,
        qrels: str,
        paths: Sequence[str],
        scores: "Sequence[Scores]",
        runs: "Sequence[Run]",
        joined: "LabelSource",
        measures: "Sequence[Measure]",
        policy: "Policy",
        inputs: "InputRules",
        *,
        baseline: str | None,
        level: float,
        begin: Callable[[str], None] | None = None,
    ) -> "JudgeVerdicts | None":
        """Verdicts over judges; None unless asked for.

        Args:
            qrels: file of the first judge.
            paths: [run] paths, read again for every other judge.
            scores: [run] scores by the first judge.
            runs: [run] runs, for bounds.
            joined: judgments and audit.
            measures: evaluated measures.
            policy: policy of the values.
            inputs: transformations of the input.
            baseline: name of the run to compare the others with; None for all pairs.
            level: level of the bounds.
            begin: called with each path before it is read.

        Raises:
            InputError: bounds are asked for without an audit, or judges are of different scales.
        """
        others = judge_paths(qrels, self.judges)
        if not others and self.judge_error is None:
            return None
        from trueval.comparison.judges.judge_verdicts import verdicts_over_judges
        from trueval.files.display_names import name_files
        from trueval.rag.evaluate_files import evaluate_files

        judges = [joined.used, *(inputs.read_judgments(path) for path in others)]
        names = [file.name for file in name_files([qrels, *others])]

        def evaluate(judge: "Judgments") -> "Sequence[Scores]":
            return evaluate_files(judge, paths, measures, inputs=inputs, begin=begin, policy=policy).scores

        found, notes = verdicts_over_judges(
            scores,
            dict(zip(names, judges, strict=True)),
            evaluate,
            runs,
            None if joined.audited is None else (joined.judge, joined.audited),
            error=self.judge_error,
            baseline=baseline,
            level=level,
        )
        talk(notes)
        return found
