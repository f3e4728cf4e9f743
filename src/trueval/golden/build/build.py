"""Building a golden set: its stages in order, each resumable.

    rewrite   S1  queries, rewritten for the search       rewritten.jsonl
    pool      S2, S3  both searches, fused                pool.parquet
    grade     S4  every passage of the pools graded       graded.parquet
    prune     S5  the passages that are worth refining    kept.jsonl
    refine    S6  the best of them in order               refined.jsonl, top.trec
    regrade       contradictions of grade and order     regraded.parquet   only on request

The key of a stage is a hash of its inputs; a stage whose manifest has the current key is reused. After the stages, all
labels are aggregated into judgments: qrels.trec, labels.jsonl and golden.json (golden_set.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from trueval.collection import Collection
from trueval.errors import InputError, PolicyError, nearest
from trueval.golden.build.build_estimate import GoldenState, dry_run_of, estimate
from trueval.golden.build.build_runner import BuildRunner
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.golden.build.golden_set import GoldenSet, finish
from trueval.golden.build.grade import questions_of
from trueval.golden.build.judge_choice import check_labels, make_judge
from trueval.golden.build.pooling import pools_of, put_forms
from trueval.golden.build.regrade import find_contradictions
from trueval.golden.build.stage_files import NAMES, read_lines
from trueval.golden.judge.judge import Judge
from trueval.golden.judge.ledger import open_existing_ledger, open_ledger
from trueval.golden.judge.model_judge import ModelJudge
from trueval.models.hosted.account import Account
from trueval.models.missing_work import DryRun, MissingWork
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.rewriting import MODEL_FORMS, forms_of, rewritten
from trueval.retrieval.pipeline.stage_resources import Begin, nobody

LEDGER: Final = "ledger.sqlite"
POOLS: Final = "pool.parquet"
KEPT: Final = "kept.jsonl"
SENT: Final = "calls.jsonl"  # every attempt that was sent, including failed ones


def build(
    plan: GoldenPlan,
    out: Path,
    *,
    until: str | None = None,
    ledger: Path | None = None,
    cache: Path | None = None,
    max_cost: float | None = None,
    judge: Judge | None = None,
    begin: Begin | None = None,
) -> GoldenSet:
    """Build a golden set, or resume an interrupted build.

    Args:
        out: folder of the golden set, created if absent.
        until: last stage to run; all by default.
        ledger: file of the ledger, if several golden sets share one; ledger.sqlite in the folder by default.
        cache: keeps embeddings and indexes.
        max_cost: spending limit, including earlier runs of the same folder; that of the plan by default.
        judge: judge to use instead of the plan's.
        begin: called with the name of each stage; the returned function is called with the progress of the stage.

    Raises:
        InputError: an input is bad, a service refuses, or the money is spent; what is done is kept.
        PolicyError: there is no such stage.
    """
    names = stages_of(plan, until)
    out.mkdir(parents=True, exist_ok=True)
    collection = plan.read_collection()
    limit = plan.judge.values["max_cost"] if max_cost is None else max_cost
    account = open_account(out / SENT, limit)
    chosen = judge or make_judge(plan.judge, collection, account, plan.seed)
    with open_ledger(ledger or out / LEDGER) as book:
        if "grade" in names and not book.totals().calls:
            _check_ready(chosen)
        work = BuildRunner(plan, out, collection, chosen, book, account, cache, begin or nobody)
        if "pool" not in work.complete_stages(names):
            if "grade" in names:
                check_labels(chosen, plan, collection)
            if set(MODEL_FORMS) & set(forms_of(plan.rewrite)):  # before anything is paid for
                Pipeline(plan.settings).check(collection, cache=cache, written=likely_forms(plan, collection.queries))
        for name in names:
            getattr(work, name)()
        return finish(plan.name, out, collection, work.record(), book)


def _check_ready(judge: Judge) -> None:
    """Refuse a judge without its API key, before pools are built for it.

    A ledger with answers may contain all of them; then no call is made, and no key is needed.
    """
    if isinstance(judge, ModelJudge):
        judge.check_key()


def dry_run(
    plan: GoldenPlan,
    out: Path,
    *,
    ledger: Path,
    max_cost: float | None = None,
    until: str | None = None,
    cache: Path | None = None,
) -> DryRun:
    """Estimate the build of a golden set; nothing is sent or written. A plan that cannot run is refused.

    Args:
        out: folder of the golden set, where pools may exist already.
        ledger: file of the ledger.

    Raises:
        InputError: an input is bad, a model does not fit the plan, or labels lack a passage.
        PolicyError: there is no such stage.
    """
    names = stages_of(plan, until)
    collection = plan.read_collection()
    account = open_account(out / SENT, plan.judge.values["max_cost"] if max_cost is None else max_cost)
    judge = make_judge(plan.judge, collection, account, plan.seed)
    with open_existing_ledger(ledger) as book:
        done = (
            []
            if book is None
            else BuildRunner(plan, out, collection, judge, book, account, None, nobody).complete_stages(names)
        )
        known = GoldenState(
            names,
            [name for name in names if name not in done],
            pools_of(pl.read_parquet(out / POOLS)) if "pool" in done else None,
            find_contradictions(read_lines(out / "refined.jsonl")) if "refine" in done else None,
            {row["query"]: row["documents"] for row in read_lines(out / KEPT)} if "prune" in done else None,
        )
        found = _count_pool_texts(plan, collection, cache) if "pool" in known.left else []
        notes = _check_labels(plan, known, collection, judge)
        return dry_run_of([*found, *estimate(plan, known, collection, judge, book)], account, notes)


def _check_labels(plan: GoldenPlan, known: GoldenState, collection: Collection, judge: Judge) -> tuple[str, ...]:
    """Refuse a plan whose judge is known to lack a label, before any work; returns remarks on possible problems.

    Raises:
        InputError: labels or a ledger lack a passage.
    """
    if "grade" not in known.left:
        return ()
    if isinstance(judge, ModelJudge):
        try:
            judge.check_key()
        except InputError as error:  # its cost can be estimated without a key
            return (str(error),)
        return ()
    if known.pools is None:
        told = check_labels(judge, plan, collection)
        return () if told is None else (told,)
    for each in questions_of(known.pools, collection.queries, collection.documents, plan.judge.grading):
        judge.ask(each.question)  # it costs nothing
    return ()


def _count_pool_texts(plan: GoldenPlan, collection: Collection, cache: Path | None) -> list[MissingWork]:
    """Texts that go through the retrieval models; rewritten queries are assumed to be as long as the originals.

    Raises:
        InputError: a model does not fit the plan.
    """
    texts = likely_forms(plan, collection.queries)
    unknown = bool(set(MODEL_FORMS) & set(texts))
    asked, written = put_forms(collection, texts)
    found = Pipeline(plan.settings).missing_work(asked, cache=cache, written=written)
    return [replace(each, at_most=None) if unknown and each.calls else each for each in found]


def likely_forms(plan: GoldenPlan, queries: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
    """Form → query id → text; of the forms that a model writes, the query with the name of the form."""
    return {
        form: {query: f"{text} ({form})" for query, text in queries.items()}
        if form in MODEL_FORMS
        else rewritten(queries, form)
        for form in forms_of(plan.rewrite)
    }


def stages_of(plan: GoldenPlan, until: str | None = None) -> tuple[str, ...]:
    """The stages that a plan requests, in order.

    Args:
        until: last stage; all if None.

    Raises:
        PolicyError: there is no such stage.
    """
    if until is not None and until not in NAMES:
        raise PolicyError(f"until must be one of {', '.join(NAMES)}. Got {until!r}.{nearest(until, NAMES)}")
    asked = NAMES if until is None else NAMES[: NAMES.index(until) + 1]
    left_out = () if plan.refining.method == "posterior" and plan.refining.regrade else ("regrade",)
    return tuple(name for name in asked if name not in left_out)


def open_account(file: Path, max_cost: float | None) -> Account:
    """An account that includes the spending of earlier and concurrent runs.

    Args:
        file: file with one line per call that was sent.
        max_cost: spending limit in total; None for no limit.

    Raises:
        InputError: the file cannot be read.
    """
    return Account(max_cost, file, shared=True)
