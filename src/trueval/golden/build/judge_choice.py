"""Judge construction from a plan: a language model, labels with stated errors, or the replay of a ledger."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median_low
from typing import Any

from trueval.collection import Collection
from trueval.cost.prices import PriceBook
from trueval.errors import InputError, TruevalWarning
from trueval.golden.build.golden_plan import LABELS, REPLAY, GoldenPlan, JudgePlan
from trueval.golden.build.golden_tables import Errors, Parameters
from trueval.golden.judge.judge import Judge
from trueval.golden.judge.label_judge import LabelErrors, LabelJudge, ReplayJudge
from trueval.golden.judge.ledger import Ledger
from trueval.golden.judge.ledger_tables import is_ledger
from trueval.golden.judge.model_judge import JudgeSettings, ModelJudge, TokenPrices
from trueval.golden.judge.prompt import prompts_for, read_prompt
from trueval.judgments import Judgments, grade_map
from trueval.models.hosted.account import Account
from trueval.report.number_texts import count_phrase
from trueval.retrieval.pipeline.rewriting import PLAIN_FORM


def make_judge(plan: JudgePlan, collection: Collection, account: Account, seed: int = 0) -> Judge:
    """Make the judge that a plan names.

    Args:
        collection: collection with the texts, for labels.
        seed: seed of the errors of labels.

    Raises:
        InputError: its prompt, file or ledger is bad; or max_cost has no prices to be counted with.
    """
    if plan.model.startswith(LABELS):
        return _labels(plan, collection, seed)
    if plan.model.startswith(REPLAY):
        return _replay(plan)
    return model_judge(plan.values, account)


def model_judge(values: Mapping[str, Any], account: Account) -> ModelJudge:
    """Make the language-model judge of a table [judge].

    Args:
        values: key of [judge] → value.

    Raises:
        InputError: its prompt is bad, or max_cost has no prices to be counted with.
    """
    prices = prices_of(values, values["model"])
    if account.limit is not None and None in prices:
        raise InputError(
            f"{values['model']}: max_cost is {account.limit:g}, and the prices are not known. Set "
            "price_per_million_input and price_per_million_output in [judge], or a book with both. Nothing was sent."
        )
    return ModelJudge(client_settings(values, values["model"], prices), prompts_for(values["prompt"]), account)


def writer_of(judge: Judge, form: str) -> Judge:
    """The judge with the prompt that writes queries in a form.

    Args:
        form: form of retrieval/pipeline/rewriting.py that a model writes; "model" is that of its own prompt.

    Raises:
        InputError: the judge is no language model, and the form needs another prompt.
    """
    if form == PLAIN_FORM:
        return judge
    if not isinstance(judge, ModelJudge):
        raise InputError(f"{judge.name} writes no queries in the form {form!r}. Name a language model as the judge.")
    return replace(judge, prompts={**judge.prompts, "rewrite": read_prompt(form, "rewrite")})


def prices_of(values: Mapping[str, Any], model: str) -> TokenPrices:
    """Prices of a table of a file, [judge] or [generate], else those of its price book; None for what neither says.

    Args:
        values: key → value.
        model: its name.

    Raises:
        InputError: the book is bad.
    """
    listed = PriceBook.read(None if values["book"] is None else Path(values["book"])).look_up("generators", model)
    of_book = (None, None) if listed is None else (listed.price.per_million_tokens, listed.per_million_output)
    given = values["price_per_million_input"], values["price_per_million_output"]
    return TokenPrices(*(own if own is not None else book for own, book in zip(given, of_book, strict=True)))


def client_settings(values: Mapping[str, Any], model: str, prices: TokenPrices) -> JudgeSettings:
    """How a model is asked, as a table of a file says it: [judge], or [generate], which has the same keys.

    Args:
        values: key → value.
        model: its name.
        prices: of its tokens.
    """
    return JudgeSettings(
        model=model,
        base_url=values["base_url"],
        api_key_env=values["api_key_env"],
        parameters={name: values[name] for name in Parameters.model_fields if values[name] is not None},
        timeout=values["timeout"],
        concurrency=values["concurrency"],
        prices=prices,
    )


def _labels(plan: JudgePlan, collection: Collection, seed: int) -> LabelJudge:
    path = plan.model.removeprefix(LABELS)
    judgments = Judgments.read(path)
    if plan.values["grades"] is not None:
        judgments = judgments.map_grades(grade_map(plan.values["grades"]))
    found: dict[tuple[str, str], list[int]] = {}
    for query, document, grade in judgments.frame.select("query_id", "doc_id", "grade").iter_rows():
        if grade not in (1, 2, 3, 4, 5):
            raise InputError(
                f"{path}: the grade {grade:g} of document {document!r} in query {query!r} is not on the rubric, from 1 "
                "to 5. Map it: grades in [judge], such as 0:1,1:3,2:5."
            )
        if query in collection.queries and document in collection.documents:
            found.setdefault((collection.queries[query], collection.documents[document]), []).append(int(grade))
    if not found:
        raise InputError(f"{path}: no label is of a query and a document of {collection.source}. Are the ids the same?")
    _warn_of_equal_texts(path, found.values())
    labels = {pair: median_low(grades) for pair, grades in found.items()}
    errors = {name: plan.values[name] for name in Errors.model_fields if plan.values[name] is not None}
    return LabelJudge(
        labels, LabelErrors(**errors, seed=seed), unknown=plan.values["unknown"], name=f"labels:{Path(path).name}"
    )


def check_labels(judge: Judge, plan: GoldenPlan, collection: Collection) -> str | None:
    """Refuse labels that cannot cover the pools, before searching.

    Args:
        judge: judge of the plan; a model is not checked.
        plan: plan with the searches that find the pools.

    Returns:
        A remark if a pool may contain passages without a label; else None.

    Raises:
        InputError: the pool of a query holds more documents than have a label for it, however it turns out.
    """
    if not isinstance(judge, LabelJudge) or judge.unknown is not None:
        return None
    documents = len(collection.documents)
    known = judge.count_labels(collection.queries, collection.documents)
    exact = plan.settings.get("index", {}).get("spec", "").startswith("flat")
    least = min(plan.depth, documents) if exact else int("index" in plan.settings)  # words may find nothing
    lacking = next((query for query, count in known.items() if count < least), None)
    cure = "Add labels, or say in [judge] what grade the others have, such as unknown = 1."
    if lacking is not None:
        pool, labelled = (
            count_phrase(least, "document", "documents"),
            count_phrase(known[lacking], "document has", "documents have"),
        )
        raise InputError(
            f"{judge.name.removeprefix(LABELS)}: the pool of {lacking!r} holds {pool} at least, and {labelled} a label "
            f"for it. {cure}"
        )
    pairs = len(known) * documents
    if sum(known.values()) == pairs:
        return None
    return (
        f"{judge.name.removeprefix(LABELS)} has a label for {sum(known.values()):,} of {pairs:,} pairs of query and "
        f"document. A pool that holds another one cannot be graded. {cure}"
    )


def _warn_of_equal_texts(path: str, grades: Iterable[list[int]]) -> None:
    """Warn where labels differ for equal texts: a judge sees only texts and cannot reproduce them."""
    differ = sum(len(set(each)) > 1 for each in grades)
    if differ:
        warnings.warn(
            f"{path}: {differ} passages are the text of several documents with different grades. The median is taken, "
            "the lower of two: who judges sees the text alone.",
            TruevalWarning,
            stacklevel=4,
        )


def _replay(plan: JudgePlan) -> ReplayJudge:
    path, _, name = plan.model.removeprefix(REPLAY).rpartition("#")
    if not path or not Path(path).is_file() or not is_ledger(Path(path)):
        raise InputError(
            f"{plan.model}: there is no ledger. Write replay:LEDGER#NAME, with the name of the judge in it."
        )
    return ReplayJudge(Ledger(Path(path), read_only=True), name)
