"""S4, grading: a judge sees every passage of the pools in each round, in new batches and slots.

Three modes: "batch", a few passages per call; "single", one passage per call, as P-B's authors do; "list", the whole
pool in one call. The ledger stores the answers; a label is traced to its call by the key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from trueval.errors import PolicyError
from trueval.golden.build.rounds import batches_of, rng_of
from trueval.golden.judge.concurrent_questions import Step, ask_all
from trueval.golden.judge.judge import Judge, JudgeAnswer, Question, key_of
from trueval.golden.judge.ledger import Ledger
from trueval.golden.refine.aggregate import aggregate_labels

MODES: Final = ("batch", "single", "list")
_LABELS: Final = {
    "query_id": pl.String,
    "doc_id": pl.String,
    "round": pl.Int64,
    "slot": pl.Int64,
    "slots": pl.Int64,
    "grade": pl.Int64,
    "reason": pl.String,
    "call": pl.String,
}


@dataclass(frozen=True)
class GradingSettings:
    """The settings of grading.

    Attributes:
        mode: "batch", "single" or "list".
        batch: maximum number of passages per call in mode "batch".
        rounds: number of times each passage is shown.
        aggregate: name of the aggregation of labels.
        first: index of the first round; another value asks new questions.
    """

    mode: str = "batch"
    batch: int = 8
    rounds: int = 2
    aggregate: str = "posterior"
    seed: int = 0
    first: int = 0

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise PolicyError(f"mode of grading must be one of {', '.join(MODES)}. Got {self.mode!r}.")
        if self.batch < 1 or self.rounds < 1:
            raise PolicyError(f"batch and rounds must be at least 1. Got {self.batch} and {self.rounds}.")
        aggregate_labels(self.aggregate, [])

    def size(self, pool: int) -> int:
        """Passages per call."""
        return {"batch": self.batch, "single": 1, "list": max(pool, 1)}[self.mode]


class GradingQuestion(NamedTuple):
    """A question with its query and document ids, which the judge does not see.

    Attributes:
        doc_ids: [slot] document ids.
        round: index of the round, from 0.
    """

    query_id: str
    doc_ids: tuple[str, ...]
    round: int
    question: Question


@dataclass(frozen=True, eq=False)
class GradedPools:
    """The labels that a judge gave to pools.

    Attributes:
        labels: columns query_id, doc_id, round, slot, slots, grade, reason, call, with one row per passage and call;
            grade is null if there is no valid one.
        grades: columns query_id, doc_id, grade, labels, spread, with one row per passage in pool order; grade is null
            for a passage without a valid label. spread is the largest label minus the smallest.
        problems: kind of invalid answer → number of calls.
        asked: questions, in order.
        answers: [asked] answers.
    """

    labels: pl.DataFrame
    grades: pl.DataFrame
    problems: Mapping[str, int]
    asked: tuple[GradingQuestion, ...]
    answers: tuple[JudgeAnswer, ...]


def questions_of(
    pools: Mapping[str, Sequence[str]], queries: Mapping[str, str], documents: Mapping[str, str], how: GradingSettings
) -> list[GradingQuestion]:
    """The grading questions for pools.

    Args:
        pools: query id → document ids.
        queries: id → text.
        documents: id → text.
    """
    asked = []
    for query_id, pool in pools.items():
        rng = rng_of(how.seed, "grade", query_id, *([str(how.first)] if how.first else []))
        for batch in batches_of(len(pool), how.size(len(pool)), how.rounds, rng):
            doc_ids = tuple(pool[place] for place in batch.members)
            texts = tuple(documents[each] for each in doc_ids)
            # With single passages or whole pools, every round has the same questions; the sample number tells them
            # apart.
            number = how.first + batch.round
            asked.append(
                GradingQuestion(query_id, doc_ids, number, Question("grade", queries[query_id], texts, number))
            )
    return asked


def grade(
    pools: Mapping[str, Sequence[str]],
    queries: Mapping[str, str],
    documents: Mapping[str, str],
    judge: Judge,
    ledger: Ledger,
    how: GradingSettings,
    *,
    at_once: int = 1,
    step: Step | None = None,
) -> GradedPools:
    """Have a judge grade pools; questions in the ledger are not asked again.

    Args:
        pools: query id → document ids.
        queries: id → text.
        documents: id → text.
        at_once: maximum number of concurrent calls.

    Raises:
        InputError: the judge cannot be asked, or the money is spent; what was answered is kept.
    """
    asked = questions_of(pools, queries, documents, how)
    answers = ask_all(ledger, judge, [each.question for each in asked], at_once=at_once, step=step)
    rows = []
    problems: dict[str, int] = {}
    for each, answer in zip(asked, answers, strict=True):
        call, slots = key_of(judge, each.question).call, len(each.doc_ids)
        for slot, (doc_id, label) in enumerate(zip(each.doc_ids, answer.labels, strict=True)):
            told = (None, "") if label is None else label
            rows.append((each.query_id, doc_id, each.round, slot, slots, *told, call))
        for problem in dict.fromkeys(answer.problems):
            problems[problem] = problems.get(problem, 0) + 1
    labels = pl.DataFrame(rows, schema=_LABELS, orient="row")
    return GradedPools(labels, grades_of(pools, labels, how.aggregate), problems, tuple(asked), tuple(answers))


def grades_of(pools: Mapping[str, Sequence[str]], labels: pl.DataFrame, aggregate: str) -> pl.DataFrame:
    """The aggregated grade of each passage, in pool order.

    Args:
        pools: query id → document ids.
        labels: labels as in `GradedPools`, from one or several gradings.
        aggregate: name of the aggregation of labels.

    Returns:
        As `GradedPools.grades`.
    """
    pool = pl.DataFrame(
        [(query_id, doc_id) for query_id, doc_ids in pools.items() for doc_id in doc_ids],
        schema={"query_id": pl.String, "doc_id": pl.String},
        orient="row",
    )
    valid = labels.filter(pl.col("grade").is_not_null())
    by_pair = valid.group_by("query_id", "doc_id", maintain_order=True).agg(pl.col("grade").alias("given"))
    given = by_pair["given"].to_list()
    made = by_pair.select(
        "query_id",
        "doc_id",
        pl.Series("grade", aggregate_labels(aggregate, given), dtype=pl.Int64),
        pl.Series("labels", [len(each) for each in given], dtype=pl.Int64),
        pl.Series("spread", [int(np.ptp(each)) for each in given], dtype=pl.Int64),
    )
    found = pool.join(made, on=("query_id", "doc_id"), how="left", maintain_order="left")
    return found.with_columns(pl.col("labels").fill_null(0))
