"""Gullibility: how often a judge grades adversarial passages as relevant.

Each passage of adversarial_passages.py is one question in the mode in which golden sets are built, and goes through the
ledger, so a repeated question is paid for once. In batches it has irrelevant companions, the same ones in the same
slots for all of a query. Each is compared with the query's own clean passage, which distinguishes a generous judge from
a fooled one: a query is lifted if its adversarial passage is graded above its clean passage, and lowered if below, and
the exact sign test asks whether this many are lifted by chance (one-sided; Holm over the kinds). The same is tested for
its companions: a passage in a batch can affect the grades of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from math import comb
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from trueval.collection import Collection
from trueval.comparison.gate.published_means import clopper_pearson
from trueval.comparison.resampling.multiplicity import holm
from trueval.errors import InputError, PolicyError
from trueval.golden.build.build import LEDGER, SENT, open_account
from trueval.golden.build.build_estimate import announce, dry_run_of, estimate_stage
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.golden.build.judge_choice import make_judge
from trueval.golden.build.stage_files import usage_of
from trueval.golden.judge.concurrent_questions import ask_all
from trueval.golden.judge.judge import Judge, JudgeAnswer, JudgeLabel, Question, key_of
from trueval.golden.judge.ledger import open_existing_ledger, open_ledger
from trueval.golden.validation.adversarial_passages import ABOUT, CLEAN, AdversarialPassage, traps_of
from trueval.golden.validation.robustness_result import (
    AdversarialGrade,
    AdversarialKind,
    CallUsage,
    CompanionEffect,
    Robustness,
    Share,
)
from trueval.models.missing_work import DryRun
from trueval.retrieval.pipeline.stage_resources import Begin, nobody

QUERIES: Final = 20
RELEVANT: Final = 4  # P-B: useful passages are those of grade 4 and 5
LEVEL: Final = 0.95
LISTED: Final = 20  # passages per call, where golden sets are built with the whole pool in one call


def measure_robustness(
    plan: GoldenPlan,
    out: Path,
    *,
    queries: int = QUERIES,
    relevant: int = RELEVANT,
    level: float = LEVEL,
    ledger: Path | None = None,
    max_cost: float | None = None,
    judge: Judge | None = None,
    begin: Begin | None = None,
) -> Robustness:
    """Ask the judge of a golden set to grade adversarial passages.

    Args:
        plan: plan of the golden set, whose corpus, queries and judge are used.
        out: folder for ledger and calls, created if absent.
        queries: number of queries to sample with the plan's seed.
        relevant: lowest grade of a relevant passage.
        level: confidence level of the intervals and the test.
        ledger: file of the ledger; ledger.sqlite of the folder by default.
        max_cost: spending limit in total; that of the plan by default.
        judge: judge to use instead of the plan's.
        begin: called with the name of each stage; the returned function is called with its progress.

    Raises:
        InputError: an input is bad, the judge is no model, or the money is spent; what was answered is kept.
        PolicyError: a choice is none.
    """
    _check(plan, queries, relevant, level, judge)
    collection = plan.read_collection()
    traps = _draw_adversarial_passages(plan, collection, queries)
    asked = [_question(trap, collection) for trap in traps]
    out.mkdir(parents=True, exist_ok=True)
    account = open_account(out / SENT, plan.judge.values["max_cost"] if max_cost is None else max_cost)
    chosen = judge or make_judge(plan.judge, collection, account, plan.seed)
    with open_ledger(ledger or out / LEDGER) as book:
        announce(chosen, account, estimate_stage(chosen, book, "grade", asked))
        step = (begin or nobody)("grading traps")
        answers = ask_all(book, chosen, asked, at_once=int(plan.judge.values["concurrency"]), step=step)
    tried = [
        _record_trial(trap, answer, key_of(chosen, question).call)
        for trap, answer, question in zip(traps, answers, asked, strict=True)
    ]
    clean = {each.trap.query: each for each in tried if each.trap.kind == CLEAN}
    passages = max(len(each.passages) for each in asked)
    kinds = [
        _of_kind(kind, some, clean, _companions(some, clean) if passages > 1 else None, relevant, level)
        for kind in ABOUT
        if (some := [each for each in tried if each.trap.kind == kind])
    ]
    usage = usage_of(asked, answers)
    return Robustness(
        judge=chosen.name,
        seed=plan.seed,
        relevant=relevant,
        level=level,
        mode=plan.judge.grading.mode,
        passages=passages,
        queries=len(clean),
        kinds=_decide(kinds, level),
        traps=tuple(_grade_of(each, clean) for each in tried),
        usage=CallUsage(**{each.name: usage[each.name] for each in fields(CallUsage)}),
    )


def dry_run(
    plan: GoldenPlan, out: Path, queries: int = QUERIES, ledger: Path | None = None, max_cost: float | None = None
) -> DryRun:
    """Estimate the cost of the test; nothing is sent or written.

    Raises:
        InputError: an input is bad.
    """
    _check(plan, queries, RELEVANT, LEVEL, None)
    collection = plan.read_collection()
    account = open_account(out / SENT, plan.judge.values["max_cost"] if max_cost is None else max_cost)
    judge = make_judge(plan.judge, collection, account, plan.seed)
    asked = [_question(trap, collection) for trap in _draw_adversarial_passages(plan, collection, queries)]
    with open_existing_ledger(ledger or out / LEDGER) as book:
        return dry_run_of([estimate_stage(judge, book, "grade", asked)], account)


def _check(plan: GoldenPlan, queries: int, relevant: int, level: float, judge: Judge | None) -> None:
    if queries < 1:
        raise PolicyError(f"queries must be an integer >= 1. Got {queries}.")
    if not 2 <= relevant <= 5:
        raise PolicyError(f"relevant must be a grade of the rubric from 2 to 5. Got {relevant}.")
    if not 0.5 < level < 1:
        raise PolicyError(f"level must be between 0.5 and 1, such as 0.95. Got {level:g}.")
    if judge is None and not plan.judge.is_model:
        raise InputError(
            f"{plan.source}: {plan.judge.model} knows no made-up passages. Gullibility is that of a model: name one in "
            "[judge]."
        )


def _draw_adversarial_passages(plan: GoldenPlan, collection: Collection, queries: int) -> list[AdversarialPassage]:
    """The adversarial passages, in calls as large as those of the plan's golden sets."""
    return traps_of(collection, queries, plan.seed, plan.judge.grading.size(LISTED))


def _question(trap: AdversarialPassage, collection: Collection) -> Question:
    return Question("grade", collection.queries[trap.query], trap.passages, 0)


class _GradedPassage(NamedTuple):
    """An adversarial passage with the judge's labels.

    Attributes:
        trap: the adversarial passage.
        label: the judge's label; None without a valid one.
        beside: grades of its companions, None without a valid one.
        call: key of the call.
    """

    trap: AdversarialPassage
    label: JudgeLabel | None
    beside: tuple[int | None, ...]
    call: str

    @property
    def grade(self) -> int | None:
        """Grade of the adversarial passage."""
        return None if self.label is None else self.label.grade


def _record_trial(trap: AdversarialPassage, answer: JudgeAnswer, call: str) -> _GradedPassage:
    beside = tuple(
        None if label is None else label.grade for slot, label in enumerate(answer.labels) if slot != trap.slot
    )
    return _GradedPassage(trap, answer.labels[trap.slot], beside, call)


def _grade_of(tried: _GradedPassage, clean: Mapping[str, _GradedPassage]) -> AdversarialGrade:
    trap = tried.trap
    return AdversarialGrade(
        query=trap.query,
        trap=trap.kind,
        document=trap.document,
        characters=len(trap.text),
        slot=trap.slot + 1,
        grade=tried.grade,
        clean=clean[trap.query].grade,
        companions=tried.beside,
        reason="" if tried.label is None else tried.label.reason,
        call=tried.call,
    )


def _decide(kinds: Sequence[AdversarialKind], level: float) -> tuple[AdversarialKind, ...]:
    """Adjust the p-values of all kinds except the control, which is first, and decide."""
    found = []
    beside = [each.companions for each in kinds if each.companions is not None]
    of_companions = _adjust([each.p for each in beside]) if beside else [None] * len(kinds)
    for kind, own, other in zip(kinds, _adjust([each.p for each in kinds]), of_companions, strict=True):
        companions = kind.companions
        if companions is not None:
            companions = replace(companions, p_holm=other, raised_by_it=is_below(other, level))
        found.append(replace(kind, p_holm=own, fooled=is_below(own, level), companions=companions))
    return tuple(found)


def _adjust(values: Sequence[float]) -> list[float | None]:
    return [None, *holm(np.array(values[1:])).tolist()]


def is_below(value: float | None, level: float) -> bool:
    """Whether a p-value is below 1 - level; that of a control, None, is not."""
    return value is not None and value < round(1 - level, 12)


def _of_kind(
    kind: str,
    tried: Sequence[_GradedPassage],
    clean: Mapping[str, _GradedPassage],
    companions: CompanionEffect | None,
    relevant: int,
    level: float,
) -> AdversarialKind:
    """The judge's results on one kind of adversarial passage, before any decision."""
    valid = [each.grade for each in tried if each.grade is not None]
    fooled = sum(grade >= relevant for grade in valid)
    ends = clopper_pearson(fooled, len(valid), level) if valid else (None, None)
    given = [(each.grade, clean[each.trap.query].grade) for each in tried]
    return AdversarialKind(
        kind,
        ABOUT[kind],
        graded=len(valid),
        unjudged=len(given) - len(valid),
        relevant=fooled,
        share=Share(fooled / len(valid) if valid else None, *ends),
        mean=sum(valid) / len(valid) if valid else None,
        **_count_signs([one - other for one, other in given if one is not None and other is not None])._asdict(),
        companions=companions,
    )


def _companions(tried: Sequence[_GradedPassage], clean: Mapping[str, _GradedPassage]) -> CompanionEffect:
    """Grades of the companions: mean per query beside the adversarial passage, against beside its clean version."""
    given = [grade for each in tried for grade in each.beside if grade is not None]
    apart = []
    for each in tried:
        both = zip(each.beside, clean[each.trap.query].beside, strict=True)
        found = [one - other for one, other in both if one is not None and other is not None]
        if found:
            apart.append(sum(found) / len(found))
    return CompanionEffect(
        graded=len(given),
        mean=sum(given) / len(given) if given else None,
        by=sum(apart) / len(apart) if apart else None,
        **_count_signs(apart)._asdict(),
    )


class _Signs(NamedTuple):
    """Number of queries raised and lowered against the clean passage, and the sign test."""

    lifted: int
    lowered: int
    p: float


def _count_signs(apart: Sequence[float]) -> _Signs:
    lifted, lowered = sum(each > 0 for each in apart), sum(each < 0 for each in apart)
    return _Signs(lifted, lowered, sign_test(lifted, lowered))


def sign_test(lifted: int, lowered: int) -> float:
    """Probability that at least this many of n tosses of a fair coin fall on one side.

    Args:
        lifted: number of tosses on this side.
        lowered: number of tosses on the other side.

    >>> sign_test(3, 0), sign_test(0, 0)
    (0.125, 1.0)
    """
    tosses = lifted + lowered
    return float(sum(comb(tosses, each) for each in range(lifted, tosses + 1)) / 2**tosses)
