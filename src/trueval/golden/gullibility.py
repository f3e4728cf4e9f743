"""Gullibility: how often a judge calls relevant what is not, when the passage is dressed up for it.

Each trap of traps.py is one question, a passage alone, asked through the ledger as any other: asked twice, it is paid
for once. A query's traps are compared with its own clean passage, so a judge that is generous to all is told from one
that is fooled: lifted are the queries whose trap has a higher grade than their clean passage, lowered those with a
lower one, and the exact sign test asks whether so many are lifted by chance (one-sided; Holm over the kinds).
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any, Final

import numpy as np

from trueval.comparison.multiplicity import holm
from trueval.comparison.published import clopper_pearson
from trueval.errors import InputError, PolicyError
from trueval.golden.build import LEDGER, SENT, Estimates, opened_account
from trueval.golden.estimate import announce, estimate_stage
from trueval.golden.grade import Graded, Grading, grade, questions_of
from trueval.golden.judge import Judge, Question
from trueval.golden.judges import make_judge
from trueval.golden.ledger import opened_ledger
from trueval.golden.plan import Plan
from trueval.golden.stages import usage_of
from trueval.golden.traps import ABOUT, CLEAN, Trap, traps_of
from trueval.retrieval.stages.shared import Begin, nobody
from trueval.version import __version__

KIND: Final = "golden-gullibility"
# 1: the first.
FORMAT_VERSION: Final = 1
QUERIES: Final = 20
RELEVANT: Final = 4  # P-B: useful passages are those of grade 4 and 5
LEVEL: Final = 0.95
# A passage alone, once: companions would be graded beside it, and one trap could spoil another.
ALONE: Final = Grading(mode="single", rounds=1)


@dataclass(frozen=True)
class Gullibility:
    """How often a judge is fooled.

    Attributes:
        data: as its JSON.
    """

    data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `trueval golden stress --gullibility`."""
        return self.data


@dataclass(frozen=True, eq=False)
class _Traps:
    """What is asked: ids of traps take the place of ids of documents."""

    traps: dict[str, Trap]
    queries: dict[str, str]

    @classmethod
    def of(cls, found: list[Trap], queries: Any) -> _Traps:
        """Of some traps."""
        traps = {f"{trap.query}\n{trap.kind}": trap for trap in found}
        return cls(traps, {trap.query: queries[trap.query] for trap in found})

    @property
    def pools(self) -> dict[str, list[str]]:
        """Query id → ids of its traps."""
        return {query: [name for name, trap in self.traps.items() if trap.query == query] for query in self.queries}

    @property
    def texts(self) -> dict[str, str]:
        """Id of a trap → its text."""
        return {name: trap.text for name, trap in self.traps.items()}

    def questions(self) -> list[Question]:
        """All that is asked."""
        return [each.question for each in questions_of(self.pools, self.queries, self.texts, ALONE)]


def gullibility(
    plan: Plan,
    out: Path,
    *,
    queries: int = QUERIES,
    relevant: int = RELEVANT,
    level: float = LEVEL,
    ledger: Path | None = None,
    max_cost: float | None = None,
    judge: Judge | None = None,
    begin: Begin | None = None,
) -> Gullibility:
    """Ask the judge of a golden set about passages that are made to fool it.

    Args:
        plan: of the golden set, whose corpus, queries and judge are used.
        out: a folder for ledger and calls, made if absent.
        queries: how many, drawn at random by the plan's seed.
        relevant: least grade of a relevant passage.
        level: of the intervals and of the decision.
        ledger: file of the ledger; ledger.sqlite of the folder by default.
        max_cost: what may be spent in all; that of the plan by default.
        judge: instead of the one of the plan.
        begin: called with what is done; what it returns is called as it goes on.

    Raises:
        InputError: an input is bad, the judge is no model, or the money is spent; what was answered is kept.
        PolicyError: a choice is none.
    """
    _check(plan, queries, relevant, level, judge)
    collection = plan.read_collection()
    asked = _Traps.of(traps_of(collection, queries, plan.seed), collection.queries)
    out.mkdir(parents=True, exist_ok=True)
    account = opened_account(out / SENT, plan.judge.values["max_cost"] if max_cost is None else max_cost)
    chosen = judge or make_judge(plan.judge, collection, account, plan.seed)
    with opened_ledger(ledger or out / LEDGER) as book:
        announce(chosen, account, estimate_stage(chosen, book, "grade", asked.questions()))
        step = (begin or nobody)("grading traps")
        at_once = int(plan.judge.values["concurrency"])
        found = grade(asked.pools, asked.queries, asked.texts, chosen, book, ALONE, at_once=at_once, step=step)
    about = {"judge": chosen.name, "seed": plan.seed, "relevant": relevant, "level": level}
    return Gullibility(_result(asked, found, about))


def dry_run(
    plan: Plan, out: Path, *, queries: int = QUERIES, ledger: Path | None = None, max_cost: float | None = None
) -> Estimates:
    """What it takes; nothing is asked, and nothing is written.

    Args:
        plan: as in `gullibility`.
        out: likewise.
        queries: likewise.
        ledger: likewise.
        max_cost: likewise.

    Raises:
        InputError: an input is bad.
    """
    _check(plan, queries, RELEVANT, LEVEL, None)
    collection = plan.read_collection()
    limit = plan.judge.values["max_cost"] if max_cost is None else max_cost
    account = opened_account(out / SENT, limit)
    judge = make_judge(plan.judge, collection, account, plan.seed)
    file = ledger or out / LEDGER
    asked = _Traps.of(traps_of(collection, queries, plan.seed), collection.queries)
    with opened_ledger(file) if file.is_file() else nullcontext() as book:
        return Estimates((estimate_stage(judge, book, "grade", asked.questions()),), account.spent, limit)


def _check(plan: Plan, queries: int, relevant: int, level: float, judge: Judge | None) -> None:
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


def _result(asked: _Traps, found: Graded, about: dict[str, Any]) -> dict[str, Any]:
    grades = {(row[0], asked.traps[row[1]].kind): row[2] for row in found.grades.iter_rows()}
    told = {row["doc_id"]: row for row in found.labels.to_dicts()}
    kinds = [_of_kind(kind, asked, grades, about) for kind in ABOUT]
    p = np.array([each["p"] for each in kinds if each["kind"] != CLEAN])
    adjusted = iter(holm(p).tolist())
    for each in kinds:
        each["p_holm"] = None if each["kind"] == CLEAN else next(adjusted)
        each["fooled"] = each["p_holm"] is not None and each["p_holm"] < round(1 - about["level"], 12)
    usage = usage_of([each.question for each in found.asked], found.answers)
    return {
        "kind": KIND,
        "format": FORMAT_VERSION,
        "trueval": __version__,
        **about,
        "queries": len(asked.queries),
        "kinds": kinds,
        "traps": [
            {
                "query": trap.query,
                "trap": trap.kind,
                "document": trap.document,
                "characters": len(trap.text),
                "grade": grades[trap.query, trap.kind],
                "clean": grades[trap.query, CLEAN],
                "reason": told[name]["reason"],
                "call": told[name]["call"],
            }
            for name, trap in asked.traps.items()
        ],
        "usage": {name: usage[name] for name in ("calls", "invalid", "tokens_in", "tokens_out", "cost", "models")},
    }


def _of_kind(
    kind: str, asked: _Traps, grades: dict[tuple[str, str], int | None], about: dict[str, Any]
) -> dict[str, Any]:
    """What the judge makes of one kind of trap."""
    given = [(grades[query, kind], grades[query, CLEAN]) for query in asked.queries]
    valid = [grade for grade, _ in given if grade is not None]
    fooled = sum(grade >= about["relevant"] for grade in valid)
    share = clopper_pearson(fooled, len(valid), about["level"]) if valid else (None, None)
    apart = [one - clean for one, clean in given if one is not None and clean is not None]
    lifted, lowered = sum(each > 0 for each in apart), sum(each < 0 for each in apart)
    return {
        "kind": kind,
        "about": ABOUT[kind],
        "graded": len(valid),
        "unjudged": len(given) - len(valid),
        "relevant": fooled,
        "share": {"value": fooled / len(valid) if valid else None, "low": share[0], "high": share[1]},
        "mean": sum(valid) / len(valid) if valid else None,
        "lifted": lifted,
        "lowered": lowered,
        "p": sign_test(lifted, lowered),
    }


def sign_test(lifted: int, lowered: int) -> float:
    """The chance that of so many tosses of a fair coin at least so many fall on one side.

    Args:
        lifted: on this side.
        lowered: on the other.

    >>> sign_test(3, 0), sign_test(0, 0)
    (0.125, 1.0)
    """
    tosses = lifted + lowered
    return float(sum(comb(tosses, each) for each in range(lifted, tosses + 1)) / 2**tosses)
