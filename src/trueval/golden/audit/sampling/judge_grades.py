"""Grades of another judge, as answers to the items of an audit that is drawn where labels decide."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from trueval.collection import Collection
from trueval.comparison.labels.audit_sample import PEOPLE, AuditSample
from trueval.errors import InputError
from trueval.golden.audit.sampling.person_grades import record_grades
from trueval.golden.audit.store.audit_manifest import Item, read_sample, read_texts
from trueval.golden.build.build import LEDGER, SENT, open_account
from trueval.golden.build.build_estimate import announce, estimate_stage
from trueval.golden.build.golden_plan import JudgePlan
from trueval.golden.build.grade import grade, questions_of
from trueval.golden.build.judge_choice import make_judge
from trueval.golden.build.stage_files import read_lines
from trueval.golden.judge.concurrent_questions import Step
from trueval.golden.judge.ledger import open_ledger
from trueval.golden.judge.prompt import RUBRIC
from trueval.judgments import Judgments

BY_JUDGE: Final = "judge:"  # before the name of a judge, who is a rater of the audit


class AuditJudge(NamedTuple):
    """A judge that grades the passages of an audit.

    Attributes:
        plan: its table [judge].
        scale: grade of its rubric → grade of the audit; None if the scales are equal.
        max_cost: most that all its calls for this audit may cost; None for the plan's.
    """

    plan: JudgePlan
    scale: Mapping[float, float] | None = None
    max_cost: float | None = None

    def grade(self, folder: Path, step: Step | None = None) -> int:
        """Grade the passages of an audit that nobody has answered; one without a valid grade is skipped.

        Every answer is in the ledger of the folder: after an interruption nothing is asked or paid again.

        Args:
            folder: folder of the audit.
            step: progress callback.

        Returns:
            Number of passages.

        Raises:
            InputError: the audit has another scale, the judge cannot be asked, or the money is spent.
        """
        audited, sample = AuditSample.read(folder), read_sample(folder)
        if audited.batches is None:
            raise InputError(f"{folder}: a judge grades audits that are drawn for a decision. Name another folder.")
        left = set(audited.batches.open_ones(audited.labels, audited.skipped).select("query_id", "doc_id").rows())
        items = [item for item in sample.items if (item.query, item.documents[0]) in left]
        if not items:
            return 0
        limit = self.plan.values["max_cost"] if self.max_cost is None else self.max_cost
        account = open_account(folder / SENT, limit)
        texts = _texts(folder, sample.items)
        judge = make_judge(self.plan, texts, account)
        mapped = self._scale(folder, items[0])
        pools: dict[str, list[str]] = {}
        for item in items:
            pools.setdefault(item.query, []).append(item.documents[0])
        how = self.plan.grading
        asked = [each.question for each in questions_of(pools, texts.queries, texts.documents, how)]
        with open_ledger(folder / LEDGER) as ledger:
            announce(judge, account, estimate_stage(judge, ledger, "grade", asked))
            at_once = int(self.plan.values["concurrency"])
            found = grade(pools, texts.queries, texts.documents, judge, ledger, how, at_once=at_once, step=step)
        valid = found.grades.filter(pl.col("grade").is_not_null())
        grades = valid.select("query_id", "doc_id", pl.col("grade").cast(pl.Float64).replace_strict(mapped))
        return record_grades(folder, Judgments.from_frame(grades), BY_JUDGE + judge.name)

    def _scale(self, folder: Path, item: Item) -> dict[float, float]:
        """Grade of the rubric → grade of the audit."""
        low, high = RUBRIC
        mapped = dict(self.scale or {float(each): float(each) for each in range(low, high + 1)})
        missing = [each for each in range(low, high + 1) if each not in mapped]
        outside = [each for each in mapped.values() if not (each == int(each) and item.low <= each <= item.high)]
        if missing or outside:
            raise InputError(
                f"{folder}: the judge grades from {low} to {high}, and the audit from {item.low} to {item.high}. Say "
                "which grade of the audit each of the judge's is, such as 1:0,2:0,3:1,4:2,5:3 (--judge-scale)."
            )
        return mapped


def labelers(folder: Path) -> tuple[str, ...]:
    """Who labeled: "people" where a person did, and the names of judges."""
    if not (folder / PEOPLE).is_file():
        return ()
    raters = dict.fromkeys(each["rater"] for row in read_lines(folder / PEOPLE) for each in row.get("labels", ()))
    judges = [each.removeprefix(BY_JUDGE) for each in raters if each.startswith(BY_JUDGE)]
    return (*(("people",) if len(judges) < len(raters) else ()), *judges)


def _texts(folder: Path, items: tuple[Item, ...]) -> Collection:
    """The texts of an audit, as its raters see them."""
    known = read_texts(folder, items)
    documents = {item.documents[0]: known[item.texts[1]] for item in items}
    queries = {item.query: known[item.texts[0]] for item in items}
    return Collection("audit", str(folder), documents, queries)
