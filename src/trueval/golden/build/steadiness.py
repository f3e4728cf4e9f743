"""Steadiness: the self-agreement of a judge between rounds, between slots, and on repeated questions.

P-B §3.4.1 reports that 3 to 5 % of ranks differ on identical inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.golden.build.golden_result import RepeatedQuestions, RoundAgreement, SlotMean
from trueval.golden.build.rounds import rng_of
from trueval.golden.judge.concurrent_questions import ask_all
from trueval.golden.judge.judge import Judge, JudgeAnswer, Question
from trueval.golden.judge.ledger import Ledger
from trueval.golden.refine.aggregate import GRADES

# Offset of the sample number of a repeated question.
AGAIN: Final = 1_000


def between_rounds(labels: pl.DataFrame) -> tuple[RoundAgreement, ...]:
    """Label differences between each two rounds, on the passages labelled in both.

    κ is Cohen's with quadratic weights, None where all labels are the same.
    """
    valid = labels.filter(pl.col("grade").is_not_null())
    found = []
    for first, second in combinations(sorted(valid["round"].unique().to_list()), 2):
        keys = ["query_id", "doc_id"]
        sides = [valid.filter(pl.col("round") == each).select(*keys, "grade") for each in (first, second)]
        both = sides[0].join(sides[1], on=keys, how="inner", suffix="_second")
        if not both.height:
            continue
        one, other = both["grade"].to_numpy(), both["grade_second"].to_numpy()
        apart = np.abs(one - other)
        found.append(
            RoundAgreement(
                first,
                second,
                both.height,
                same=float((apart == 0).mean()),
                within_one=float((apart <= 1).mean()),
                difference=float((other - one).mean()),
                kappa=_kappa(one, other),
                table=tuple(
                    tuple(int(((one == row) & (other == column)).sum()) for column in GRADES) for row in GRADES
                ),
            )
        )
    return tuple(found)


def _kappa(one: NDArray[np.int64], other: NDArray[np.int64]) -> float | None:
    """1 minus the mean squared difference over that of independent labels (Cohen 1968)."""
    expected = float((one**2).mean() + (other**2).mean() - 2 * one.mean() * other.mean())
    return None if expected == 0 else 1.0 - float(((one - other) ** 2).mean()) / expected


def by_slot(labels: pl.DataFrame) -> tuple[SlotMean, ...]:
    """Mean label by slot: as passages are shuffled, the means should be equal."""
    valid = labels.filter(pl.col("grade").is_not_null() & (pl.col("slots") > 1))
    grouped = valid.group_by("slot").agg(passages=pl.len(), mean=pl.col("grade").mean(), sd=pl.col("grade").std(ddof=1))
    return tuple(
        SlotMean(slot + 1, passages, mean, None if sd is None else sd / passages**0.5)
        for slot, passages, mean, sd in grouped.sort("slot").iter_rows()
    )


@dataclass(frozen=True)
class RepeatedAnswers:
    """Questions that were asked twice, with both answers.

    Attributes:
        asked: the repeated questions.
        first: [asked] first answers.
        second: [asked] second answers.
    """

    asked: tuple[Question, ...]
    first: tuple[JudgeAnswer, ...]
    second: tuple[JudgeAnswer, ...]

    def summarize(self) -> RepeatedQuestions:
        """Differences in labels, orders and pairs of orders; None where no question was repeated."""
        labels = [
            (one.grade, other.grade)
            for before, after in zip(self.first, self.second, strict=True)
            for one, other in zip(before.labels, after.labels, strict=False)
            if one is not None and other is not None
        ]
        orders = [
            (before.order, after.order)
            for before, after in zip(self.first, self.second, strict=True)
            if before.order and after.order
        ]
        pairs = [each for both in orders for each in _pairs(*both)]
        return RepeatedQuestions(
            calls=len(self.asked),
            labels=len(labels),
            labels_differ=_share([one != other for one, other in labels]),
            orders=len(orders),
            orders_differ=_share([one != other for one, other in orders]),
            pairs_differ=_share(pairs),
        )


def _pairs(one: Sequence[int], other: Sequence[int]) -> list[bool]:
    """[pair] whether two orders of the same slots disagree on the pair."""
    place = {slot: rank for rank, slot in enumerate(other)}
    return [place[above] > place[below] for above, below in combinations(one, 2)]


def _share(differ: Sequence[bool]) -> float | None:
    return float(np.mean(differ)) if differ else None


def ask_again(
    asked: Sequence[Question],
    answers: Sequence[JudgeAnswer],
    judge: Judge,
    ledger: Ledger,
    count: int,
    *,
    seed: int,
    at_once: int = 1,
) -> RepeatedAnswers:
    """Ask a sample of questions a second time, verbatim.

    Args:
        asked: all questions of a task.
        answers: [asked] first answers.
        count: number of questions to sample.
        at_once: maximum number of concurrent calls.

    Raises:
        InputError: the judge cannot be asked, or the money is spent.
    """
    places = _sample_questions(asked, count, seed)
    again = again_of(asked, count, seed)
    second = ask_all(ledger, judge, again, at_once=at_once)
    return RepeatedAnswers(tuple(again), tuple(answers[place] for place in places), tuple(second))


def again_of(asked: Sequence[Question], count: int, seed: int) -> list[Question]:
    """The questions to ask a second time.

    Args:
        asked: all questions of a task.
        count: number of questions to sample.
    """
    return [
        asked[place]._replace(sample=asked[place].sample + AGAIN) for place in _sample_questions(asked, count, seed)
    ]


def _sample_questions(asked: Sequence[Question], count: int, seed: int) -> list[int]:
    rng = rng_of(seed, "again", asked[0].task if asked else "")
    return sorted(rng.permutation(len(asked))[:count].tolist())
