"""Query writing: the forms in which a language model writes queries for the search.

    model      the query as one clear question or phrase (P-B §3.4, S1)
    step-back  a more general question, whose answer is the background of the query (Zheng et al., "Take a Step Back:
               Evoking Reasoning via Abstraction in Large Language Models", ICLR 2024)
    hyde       a passage that could answer the query, in the words of a document (Gao, Ma, Lin & Callan, "Precise
               Zero-Shot Dense Retrieval without Relevance Labels", ACL 2023; one passage, searched as a query)

Each has a versioned prompt. Answers are in a ledger under the prompt's hash: every command asks for a text once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from trueval.errors import InputError
from trueval.golden.build.build_estimate import announce, estimate_stage
from trueval.golden.build.golden_plan import read_judge
from trueval.golden.build.judge_choice import model_judge, writer_of
from trueval.golden.build.pooling import read_rewritten, rewrite_questions
from trueval.golden.judge.concurrent_questions import ask_all
from trueval.golden.judge.judge import Judge, JudgeAnswer, key_of
from trueval.golden.judge.ledger import Ledger, open_existing_ledger, open_ledger
from trueval.models.hosted.account import Account, sum_costs
from trueval.models.output_part import Step
from trueval.retrieval.pipeline.model_forms import MODEL, QueryForm, Rewriter

LEDGER: Final = "rewriting.ledger.sqlite"


def write_queries(
    judge: str,
    form: str,
    queries: Mapping[str, str],
    *,
    cache: Path | None,
    account: Account,
    step: Step,
    ask: bool,
) -> QueryForm:
    """Write queries in a form, as retrieval/pipeline/model_forms.py says.

    Raises:
        InputError: the judge is no model, cannot be asked, or would cost too much.
    """
    plan = read_judge(judge, {})
    if not plan.is_model:
        raise InputError(f"{plan.model} writes no queries. Name a language model as judge of [queries].")
    if plan.values["max_cost"] is not None:
        raise InputError(f"{judge}: max_cost of [judge] limits golden sets; for queries, --max-cost does. Remove it.")
    writer = writer_of(model_judge(plan.values, account), form)
    with open_rewriting_ledger(cache, make=ask) as ledger:
        missing = estimate_stage(writer, ledger, "rewrite", rewrite_questions(queries.values()))
        if not ask:
            texts = likely_texts(writer, ledger, list(queries.values()), f"({form})")
            return QueryForm(dict(zip(queries, texts, strict=True)), missing=missing if missing.calls else None)
        if ledger is None:
            raise InputError("Queries are written into a ledger.")
        announce(writer, account, missing)
        answers = ask_all(
            ledger, writer, rewrite_questions(queries.values()), at_once=int(plan.values["concurrency"]), step=step
        )
    read, notes = read_rewritten(queries, answers)
    total = sum_costs(each.usage.cost for each in answers)
    return QueryForm(
        read,
        {query: each.seconds for query, each in zip(queries, answers, strict=True)},
        None if total is None else total / len(answers),
        (_describe(form, plan.model, answers, total), *(f"{form}: {note}" for note in notes)),
    )


def likely_texts(writer: Judge, ledger: Ledger | None, texts: Sequence[str], mark: str) -> list[str]:
    """The texts as the ledger has them, to count work before anybody is asked.

    Args:
        ledger: None for none.
        mark: what follows a text that nobody wrote yet, so that it is one of its own.
    """
    keys = [key_of(writer, each) for each in rewrite_questions(texts)]
    known = [None if ledger is None else ledger.find(key) for key in keys]
    return [f"{text} {mark}" if found is None else found.text or text for text, found in zip(texts, known, strict=True)]


def _describe(form: str, model: str, answers: Sequence[JudgeAnswer], total: float | None) -> str:
    """What a form took when it was written: seconds of a query, and money."""
    money = "" if total is None else f", and all of them cost {total:.4g}"
    seconds = median(each.seconds for each in answers)
    return f"{form}: {model} wrote {len(answers):,} queries; one took {seconds:.3g} s in the median{money}."


@contextmanager
def open_rewriting_ledger(cache: Path | None, *, make: bool) -> Iterator[Ledger | None]:
    """Open the ledger of the queries that models wrote, which all commands with one cache share.

    Args:
        cache: its folder; None for a temporary one.
        make: whether to create a missing one; if not, it is opened read-only, and None if there is none.
    """
    if cache is None:
        with TemporaryDirectory() as folder, open_ledger(Path(folder) / LEDGER) as ledger:
            yield ledger
    elif make:
        cache.mkdir(parents=True, exist_ok=True)
        with open_ledger(cache / LEDGER) as ledger:
            yield ledger
    else:
        with open_existing_ledger(cache / LEDGER) as existing:
            yield existing


REWRITER: Final = Rewriter(MODEL, write_queries)
