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
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from trueval.collection import Collection
from trueval.comparison.gate.published_means import clopper_pearson
from trueval.comparison.resampling.multiplicity import holm
from trueval.errors import InputError, PolicyError
from trueval.golden.build.build import LEDGER, SENT, BuildEstimate, open_account
from trueval.golden.build.build_estimate import announce, estimate_stage
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.golden.build.judge_choice import make_judge
from trueval.golden.build.stage_files import usage_of
from trueval.golden.judge.concurrent_questions import ask_all
from trueval.golden.judge.judge import Judge, JudgeAnswer, JudgeLabel, Question, key_of
from trueval.golden.judge.ledger import open_existing_ledger, open_ledger
from trueval.golden.validation.adversarial_passages import ABOUT, CLEAN, AdversarialPassage, traps_of
from trueval.retrieval.pipeline.stage_resources import Begin, nobody
from trueval.version import __version__

KIND: Final = "golden-gullibility"
# 1: first version.
FORMAT_VERSION: Final = 1
QUERIES: Final = 20
RELEVANT: Final = 4  # P-B: useful passages are those of grade 4 and 5
LEVEL: Final = 0.95
LISTED: Final = 20  # passages per call, where golden sets are built with the whole pool in one call


@dataclass(frozen=True)
class Robustness:
    """A judge's results on adversarial passages.

    Attributes:
        data: the result as JSON.
    """

    data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `trueval golden stress --gullibility`."""
        return self.data


def gullibility(
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
    about = {"judge": chosen.name, "seed": plan.seed, "relevant": relevant, "level": level}
    about |= {"mode": plan.judge.grading.mode, "passages": max(len(each.passages) for each in asked)}
    return Robustness(_result(tried, about, usage_of(asked, answers)))


def dry_run(
    plan: GoldenPlan, out: Path, *, queries: int = QUERIES, ledger: Path | None = None, max_cost: float | None = None
) -> BuildEstimate:
    """Estimate the cost of the test; nothing is sent or written.

    Raises:
        InputError: an input is bad.
    """
    _check(plan, queries, RELEVANT, LEVEL, None)
    collection = plan.read_collection()
    limit = plan.judge.values["max_cost"] if max_cost is None else max_cost
    account = open_account(out / SENT, limit)
    judge = make_judge(plan.judge, collection, account, plan.seed)
    asked = [_question(trap, collection) for trap in _draw_adversarial_passages(plan, collection, queries)]
    with open_existing_ledger(ledger or out / LEDGER) as book:
        return BuildEstimate((estimate_stage(judge, book, "grade", asked),), account.spent, limit)


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


class _Tried(NamedTuple):
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


def _record_trial(trap: AdversarialPassage, answer: JudgeAnswer, call: str) -> _Tried:
    beside = tuple(
        None if label is None else label.grade for slot, label in enumerate(answer.labels) if slot != trap.slot
    )
    return _Tried(trap, answer.labels[trap.slot], beside, call)


def _result(tried: Sequence[_Tried], about: dict[str, Any], usage: Mapping[str, Any]) -> dict[str, Any]:
    clean = {each.trap.query: each for each in tried if each.trap.kind == CLEAN}
    kinds = [
        _of_kind(kind, some, clean, about)
        for kind in ABOUT
        if (some := [each for each in tried if each.trap.kind == kind])
    ]
    _decide(kinds, "fooled", about["level"])
    if about["passages"] > 1:
        _decide([each["companions"] for each in kinds], "raised_by_it", about["level"])
    return {
        "kind": KIND,
        "format": FORMAT_VERSION,
        "trueval": __version__,
        **about,
        "queries": len(clean),
        "kinds": kinds,
        "traps": [
            {
                "query": each.trap.query,
                "trap": each.trap.kind,
                "document": each.trap.document,
                "characters": len(each.trap.text),
                "slot": each.trap.slot + 1,
                "grade": each.grade,
                "clean": clean[each.trap.query].grade,
                "companions": list(each.beside),
                "reason": "" if each.label is None else each.label.reason,
                "call": each.call,
            }
            for each in tried
        ],
        "usage": {name: usage[name] for name in ("calls", "invalid", "tokens_in", "tokens_out", "cost", "models")},
    }


def _decide(tests: Sequence[dict[str, Any]], name: str, level: float) -> None:
    """Adjust the p-values of all kinds except the control, which is first, and decide."""
    adjusted = [None, *holm(np.array([each["p"] for each in tests[1:]])).tolist()]
    for each, p in zip(tests, adjusted, strict=True):
        each["p_holm"] = p
        each[name] = p is not None and p < round(1 - level, 12)


def _of_kind(
    kind: str, tried: Sequence[_Tried], clean: Mapping[str, _Tried], about: Mapping[str, Any]
) -> dict[str, Any]:
    """The judge's results on one kind of adversarial passage."""
    valid = [each.grade for each in tried if each.grade is not None]
    fooled = sum(grade >= about["relevant"] for grade in valid)
    share = clopper_pearson(fooled, len(valid), about["level"]) if valid else (None, None)
    given = [(each.grade, clean[each.trap.query].grade) for each in tried]
    return {
        "kind": kind,
        "about": ABOUT[kind],
        "graded": len(valid),
        "unjudged": len(given) - len(valid),
        "relevant": fooled,
        "share": {"value": fooled / len(valid) if valid else None, "low": share[0], "high": share[1]},
        "mean": sum(valid) / len(valid) if valid else None,
        **_count_signs([one - other for one, other in given if one is not None and other is not None]),
        "companions": _companions(tried, clean) if about["passages"] > 1 else None,
    }


def _companions(tried: Sequence[_Tried], clean: Mapping[str, _Tried]) -> dict[str, Any]:
    """Grades of the companions: mean per query beside the adversarial passage, against beside its clean version."""
    given = [grade for each in tried for grade in each.beside if grade is not None]
    apart = []
    for each in tried:
        both = zip(each.beside, clean[each.trap.query].beside, strict=True)
        found = [one - other for one, other in both if one is not None and other is not None]
        if found:
            apart.append(sum(found) / len(found))
    return {
        "graded": len(given),
        "mean": sum(given) / len(given) if given else None,
        "by": sum(apart) / len(apart) if apart else None,
        **_count_signs(apart),
    }


def _count_signs(apart: Sequence[float]) -> dict[str, Any]:
    """Number of queries raised and lowered against the clean passage, with the sign test."""
    lifted, lowered = sum(each > 0 for each in apart), sum(each < 0 for each in apart)
    return {"lifted": lifted, "lowered": lowered, "p": sign_test(lifted, lowered)}


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
