"""A language model that rewrites noisy queries, through the client and the ledger of golden sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from trueval.collection import Collection
from trueval.errors import InputError
from trueval.golden.asking import Step
from trueval.golden.build import opened_account
from trueval.golden.estimate import announce, estimate_stage
from trueval.golden.judge import Judge, Question
from trueval.golden.judges import make_judge
from trueval.golden.ledger import Ledger, opened_ledger
from trueval.golden.plan import read_judge
from trueval.golden.pool import rewrite
from trueval.golden.tables import JUDGE_REWRITES
from trueval.models.hosted.account import Account
from trueval.probes.noise import JUDGE, Design, drawn, raw_texts

LEDGER = "probe-noise.ledger.sqlite"
CALLS = "probe-noise.calls.jsonl"


@dataclass(frozen=True, eq=False)
class JudgeRewriter:
    """Rewrites queries; answers that the ledger has are not asked for again.

    Attributes:
        judge: who is asked.
        ledger: where its answers are.
        account: what is spent.
        at_once: calls under way at once.
        step: as in ask_all.
    """

    judge: Judge | None
    ledger: Ledger
    account: Account
    at_once: int
    step: Step

    def rewrite(self, texts: Sequence[str]) -> list[str]:
        """Other words for each text; the text itself where the answer is not valid.

        Raises:
            InputError: there is no judge, it cannot be asked, or the money is spent.
        """
        judge = self._judge()
        announce(judge, self.account, estimate_stage(judge, self.ledger, "rewrite", _questions(texts)))
        asked = {str(place): text for place, text in enumerate(texts)}
        found = rewrite(asked, JUDGE_REWRITES, judge, self.ledger, at_once=self.at_once, step=self.step)
        return list(found.texts.values())

    def estimate(self, collection: Collection, design: Design) -> str:
        """What rewriting the texts of a probe takes, in one line; nothing is asked.

        Args:
            collection: with the queries.
            design: of the probe.

        Raises:
            InputError: there is no judge.
        """
        texts = raw_texts(drawn(collection, design).queries, design) if JUDGE in design.denoised else []
        return estimate_stage(self._judge(), self.ledger, "rewrite", _questions(texts)).sentence()

    def _judge(self) -> Judge:
        if self.judge is None:
            raise InputError(
                "Rewriting needs a judge. Name a model, or a TOML file with a table [judge], with --judge."
            )
        return self.judge


def _questions(texts: Sequence[str]) -> list[Question]:
    return [Question("rewrite", text, ()) for text in texts]


@contextmanager
def opened_rewriter(
    named: str | None, collection: Collection, cache: Path | None, max_cost: float | None, step: Step
) -> Iterator[JudgeRewriter]:
    """A rewriter whose ledger is in a cache.

    Args:
        named: a model, or a TOML file with a table [judge]; None for no judge.
        collection: with the texts.
        cache: folder of the ledger; None for one that is gone at the end.
        max_cost: that wins over the file.
        step: as in ask_all.

    Raises:
        InputError: as in read_judge and make_judge.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory())) if cache is None else cache
        folder.mkdir(parents=True, exist_ok=True)
        ledger = stack.enter_context(opened_ledger(folder / LEDGER))
        if named is None:
            yield JudgeRewriter(None, ledger, Account(max_cost), 1, step)
            return
        plan = read_judge(named, {} if max_cost is None else {"max_cost": max_cost})
        account = opened_account(folder / CALLS, plan.values["max_cost"])
        yield JudgeRewriter(make_judge(plan, collection, account), ledger, account, plan.values["concurrency"], step)
