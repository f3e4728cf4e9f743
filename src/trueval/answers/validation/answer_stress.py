"""Stress of a judge of claims: what its labels do where answers change in what should not count.

Drawn answers are judged as they are and after each edit of answer_edits.py, in the calls of `judge_answers` and through
its ledger. Each measure changes by edited - clean, for each question: the mean has an interval over questions, and the
exact sign test asks whether so many questions rise, or fall, by chance (two-sided; Holm over all edits and measures).
A judge whose labels vary by chance alone moves questions both ways alike, so that it is accused no more often than the
level says. Two comparisons need no edit:

    position    each label from the call that shows the text early, minus that from the same call backwards
    own model   judge - people on answers of the judge's own model, minus the same on answers of others, by question
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trueval.errors import PolicyError

if TYPE_CHECKING:
    from trueval.answers.answer import AnswerLog
    from trueval.answers.answer_measures import AnswerMeasure
    from trueval.answers.validation.answer_stress_result import AnswerStress
    from trueval.files import Source
    from trueval.golden.build.golden_plan import JudgePlan
    from trueval.models.missing_work import DryRun
    from trueval.retrieval.pipeline.stage_resources import Begin

ANSWERS: Final = 40  # drawn by default
DEFAULT_MEASURES: Final = ("nugget-recall", "correctness", "faithfulness", "support-precision")


def stress_answers(
    logs: Sequence[AnswerLog | Source],
    out: Path | str,
    judge: JudgePlan | str,
    *,
    people: Sequence[Source] = (),
    own: str | None = None,
    answers: int = ANSWERS,
    measures: Sequence[str] | None = None,
    level: float = 0.95,
    ledger: Path | None = None,
    max_cost: float | None = None,
    begin: Begin | None = None,
) -> AnswerStress:
    """Ask a judge about answers that differ in what should not count, or resume where it was interrupted.

    Args:
        logs: logs of answers, or where they are; several where their answers are of several models.
        out: folder of the ledger and of the calls, created if absent.
        judge: a model, a TOML file with a table [judge], or such a plan, as in `judge_answers`.
        people: table with people's labels of each log, for `own model`; empty for none.
        own: how the name of a model begins that counts as the judge's own; the judge's name if None.
        answers: number of answers to draw.
        measures: of the judged table; nugget-recall, correctness, faithfulness and support-precision if None.
        level: of the intervals and the test.
        ledger: file of the ledger; ledger.sqlite of the folder by default. That of `judge_answers` has clean answers.
        max_cost: spending limit, including earlier runs of the same folder; that of the judge by default.
        begin: called with the name of each stage; the returned function is called with its progress.

    Raises:
        InputError: an input is bad, the judge is no model, or the money is spent; what was answered is kept.
        MeasureError: a measure is unknown, or needs no judge.
        PolicyError: a choice is none.

    >>> stress_answers(["log.jsonl"], "stress", "gpt-5-mini")["longer"].moved  # doctest: +SKIP
    """
    # Late: `trueval` names this function, and all that it names is imported in twice the time of numpy and polars.
    from trueval.answers.judge_answers import make_claim_judge
    from trueval.answers.validation.answer_shifts import find_shifts
    from trueval.answers.validation.answer_stress_result import AnswerStress
    from trueval.answers.validation.stressed_answers import draw_answers
    from trueval.golden.build.build import LEDGER, SENT, open_account
    from trueval.golden.build.build_estimate import announce, estimate_stage
    from trueval.golden.build.golden_plan import read_judge
    from trueval.golden.build.stage_files import usage_of
    from trueval.golden.judge.concurrent_questions import ask_all
    from trueval.golden.judge.ledger import open_ledger
    from trueval.golden.validation.robustness_result import CallUsage
    from trueval.retrieval.pipeline.stage_resources import nobody

    plan, chosen = read_judge(judge, {}) if isinstance(judge, str) else judge, _measures(measures)
    if not 0.5 < level < 1:
        raise PolicyError(f"level must be between 0.5 and 1, such as 0.95. Got {level:g}.")
    pool, folder = draw_answers(logs, plan, people=people, own=own, answers=answers), Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    account = open_account(folder / SENT, plan.values["max_cost"] if max_cost is None else max_cost)
    model, questions = make_claim_judge(plan, account), pool.questions
    with open_ledger(ledger or folder / LEDGER) as book:
        announce(model, account, estimate_stage(model, book, "grade", questions))
        step = (begin or nobody)("judging edited answers")
        said = ask_all(book, model, questions, at_once=int(plan.values["concurrency"]), step=step)
    usage = usage_of(questions, said)
    return AnswerStress(
        model.name,
        pool.logs,
        level,
        plan.grading.seed,
        answers=len(pool.trials[0].log.answers),
        exchanged=pool.exchanged,
        own=pool.own,
        edits=find_shifts(pool, said, chosen, level),
        usage=CallUsage(**{each.name: usage[each.name] for each in fields(CallUsage)}),
        notes=pool.notes,
    )


def estimate_stress(
    logs: Sequence[AnswerLog | Source],
    out: Path | str,
    judge: JudgePlan | str,
    *,
    people: Sequence[Source] = (),
    own: str | None = None,
    answers: int = ANSWERS,
    ledger: Path | None = None,
    max_cost: float | None = None,
) -> DryRun:
    """Calls, tokens and money that the stress of a judge still takes; nothing is sent or written.

    Raises:
        InputError: an input is bad, or the judge is no model.
    """
    from trueval.answers.judge_answers import make_claim_judge
    from trueval.answers.validation.stressed_answers import draw_answers
    from trueval.golden.build.build import LEDGER, SENT, open_account
    from trueval.golden.build.build_estimate import dry_run_of, estimate_stage
    from trueval.golden.build.golden_plan import read_judge
    from trueval.golden.judge.ledger import open_existing_ledger

    plan, folder = read_judge(judge, {}) if isinstance(judge, str) else judge, Path(out)
    pool = draw_answers(logs, plan, people=people, own=own, answers=answers)
    account = open_account(folder / SENT, plan.values["max_cost"] if max_cost is None else max_cost)
    with open_existing_ledger(ledger or folder / LEDGER) as book:
        work = estimate_stage(make_claim_judge(plan, account), book, "grade", pool.questions)
        return dry_run_of([work], account)


def _measures(names: Sequence[str] | None) -> tuple[AnswerMeasure, ...]:
    from trueval.answers.answer_measures import RELEVANCE, find_measures

    found = find_measures(names or DEFAULT_MEASURES, judged=True)
    blind = next((each.name for each in found if not each.judged), None)
    if blind is not None:
        raise PolicyError(f"{blind} needs no judge, so no judge moves it. Name measures of the judged table.")
    if any(each.name == RELEVANCE for each in found):
        raise PolicyError(f"{RELEVANCE} is not stressed: edits are about claims and texts. Name other measures.")
    return found
