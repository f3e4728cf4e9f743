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
from trueval.golden.judge.concurrent_questions import Step, ask_all, side_by_side
from trueval.golden.judge.judge import Judge, JudgeAnswer, Question
from trueval.golden.judge.ledger import Ledger
from trueval.golden.refine.aggregate import GROSS
from trueval.golden.refine.paper_s6 import PaperSettings
from trueval.golden.refine.posterior_s6 import OVERLAP, PosteriorSettings
from trueval.golden.refine.refine import CompareAll, refine
from trueval.golden.refine.refinement import Refinement


@dataclass(frozen=True)
class RefinementSettings:
    """The settings of the refinement.

    Attributes:
        method: "posterior", "paper", or "none".
        top: passages that are returned.
        batch: passages of a call.
        parallel: calls of one round of a query.
        overlap: at which the posterior stops.
        calls: of each query, at most.
        slot_bias: whether the posterior takes slots to move the judge.
        gross: share of grades that the posterior takes to be grossly wrong; None for what labels say of each.
        turns: at which the published method stops.
        regrade: whether what contradicts its grade is graded once more.
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
        query: text of the query.
        gross: chance of each grade that it is grossly wrong; empty for the share of the method.
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
        asked: questions, in their order.
        answers: [question].
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
        pools: one of each query, with a passage at least.
        judge: the judge that orders.
        ledger: the ledger of answers.
        how: method and budgets.
        at_once: calls under way at once.
        step: called with "queries", how many are refined and how many there are.

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
        judge: the judge that orders.
        ledger: the ledger of answers.
        pool: whose passages are ordered.
        at_once: calls under way at once.
        asked: gains the questions.
        answers: gains the answers.
        stopped: set when the result is no longer needed.

    Returns:
        From batches of ids to an order of each, None where the judge gave no valid one.
    """
    texts = dict(zip(pool.doc_ids, pool.texts, strict=True))
    times: Counter[tuple[str, ...]] = Counter()

    def compare(batches: Sequence[tuple[str, ...]]) -> list[tuple[str, ...] | None]:
        if stopped is not None and stopped.is_set():
            raise InputError("The refinement was stopped.")
        questions = []
        for batch in batches:
            # The same texts in the same order are another sample: the answer would otherwise count twice. By texts and
            # not by ids, because two documents may have the same text, and the ledger knows texts alone.
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
        Query id → document id → posterior mean; of the published method, whose locks rank, the rank from below.
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
        top: passages of each query.

    Returns:
        Query id → document id → the grade, moved towards the mean by a tenth of the way: never past another grade.

    >>> order_by_grades({"q": [("a", 4, 3.0), ("b", 3, 3.5), ("c", 3, 3.0)]}, 2)
    {'q': {'a': 3.9, 'b': 3.05}}
    """
    return {
        query: {document: grade + (mean - grade) / 10 for document, grade, mean in each[:top]}
        for query, each in pools.items()
        if each
    }
