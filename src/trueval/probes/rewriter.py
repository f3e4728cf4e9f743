"""Rewriting of noisy queries by a language model, through the client and ledger of golden sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from trueval.collection import Collection
from trueval.errors import InputError
from trueval.golden.build.build import open_account
from trueval.golden.build.build_estimate import announce, dry_run_of, estimate_stage
from trueval.golden.build.golden_plan import read_judge
from trueval.golden.build.judge_choice import make_judge
from trueval.golden.build.pooling import rewrite, rewrite_questions
from trueval.golden.build.query_writing import likely_texts, open_rewriting_ledger
from trueval.golden.judge.concurrent_questions import Step
from trueval.golden.judge.judge import Judge
from trueval.golden.judge.ledger import Ledger
from trueval.models.hosted.account import Account
from trueval.models.missing_work import DryRun
from trueval.probes.noise import draw_queries, raw_texts
from trueval.probes.noise_settings import JUDGE, NoiseSettings
from trueval.probes.probe_estimate import estimate_noise
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.rewriting import PLAIN_FORM

CALLS = "probe-noise.calls.jsonl"
UNWRITTEN = (
    "What the judge has not written yet is counted as long as what it rewrites: embedding and reranking it may cost "
    "more than is said here. --max-cost holds for all."
)


@dataclass(frozen=True, eq=False)
class JudgeRewriter:
    """Rewrites queries; answers in the ledger are reused.

    Attributes:
        ledger: ledger of the judge's answers.
        account: account that is charged.
        at_once: maximum number of concurrent calls.
        cache: folder of the ledger and of model outputs; None for none.
    """

    judge: Judge | None
    ledger: Ledger | None
    account: Account
    at_once: int
    step: Step
    cache: Path | None

    def rewrite(self, texts: Sequence[str]) -> list[str]:
        """Rewrite each text; the text itself where the answer is invalid.

        Raises:
            InputError: there is no judge, it cannot be asked, or the money is spent.
        """
        judge, ledger = self._judge(), self.ledger
        if ledger is None:
            raise InputError("Rewriting needs a ledger of answers. Open it with make=True.")
        announce(judge, self.account, estimate_stage(judge, ledger, "rewrite", rewrite_questions(texts)))
        asked = {str(place): text for place, text in enumerate(texts)}
        found = rewrite(asked, PLAIN_FORM, judge, ledger, at_once=self.at_once, step=self.step)
        return list(found.texts[PLAIN_FORM].values())

    def estimate(self, pipelines: Sequence[Pipeline], collection: Collection, design: NoiseSettings) -> DryRun:
        """Estimate a probe with its rewrites; nothing is sent.

        Raises:
            InputError: there is no judge where one is needed, or as in probe_pipelines.
        """
        if JUDGE not in design.denoised:
            return dry_run_of(estimate_noise(pipelines, collection, design, cache=self.cache), self.account)
        judge, texts = self._judge(), raw_texts(draw_queries(collection, design).queries, design)
        asked = estimate_stage(judge, self.ledger, "rewrite", rewrite_questions(texts))
        models = estimate_noise(pipelines, collection, design, rewriter=self._likely, cache=self.cache)
        if asked.calls:  # only the answer length, in the model's own tokens, limits what the judge writes
            models = [replace(each, exact=False, at_most=None if each.calls else each.at_most) for each in models]
        return dry_run_of([asked, *models], self.account, [UNWRITTEN] if asked.calls and models else [])

    def _likely(self, texts: Sequence[str]) -> list[str]:
        """The ledger's rewrite of each text; else a unique placeholder."""
        return likely_texts(self._judge(), self.ledger, texts, "*")

    def _judge(self) -> Judge:
        if self.judge is None:
            raise InputError(
                "Rewriting needs a judge. Name a model, or a TOML file with a table [judge], with --judge."
            )
        return self.judge


@contextmanager
def open_rewriter(
    named: str | None,
    collection: Collection,
    cache: Path | None,
    max_cost: float | None,
    step: Step,
    *,
    make: bool = True,
) -> Iterator[JudgeRewriter]:
    """Open a rewriter with its ledger in a cache.

    Args:
        named: a model, or a TOML file with a table [judge]; None for no judge.
        cache: folder of the ledger; None for a temporary one.
        max_cost: spending limit, which overrides that of the file.
        make: whether to create a missing ledger; a dry run creates nothing.

    Raises:
        InputError: as in read_judge and make_judge.
    """
    if named is None:
        yield JudgeRewriter(None, None, Account(max_cost), 1, step, cache)
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory())) if cache is None else cache
        ledger = stack.enter_context(open_rewriting_ledger(folder, make=make))
        plan = read_judge(named, {} if max_cost is None else {"max_cost": max_cost})
        account = open_account(folder / CALLS, plan.values["max_cost"])
        judge = make_judge(plan, collection, account)
        yield JudgeRewriter(judge, ledger, account, plan.values["concurrency"], step, cache)
