"""Estimates of calls, tokens and money for a golden set, and the notice before the first call.

Call counts are exact, or upper bounds: each question counts once, and repair calls after an invalid answer are
not counted. The cost is the expected one: output tokens are those of earlier answers in the ledger with the same model,
parameters and prompt; else a guess from the number of passages, plus the reasoning tokens seen in another task.
`at_most` is never below the bill where max_tokens is honored and no call is sent again: one token per byte, answers of
maximum length, a repair call for every question, and the longest passages in each call.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from trueval.collection import Collection as Texts
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.golden.build.grade import GradingSettings, questions_of
from trueval.golden.build.judge_choice import writer_of
from trueval.golden.build.pooling import rewrite_questions
from trueval.golden.build.refine_pools import RefinementSettings
from trueval.golden.build.regrade import REGRADED, once_more
from trueval.golden.build.rounds import rng_of
from trueval.golden.build.steadiness import again_of
from trueval.golden.judge.judge import TASKS, Judge, Question, Task, key_of
from trueval.golden.judge.ledger import Ledger
from trueval.golden.judge.model_judge import TOKENS_OUT, ModelJudge
from trueval.models.hosted.account import Account
from trueval.models.missing_work import DryRun, MissingWork
from trueval.models.missing_work import announce as announce_work
from trueval.retrieval.pipeline.rewriting import MODEL_FORMS, forms_of

ENDLESS: Final = (
    "Nothing limits the length of an answer: set max_completion_tokens in [judge], else nobody knows what it costs at "
    "most, and the bill can pass max_cost by the calls under way."
)
INVALID: Final = (
    "An answer that is not valid is asked for once more: these second calls are in what it costs at most, and in no "
    "other number; calls that are cut and sent again are in none."
)
SAMPLED: Final = 20  # number of queries whose tokens are counted; the others are assumed to be equally long


def estimate_stage(
    judge: Judge,
    ledger: Ledger | None,
    task: str,
    questions: Sequence[Question],
    calls: int | None = None,
    largest: Sequence[tuple[int, Question]] = (),
) -> MissingWork:
    """Estimate the cost of asking a judge some questions.

    Args:
        ledger: ledger with earlier answers; None for none.
        questions: all questions, or examples.
        calls: maximum number of calls, where the questions are examples.
        largest: number of questions and the largest possible question, where the questions are examples.
    """
    kept = 0
    if calls is None:
        asked = list(dict.fromkeys(questions))  # duplicates are asked once
        questions = [each for each in asked if ledger is None or ledger.find(key_of(judge, each)) is None]
        kept = _items(asked) - _items(questions)
    number = len(questions) if calls is None else calls
    scale = number / len(questions) if questions else 0.0
    items = round(_items(questions) * scale)
    found: dict[str, Any] = {"items": items, "calls": number, "kept": kept, "exact": calls is None}
    if not isinstance(judge, ModelJudge) or not number:
        return MissingWork(task, judge.name, **found)
    used = [judge.estimate(each) for each in questions]
    sent, guessed = (round(scale * sum(each[place] or 0 for each in used)) for place in range(2))
    back, answers = _back(judge, ledger, questions, number, guessed)
    at_most = _most_cost(judge, [(1, each) for each in questions] if calls is None else largest, number)
    cost = judge.use.prices.cost(sent, back)
    return MissingWork(
        task, judge.name, tokens=sent, tokens_out=back, cost=cost, at_most=at_most, answers=answers, **found
    )


def _items(questions: Iterable[Question]) -> int:
    """Passages of the questions; a question without any counts as its query."""
    return sum(len(each.passages) or 1 for each in questions)


def _most_cost(judge: ModelJudge, largest: Sequence[tuple[int, Question]], calls: int) -> float | None:
    """Upper bound of the cost; calls without a group count as the most expensive one."""
    costs = [(number, judge.most(question).cost) for number, question in largest]
    known = [(number, cost) for number, cost in costs if cost is not None]
    if len(known) < len(costs) or (calls and not costs):
        return None
    rest = max(calls - sum(number for number, _ in known), 0)
    return sum(number * cost for number, cost in known) + rest * max((cost for _, cost in known), default=0.0)


def _back(
    judge: ModelJudge, ledger: Ledger | None, questions: Sequence[Question], calls: int, guessed: int
) -> tuple[int, int]:
    """Output tokens per call, and the number of earlier answers they were estimated from, with as many passages.

    Where the task has none, the reasoning tokens per call are taken from other tasks.
    """
    if ledger is None or not questions:
        return guessed, 0
    thought = (0.0, 0)
    for task in sorted(TASKS, key=lambda each: each != questions[0].task):
        billed, (each, own) = ledger.billed_usage(judge, task), TOKENS_OUT[task]
        written = own * billed.calls + each * billed.passages
        if billed.calls and task == questions[0].task:
            return round(guessed * billed.tokens_out / written), billed.calls
        if billed.calls > thought[1]:
            thought = max(billed.tokens_out - written, 0) / billed.calls, billed.calls
    return guessed + round(calls * thought[0]), thought[1]


def estimate_orders(
    judge: Judge,
    ledger: Ledger | None,
    pools: Sequence[tuple[str, Sequence[str]]],
    how: RefinementSettings,
    repeat: int,
    *,
    queries: int | None = None,
    largest: Question | None = None,
) -> MissingWork:
    """Estimate a refinement that uses its whole budget; the same estimate serves a dry run and the notice.

    Which passages a call shows depends on the answers. The expected cost assumes batches in which all passages are
    equally frequent; the maximum assumes that each call of a query shows its longest ones.

    Args:
        ledger: ledger with earlier answers; None for none.
        pools: [query] text of the query and texts of its passages.
        how: settings of the refinement.
        repeat: maximum number of repeated calls.
        queries: number of queries, where these pools are examples; None for these.
        largest: an upper bound on the size of a question, where these pools are examples.
    """
    pools = [(query, texts) for query, texts in pools if len(texts) > 1]
    number = len(pools) if queries is None else queries
    examples = [Question("order", query, batch) for query, texts in pools for batch in _batches(texts, how.batch)]
    groups = [(how.calls, Question("order", query, longest(texts, how.batch))) for query, texts in pools]
    if largest is not None:
        groups = [(number * how.calls, largest)]
    return estimate_stage(judge, ledger, "order", examples, most_orders(number, how, repeat), groups)


def _batches(texts: Sequence[str], size: int) -> list[tuple[str, ...]]:
    """Batches that contain each text about equally often.

    >>> _batches("abcde", 2)
    [('a', 'b'), ('c', 'd'), ('e', 'a')]
    """
    size, count = min(size, len(texts)), len(texts)
    return [tuple(texts[(place + each) % count] for each in range(size)) for place in range(0, count, size)]


def longest(texts: Iterable[str], count: int) -> tuple[str, ...]:
    """The longest texts in bytes, longest first.

    Args:
        count: maximum number of texts.
    """
    return tuple(heapq.nlargest(count, texts, key=lambda text: len(text.encode("utf-8", "replace"))))


def announce(judge: Judge, account: Account, found: MissingWork) -> None:
    """Before the first call of a stage, say what leaves this machine, to whom and at what cost."""
    if isinstance(judge, ModelJudge):
        endless = account.max_cost is not None and judge.use.most_out is None
        announce_work(found, judge.url, judge.key.variable, account, f" {ENDLESS}" * endless)


def dry_run_of(work: Sequence[MissingWork], account: Account, notes: Sequence[str] = ()) -> DryRun:
    """The dry run of work that includes questions to a judge.

    Args:
        account: account that would be charged.
        notes: remarks on this work.
    """
    paid = [each for each in work if each.tokens_out]
    endless = any(each.cost is not None and each.at_most is None for each in paid)
    notes = [*([INVALID] if paid else []), *([ENDLESS] if endless else []), *notes]
    return DryRun(work, account.max_cost, account.spent, notes=notes)


def most_orders(queries: int, how: RefinementSettings, repeat: int) -> int:
    """Upper bound of the calls of a refinement.

    Args:
        queries: number of queries with at least two passages.
        how: settings of the refinement.
        repeat: maximum number of repeated calls.

    >>> most_orders(3, RefinementSettings(calls=60), 50)
    230
    """
    return queries * how.calls + min(repeat, queries * how.calls)


@dataclass(frozen=True, eq=False)
class GoldenState:
    """The part of a golden set that exists when a dry run estimates the rest.

    Attributes:
        names: names of the requested stages.
        left: stages that are still to be computed.
        pools: query id → document ids; None if not yet found.
        contradicted: query id → ids of passages to regrade; None before the refinement.
        kept: query id → ids of passages to refine; None if unknown.
    """

    names: Collection[str]
    left: Collection[str]
    pools: Mapping[str, Sequence[str]] | None
    contradicted: Mapping[str, Sequence[str]] | None
    kept: Mapping[str, Sequence[str]] | None = None


def estimate(
    plan: GoldenPlan, known: GoldenState, collection: Texts, judge: Judge, ledger: Ledger | None
) -> Iterator[MissingWork]:
    """Estimate the cost of a golden set; nothing is sent.

    Args:
        known: existing part of the golden set.
        judge: judge that would be asked.
        ledger: ledger with earlier answers.
    """
    asked = rewrite_questions(collection.queries.values())
    for form in forms_of(plan.rewrite):
        if form in MODEL_FORMS:
            yield estimate_stage(writer_of(judge, form), ledger, "rewrite", asked)
    task = _Tasks(plan, known, collection, judge, ledger)
    if "grade" in known.names:
        yield task.grade()
    if "refine" in known.left and plan.refining.method != "none":
        yield task.order()
    if "regrade" in known.left:
        yield task.regrade()


class _Tasks:
    """The tasks of a judge, over known pools or over pools of the largest possible size."""

    def __init__(
        self, plan: GoldenPlan, known: GoldenState, collection: Texts, judge: Judge, ledger: Ledger | None
    ) -> None:
        self.plan, self.known, self.collection = plan, known, collection
        self.judge, self.ledger = judge, ledger
        self.repeat = int(plan.judge.values["repeat"])
        self.pools = _likely_pools(plan, collection) if known.pools is None else known.pools

    def grade(self) -> MissingWork:
        """Grading of every passage in each round."""
        asked = self._questions(self.pools, self.plan.judge.grading)
        if self.known.pools is not None:
            asked += again_of(asked, self.repeat, self.plan.seed)
            return estimate_stage(self.judge, self.ledger, "grade", asked)
        calls = self._of_all(len(asked))
        calls += min(self.repeat, calls)
        largest = self._largest("grade", self.plan.judge.grading.size(max(map(len, self.pools.values()), default=1)))
        return estimate_stage(self.judge, self.ledger, "grade", asked, calls, [(calls, largest)])

    def order(self) -> MissingWork:
        """Ordering of the best passages, with the whole budget of each query."""
        how, texts = self.plan.refining, self.collection
        pools = [
            (texts.queries[query], [texts.documents[each] for each in ids])
            for query, ids in (self.pools if self.known.kept is None else self.known.kept).items()
        ]
        if self.known.pools is not None:
            return estimate_orders(self.judge, self.ledger, pools, how, self.repeat)
        number, largest = self._of_all(sum(len(ids) > 1 for _, ids in pools)), self._largest("order", how.batch)
        return estimate_orders(self.judge, self.ledger, pools, how, self.repeat, queries=number, largest=largest)

    def regrade(self) -> MissingWork:
        """Regrading of contradictions; before the refinement, the largest possible number per query."""
        how = once_more(self.plan.judge.grading)
        if self.known.contradicted is not None:
            asked = self._questions(self.known.contradicted, how)
            return estimate_stage(self.judge, self.ledger, "regrade", asked)
        most = min(REGRADED, self.plan.keep)
        asked = self._questions({query: ids[:most] for query, ids in self.pools.items()}, how)
        calls, largest = self._of_all(len(asked)), self._largest("grade", how.size(most))
        return estimate_stage(self.judge, self.ledger, "regrade", asked, calls, [(calls, largest)])

    def _largest(self, task: Task, passages: int) -> Question:
        """A question at least as long as any about these pools, or about any pool where they are unknown."""
        documents, known = self.collection.documents, self.known.pools
        ids = documents if known is None else {each for pool in known.values() for each in pool}
        texts = longest((documents[each] for each in ids), passages)
        return Question(task, longest(self.collection.queries.values(), 1)[0], texts)

    def _questions(self, pools: Mapping[str, Sequence[str]], how: GradingSettings) -> list[Question]:
        texts = self.collection
        return [each.question for each in questions_of(pools, texts.queries, texts.documents, how)]

    def _of_all(self, count: int) -> int:
        """Scale a count over sample pools up to all queries."""
        if self.known.pools is not None:
            return count
        return round(count * len(self.collection.queries) / max(len(self.pools), 1))


def _likely_pools(plan: GoldenPlan, collection: Texts) -> dict[str, list[str]]:
    """Pools of the largest possible size for some queries, from documents drawn at random."""
    sources = sum(name in plan.settings for name in ("index", "sparse"))
    size = min(plan.depth * sources * len(forms_of(plan.rewrite)), len(collection.documents))
    ids, rng = list(collection.documents), rng_of(plan.seed, "estimate")
    return {
        query: [ids[place] for place in rng.choice(len(ids), size, replace=False).tolist()]
        for query in list(collection.queries)[:SAMPLED]
    }
