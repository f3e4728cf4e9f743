"""Evaluation of files: scores of runs and context logs, with answers, sensitivity and remarks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from trueval.errors import MeasureError, TruevalWarning
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import Measures
from trueval.evaluation.scores import Scores, results
from trueval.files import name_files
from trueval.rag.answer_accuracy import AccuracyGivenHit
from trueval.rag.context_inputs import InputRules
from trueval.rag.contexts import all_contexts
from trueval.rag.run_blocks import Examine, RunEvaluator, evaluate_blocks
from trueval.rag.unjudged_passages import grade_unjudged
from trueval.threads import as_executor

if TYPE_CHECKING:
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.policy.policy import Policy
    from trueval.rag.sensitivity import Sensitivity
    from trueval.run import Run
    from trueval.threads import Executor


Observe = Callable[["Run", "Judgments", Scores], None]


class EvaluationResults(NamedTuple):
    """The results of evaluating files.

    Attributes:
        judgments: judgments as read, with mapped grades.
        scores: [run] scores.
        answers: [run] accuracy given a hit, by the text form of each AllGold@k; empty without known answers.
        sensitivity: sensitivity of each RA-nWG; empty unless requested.
        notes: one-line remarks, including those of the scores.
        examined: [run] results of `examine`.
    """

    judgments: Judgments
    scores: tuple[Scores, ...]
    answers: tuple[Mapping[str, AccuracyGivenHit], ...]
    sensitivity: tuple[Sensitivity, ...]
    notes: tuple[str, ...]
    examined: tuple[Any, ...] = ()

    def to_dict(self, *, per_query: bool = False, content: bool = False) -> dict[str, object]:
        """The JSON of `trueval evaluate`.

        Args:
            per_query: whether to add the values of every query.
            content: whether to add the content hashes of the inputs.
        """
        found: dict[str, Any] = results(self.scores, per_query=per_query, content=content)
        for run, answers in zip(found["runs"], self.answers, strict=True):
            if answers:
                run["answers"] = {name: one.to_dict() for name, one in answers.items()}
        if self.sensitivity:
            found["sensitivity"] = [one.to_dict() for one in self.sensitivity]
        return found


def evaluate_files(
    qrels: str | Judgments,
    runs: Sequence[str],
    measures: Measures | None = None,
    *,
    inputs: InputRules | None = None,
    with_sensitivity: bool = False,
    content: Mapping[str, str] | None = None,
    observe: Observe | None = None,
    examine: Examine | None = None,
    begin: Callable[[str], None] | None = None,
    executor: Executor | None = None,
    policy: Policy | None = None,
    **choices: object,
) -> EvaluationResults:
    """Evaluate files, one run at a time in memory.

    Args:
        qrels: path of the judgments, or of a context log with gold documents; "-" for standard input. Or judgments
            already read, with mapped grades.
        runs: paths of runs or logs, or name=path.
        inputs: options for reading.
        with_sensitivity: whether to compute the sensitivity of each RA-nWG; then the runs stay in memory.
        content: known content hashes, such as that of the corpus; None skips hashing the runs.
        observe: called with each run, its judgments and its scores, here.
        examine: called with the number of each run, the run, its judgments and its scores, wherever it is evaluated;
            its results come with those of the runs.
        begin: called with each path before it is read, or with an executor as it is done.
        executor: evaluates runs in other processes or on other machines, a few at a time, with the same results; not
            those whose lists are needed here, for `observe` or the sensitivity.

    Raises:
        InputError: a file is bad.
        MeasureError: answers or sensitivity are asked for without the measure that they are about.
        PolicyError: a choice is unknown.
    """
    inputs = inputs or InputRules()
    judged, as_read = qrels if inputs.grades is None else None, policy is None and all_contexts(runs)
    parsed, chosen = fill_defaults(judged, measures, policy, choices, in_reading_order=as_read)
    check_subjects(parsed, correct=inputs.correct is not None, with_sensitivity=with_sensitivity)
    scores: list[Scores] = []
    answers: list[Mapping[str, AccuracyGivenHit]] = []
    examined: list[Any] = []
    kept: list[Run] = []

    def look(number: int, run: Run, judged: Judgments, found: Scores) -> object:
        if observe is not None:
            observe(run, judged, found)
        if with_sensitivity:
            kept.append(run)
        return None if examine is None else examine(number, run, judged, found)

    lists_here = observe is not None or with_sensitivity
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # the same lines are notes of the scores
        judgments = _judgments(qrels, inputs, begin)
        evaluator = RunEvaluator(judgments, inputs, parsed, chosen, content, look if lists_here else examine)
        taken = None if lists_here else as_executor(executor)
        for found in evaluate_blocks(evaluator, name_files(runs), taken, begin):
            scores.append(found.scores)
            answers.append(found.answers)
            examined.append(found.examined)
    graded = judgments
    if inputs.unjudged is not None:
        for run in kept:  # documents listed by any run are graded for all, so that all share the same labels
            graded = grade_unjudged(graded, run, inputs.unjudged)
    analyzed: tuple[Sensitivity, ...] = ()
    if with_sensitivity:
        from trueval.rag.sensitivity import sensitivity  # late: most evaluations do not need it

        analyzed = tuple(sensitivity(kept, graded, measure, policy=chosen) for measure in _select_ra_nwg(parsed))
    notes = [note for each in scores for note in each.notes]
    if unknown := sorted(set(inputs.correct or {}).difference(judgments.query_ids.to_list())):
        notes.append(
            f"answers: {len(unknown)} queries are not in the judgments and are ignored, the first {unknown[0]!r}."
        )
    return EvaluationResults(
        judgments, tuple(scores), tuple(answers), analyzed, tuple(dict.fromkeys(notes)), tuple(examined)
    )


def _judgments(qrels: str | Judgments, inputs: InputRules, begin: Callable[[str], None] | None) -> Judgments:
    if not isinstance(qrels, str):
        return qrels
    if begin is not None:
        begin(qrels)
    return inputs.read_judgments(qrels)


def check_subjects(measures: Sequence[Measure], *, correct: bool, with_sensitivity: bool) -> None:
    """Refuse answers without AllGold at a cutoff, and sensitivity without RA-nWG.

    Raises:
        MeasureError: the measure is missing.
    """
    if correct and not any(measure.name == "AllGold" and measure.cutoff is not None for measure in measures):
        raise MeasureError(
            "Correctness of answers (--correct) needs AllGold at a cutoff among the measures, such as AllGold@10."
        )
    if with_sensitivity and not _select_ra_nwg(measures):
        raise MeasureError("Sensitivity (--sensitivity) needs RA-nWG among the measures, such as RA-nWG@10.")


def _select_ra_nwg(measures: Sequence[Measure]) -> list[Measure]:
    """RA-nWG without its upper bound variants, which count unjudged documents as relevant."""
    return [measure for measure in measures if measure.name == "RA-nWG" and measure["unjudged"] == "nothing"]
