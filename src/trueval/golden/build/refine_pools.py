"""S6 for all queries: pools are refined independently and concurrently, and every order goes to the ledger.

A refinement chooses each question from the answers so far, so its calls are sequential; pools are independent. The
questions depend only on the seed and the answers: an interrupted refinement asks the same questions again, finds the
answers in the ledger, and resumes where it stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import NamedTuple

from trueval.errors import InputError
from trueval.golden.build.rounds import rng_of
from trueval.golden.judge.concurrent_questions import Step, ask_all
from trueval.golden.judge.judge import Judge, JudgeAnswer, Question
from trueval.golden.judge.ledger import Ledger
from trueval.golden.refine.aggregate import GROSS
from trueval.golden.refine.paper_s6 import PaperSettings
from trueval.golden.refine.posterior_s6 import OVERLAP, PosteriorSettings
from trueval.golden.refine.refine import CompareAll, refine
from trueval.golden.refine.refinement import Refinement
from trueval.models.hosted.concurrent_calls import side_by_side


@dataclass(frozen=True)
class RefinementSettings:
    """The settings of the refinement.

    Attributes:
        method: "posterior", "paper", or "none".
        top: number of passages to return.
        batch: number of passages per call.
        parallel: number of calls per round of a query.
        overlap: expected overlap at which the posterior method stops.
        calls: maximum number of calls per query.
        slot_bias: whether the posterior models slot bias of the judge.
        gross: share of grades that the posterior assumes to be grossly wrong; None to estimate it from the labels.
        turns: number of turns at which the published method stops.
        regrade: whether to regrade passages whose order contradicts their grades.
    """

    method: str = "posterior"
    top: int = 20
    batch: int = 5
    parallel: int = 4
    overlap: float = OVERLAP
    calls: int = 60
    slot_bias: bool = False
    gross: float | None = None
    turns: int = 3
    regrade: bool = False
    seed: int = 0

    @property
    def settings(self) -> PosteriorSettings | PaperSettings:
        """The settings of the method."""
        if self.method == "paper":
            return PaperSettings(turns=self.turns, batch=self.batch)
        slot = 1.0 if self.slot_bias else None
        gross = GROSS if self.gross is None else self.gross
        return PosteriorSettings(self.batch, self.parallel, self.overlap, gross=gross, slot_bias=slot)

    @property
    def at_once(self) -> int:
        """Maximum number of concurrent calls per query."""
        return 1 if self.method == "paper" else self.parallel


class RefinementPool(NamedTuple):
    """The input of the refinement for one query.

    Attributes:
        gross: probability that each grade is grossly wrong; empty for the method's share.
    """

    query_id: str
    query: str
    doc_ids: tuple[str, ...]
    texts: tuple[str, ...]
    grades: tuple[float, ...]
    gross: tuple[float, ...] = ()


class RefinedPool(NamedTuple):
    """The refinement of one pool, with the questions behind it.

    Attributes:
        asked: questions, in order.
        answers: [question] answers.
    """

    query_id: str
    refinement: Refinement
    asked: tuple[Question, ...]
    answers: tuple[JudgeAnswer, ...]


def refine_pools(
    pools: Sequence[RefinementPool],
    judge: Judge,
    ledger: Ledger,
    how: RefinementSettings,
    *,
    at_once: int = 1,
    step: Step | None = None,
) -> list[RefinedPool]:
    """Refine pools; orders in the ledger are not asked again.

    Args:
        pools: one per query, each with at least one passage.
        how: method and budgets.
        at_once: maximum number of concurrent calls.
        step: called with "queries", the number refined and the total.

    Raises:
        InputError: the judge cannot be asked, or the money is spent; what was answered is kept.
    """
    stopped = Event()
    calls = min(how.at_once, at_once)
    return side_by_side(
        lambda pool: _refine_pool(pool, judge, ledger, how, calls, stopped),
        pools,
        at_once=max(1, at_once // calls),
        done=None if step is None else lambda done: step("queries", done, len(pools)),
        stop=stopped.set,
    )


def _refine_pool(
    pool: RefinementPool, judge: Judge, ledger: Ledger, how: RefinementSettings, at_once: int, stopped: Event
) -> RefinedPool:
    asked: list[Question] = []
    answers: list[JudgeAnswer] = []
    compare = compare_by(judge, ledger, pool, at_once, asked, answers, stopped)
    seed = int(rng_of(how.seed, "refine", pool.query_id).integers(2**32))
    by_labels = pool.gross if how.gross is None and how.method == "posterior" else ()
    found = refine(
        pool.doc_ids,
        pool.grades,
        compare,
        top=how.top,
        budget=how.calls,
        settings=how.settings,
        gross=by_labels or None,
        seed=seed,
    )
    return RefinedPool(pool.query_id, found, tuple(asked), tuple(answers))


def compare_by(
    judge: Judge,
    ledger: Ledger,
    pool: RefinementPool,
    at_once: int,
    asked: list[Question],
    answers: list[JudgeAnswer],
    stopped: Event | None = None,
) -> CompareAll:
    """The comparison function of a refinement, backed by a judge and its ledger.

    Args:
        pool: pool whose passages are ordered.
        at_once: maximum number of concurrent calls.
        asked: list to which the questions are appended.
        answers: list to which the answers are appended.
        stopped: set when the result is no longer needed.

    Returns:
        A function from batches of ids to an order of each, None where the judge gave no valid one.
    """
    texts = dict(zip(pool.doc_ids, pool.texts, strict=True))
    times: Counter[tuple[str, ...]] = Counter()

    def compare(batches: Sequence[tuple[str, ...]]) -> list[tuple[str, ...] | None]:
        if stopped is not None and stopped.is_set():
            raise InputError("The refinement was stopped. Run the same command again: what was answered is kept.")
        questions = []
        for batch in batches:
            # The same texts in the same order get another sample number, since one answer would otherwise count twice.
            # Compared by text, because two documents may have the same text and the ledger stores only texts.
            shown = tuple(texts[each] for each in batch)
            questions.append(Question("order", pool.query, shown, times[shown]))
            times[shown] += 1
        found = ask_all(ledger, judge, questions, at_once=at_once)
        asked.extend(questions)
        answers.extend(found)
        return [
            tuple(batch[slot] for slot in answer.order) or None for batch, answer in zip(batches, found, strict=True)
        ]

    return compare


def top_of(refined: Sequence[RefinedPool]) -> dict[str, dict[str, float]]:
    """The top passages of each query, with scores that reproduce their rank.

    Returns:
        Query id → document id → posterior mean; for the published method, which ranks by locks, the rank from the
        bottom.
    """
    found = {}
    for each in refined:
        best = each.refinement.documents[: each.refinement.top]
        scores = [one.score if each.refinement.method == "posterior" else float(len(best) - one.rank) for one in best]
        found[each.query_id] = {one.document: score for one, score in zip(best, scores, strict=True)}
    return found


def order_by_grades(pools: Mapping[str, Sequence[tuple[str, int, float]]], top: int) -> dict[str, dict[str, float]]:
    """The top passages by grade alone, for pools without a refinement.

    Args:
        pools: query id → document ids with grade and mean label, best first.
        top: number of passages per query.

    Returns:
        Query id → document id → the grade, moved a tenth of the way towards the mean label, so never past another
        grade.

    >>> order_by_grades({"q": [("a", 4, 3.0), ("b", 3, 3.5), ("c", 3, 3.0)]}, 2)
    {'q': {'a': 3.9, 'b': 3.05}}
    """
    return {
        query: {document: grade + (mean - grade) / 10 for document, grade, mean in each[:top]}
        for query, each in pools.items()
        if each
    }
