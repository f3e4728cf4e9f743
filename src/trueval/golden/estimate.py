"""Estimates: calls, tokens and money of a golden set before they are spent, and what is said before the first call."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from trueval.collection import Collection as Texts
from trueval.errors import TruevalWarning
from trueval.golden.grade import questions_of
from trueval.golden.judge import Judge, Question, key_of
from trueval.golden.ledger import Ledger
from trueval.golden.model_judge import ModelJudge
from trueval.golden.plan import Plan
from trueval.golden.pool import SOURCES
from trueval.golden.rounds import rng_of
from trueval.golden.tables import JUDGE_REWRITES
from trueval.models.hosted.account import Account
from trueval.models.hosted.services import is_this_machine

SAMPLED: Final = 20  # queries of which tokens are counted; of the others they are taken to be as many


class Estimate(NamedTuple):
    """What a task of a judge takes.

    Attributes:
        task: of the judge.
        calls: that are still to be asked.
        known: calls that the ledger has.
        passages: in the calls that are still to be asked.
        tokens_in: of these calls, by our estimate; None for a judge without tokens.
        tokens_out: of their answers.
        cost: in the currency of the judge's prices; None where they are not known.
        most: whether it may be less: pools are not known yet, or the task stops by itself.
    """

    task: str
    calls: int
    known: int
    passages: int
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    most: bool

    def sentence(self) -> str:
        """One line.

        >>> Estimate("grade", 1200, 0, 9600, 2_400_000, 60_000, 0.72, True).sentence()
        'grade: at most 1,200 calls with 9,600 passages, about 2,400,000 tokens out and 60,000 back, about 0.72.'
        """
        told = f"{self.task}: {'at most ' * self.most}{self.calls:,} calls with {self.passages:,} passages"
        if self.tokens_in is not None:
            told += f", about {self.tokens_in:,} tokens out and {self.tokens_out:,} back"
            told += ", at a price that is not known" if self.cost is None else f", about {self.cost:.4g}"
        return told + (f"; {self.known:,} more are in the ledger" if self.known else "") + "."


def estimate_stage(
    judge: Judge, ledger: Ledger | None, task: str, questions: Sequence[Question], calls: int | None = None
) -> Estimate:
    """What asking some questions takes.

    Args:
        judge: who is asked.
        ledger: whose answers need not be asked for; None for none.
        task: of the questions.
        questions: all of them, or examples.
        calls: how many there are at most, where the questions are examples.
    """
    known = 0
    if calls is None:
        questions = list(dict.fromkeys(questions))  # one that is there twice is asked once
    if calls is None and ledger is not None:
        unknown = [each for each in questions if ledger.find(key_of(judge, each)) is None]
        known, questions = len(questions) - len(unknown), unknown
    number = len(questions) if calls is None else calls
    passages = sum(len(each.passages) for each in questions)
    scale = number / len(questions) if questions else 0.0
    passages = round(passages * scale)
    if not isinstance(judge, ModelJudge):
        return Estimate(task, number, known, passages, None, None, None, calls is not None)
    found = [judge.estimate(each) for each in questions]
    sent, back, cost = (scale * sum(each[place] or 0 for each in found) for place in range(3))
    price = None if None in judge.use.prices else cost
    return Estimate(task, number, known, passages, round(sent), round(back), price, calls is not None)


def announce(judge: Judge, account: Account, found: Estimate) -> None:
    """Say what leaves this machine, to whom and for how much, before the first call of a stage.

    Args:
        judge: who is asked.
        account: what is spent, and what may be.
        found: what it takes.
    """
    if not isinstance(judge, ModelJudge) or not found.calls:
        return
    leaves = "go to" if is_this_machine(judge.use.base_url) else "leave this machine for"
    key = f", with the key in {judge.use.api_key_env}" if judge.use.api_key_env else ""
    price = "at a price that is not known" if found.cost is None else f"for about {found.cost:.4g}"
    limit = "" if account.max_cost is None else f"; {account.spent:.4g} of at most {account.max_cost:g} is spent"
    over = account.max_cost is not None and account.spent + (found.cost or 0.0) > account.max_cost
    told = (
        f"{found.task}: {'at most ' * found.most}{found.calls:,} calls with {found.passages:,} passages, about "
        f"{found.tokens_in or 0:,} tokens, {leaves} {judge.host} ({judge.name}){key}, {price}{limit}."
        f"{' It stops there, and keeps what is done.' * over}"
    )
    warnings.warn(told, TruevalWarning, stacklevel=3)


def estimate(
    plan: Plan,
    known: Mapping[str, Sequence[str]] | None,
    left: Collection[str],
    collection: Texts,
    judge: Judge,
    ledger: Ledger | None,
) -> list[Estimate]:
    """What a golden set takes; nothing is asked.

    Args:
        plan: of the golden set.
        known: its pools, query id → ids of documents; None where they must still be found.
        left: stages that must still be made.
        collection: documents and queries.
        judge: who would be asked.
        ledger: whose answers need not be asked for.
    """
    queries, how = collection.queries, plan.refining
    found = []
    if plan.rewrite == JUDGE_REWRITES:
        asked = [Question("rewrite", text, ()) for text in queries.values()]
        found.append(estimate_stage(judge, ledger, "rewrite", asked))
    pools = _likely_pools(plan, collection) if known is None else known
    if known is not None or "grade" in left:
        asked = [each.question for each in questions_of(pools, queries, collection.documents, plan.judge.grading)]
        calls = None if known is not None else round(len(asked) * len(queries) / max(len(pools), 1))
        found.append(estimate_stage(judge, ledger, "grade", asked, calls))
    if how.method != "none" and "refine" in left:
        likely = [
            Question("order", queries[query], tuple(collection.documents[each] for each in ids[: how.batch]))
            for query, ids in pools.items()
            if len(ids) > 1
        ]
        found.append(estimate_stage(judge, ledger, "order", likely, len(queries) * how.calls if likely else 0))
    return found


def _likely_pools(plan: Plan, collection: Texts) -> dict[str, list[str]]:
    """Pools of some queries as large as they can become, of documents drawn at random."""
    sources = sum(name in plan.settings for name in ("index", "sparse"))
    size = min(plan.depth * min(sources, len(SOURCES)), len(collection.documents))
    ids, rng = list(collection.documents), rng_of(plan.seed, "estimate")
    return {
        query: [ids[place] for place in rng.choice(len(ids), size, replace=False).tolist()]
        for query in list(collection.queries)[:SAMPLED]
    }
