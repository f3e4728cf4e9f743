"""S1 to S3: rewritten queries, dense and sparse search, fusion; the pool of a query is the union of all searches.

P-B §3.4. The searches see the rewritten query, or each of its forms in turn; the judge sees the query as it was asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from trueval.collection import Collection, text_hash
from trueval.golden.build.judge_choice import writer_of
from trueval.golden.judge.concurrent_questions import Step, ask_all
from trueval.golden.judge.judge import Judge, JudgeAnswer, Question
from trueval.golden.judge.ledger import Ledger
from trueval.models.hosted.account import Account
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.retrieval.pipeline.config import Settings, formats_used
from trueval.retrieval.pipeline.lost_terms import describe_losses
from trueval.retrieval.pipeline.pipeline import NO_FORMS, Forms, Pipeline
from trueval.retrieval.pipeline.rewriting import MODEL_FORMS, forms_of, name_form, rewritten
from trueval.retrieval.pipeline.stage_resources import Begin
from trueval.run import Run

FUSED: Final = "pool"
SCORE: Final = "_score"  # after the name of a search, the column of its scores


class RewrittenQueries(NamedTuple):
    """Queries as rewritten for the search.

    Attributes:
        texts: form → query id → text.
        asked: questions to a judge, if it rewrote them.
        answers: [asked] answers of the judge.
        notes: one-line remarks.
    """

    texts: dict[str, dict[str, str]]
    asked: tuple[Question, ...] = ()
    answers: tuple[JudgeAnswer, ...] = ()
    notes: tuple[str, ...] = ()


class QueryPools(NamedTuple):
    """The pools of all queries.

    Attributes:
        frame: columns query_id, doc_id, rank, score, then rank and score of each search, such as dense, dense_score,
            sparse and sparse_score, null if that search did not find it, and text, the hash of the passage; by query,
            best first.
        seconds: stage of retrieval → seconds.
    """

    frame: pl.DataFrame
    seconds: Mapping[str, float]
    notes: tuple[str, ...]

    @property
    def pools(self) -> dict[str, list[str]]:
        """Query id → ids of its documents, best first."""
        return pools_of(self.frame)


def rewrite(
    queries: Mapping[str, str],
    way: str,
    judge: Judge,
    ledger: Ledger,
    *,
    at_once: int = 1,
    step: Step | None = None,
) -> RewrittenQueries:
    """S1: rewrite queries for the search.

    Args:
        queries: id → text.
        way: forms, as in retrieval/pipeline/rewriting.py.
        judge: judge that writes the forms of a model.
        at_once: maximum number of concurrent calls.

    Raises:
        InputError: a file is bad, or the judge cannot be asked.
    """
    forms = forms_of(way)
    found, asked, answers, notes = {}, list[Question](), list[JudgeAnswer](), list[str]()
    for form in forms:
        own: tuple[str, ...] = ()
        if form in MODEL_FORMS:
            questions = rewrite_questions(queries.values())
            given = ask_all(ledger, writer_of(judge, form), questions, at_once=at_once, step=step)
            found[form], own = read_rewritten(queries, given)
            asked += questions
            answers += given
        else:
            found[form] = rewritten(queries, form)
        about = f"{name_form(form)}: " if len(forms) > 1 else ""
        notes += [about + note for note in (*own, *describe_losses(queries, found[form]))]
    return RewrittenQueries(found, tuple(asked), tuple(answers), tuple(notes))


def rewrite_questions(texts: Iterable[str]) -> list[Question]:
    """The question to a judge for each text that it writes anew."""
    return [Question("rewrite", text, ()) for text in texts]


def read_rewritten(
    queries: Mapping[str, str], answers: Sequence[JudgeAnswer]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The text of each query, its own where the answer is invalid, and a remark on these.

    Args:
        queries: id → text.
        answers: [query] answers.
    """
    texts = {query: each.text or text for (query, text), each in zip(queries.items(), answers, strict=True)}
    kept = sum(not each.text for each in answers)
    told = f"{kept} of {len(texts)} queries got no valid rewriting and are searched with as they are."
    return texts, (told,) * (kept > 0)


def find_pools(
    collection: Collection,
    texts: Mapping[str, Mapping[str, str]],
    settings: Settings,
    *,
    cache: Path | None = None,
    begin: Begin | None = None,
    account: Account | None = None,
) -> QueryPools:
    """S2 and S3: the top documents of a dense and a sparse search with each form of the queries, fused by ranks.

    Args:
        collection: collection with the documents, and the queries as they were asked.
        texts: form → query id → text to search with.
        settings: settings of the pipeline, including the depth of each search.
        cache: keeps embeddings and indexes.
        account: account of hosted models.

    Raises:
        InputError: as in Pipeline.retrieve.
    """
    asked, written = put_forms(collection, texts)
    found = Pipeline(settings, FUSED).retrieve(asked, cache=cache, begin=begin, account=account, written=written)
    frame = add_ranks(found.run, "rank", "score")
    for stage in found.stages:
        if stage.given is None:
            own = add_ranks(stage.run, stage.name, stage.name + SCORE)
            frame = frame.join(own, on=("query_id", "doc_id"), how="left", maintain_order="left")
    hashes = [text_hash([collection.documents[each]]) for each in frame["doc_id"].to_list()]
    seconds = {stage.name: round(stage.made_seconds, 3) for stage in found.stages}
    notes = [*formats_used(settings), *(note for stage in found.stages for note in stage.notes)]
    return QueryPools(frame.with_columns(text=pl.Series(hashes, dtype=pl.String)), seconds, tuple(notes))


def put_forms(collection: Collection, texts: Mapping[str, Mapping[str, str]]) -> tuple[Collection, Forms]:
    """A collection as a pipeline of pools searches it, and the forms of its queries where there are several.

    Args:
        collection: collection with the documents, and the queries as they were asked.
        texts: form → query id → text to search with. One form alone stands in place of the queries.
    """
    if len(texts) > 1:
        return replace(collection, judgments=None), texts
    return replace(collection, queries=next(iter(texts.values())), judgments=None), NO_FORMS


def add_ranks(run: Run, rank: str, score: str) -> pl.DataFrame:
    """The rows of a run with ranks, by query, best first.

    Args:
        run: any run; equal scores keep their order.
        rank: name of the rank column; ranks start at 1.
        score: name of the score column.
    """
    lists = rank_lists(run)
    return lists.documents.select(
        lists.query_ids[lists.of_row].alias("query_id"),
        "doc_id",
        pl.Series(rank, lists.rank, dtype=pl.Int64),
        pl.col("score").alias(score),
    )


def pools_of(frame: pl.DataFrame) -> dict[str, list[str]]:
    """Query id → ids of its documents, in row order."""
    grouped = frame.group_by("query_id", maintain_order=True).agg("doc_id")
    return dict(zip(grouped["query_id"].to_list(), grouped["doc_id"].to_list(), strict=True))


def searches_of(frame: pl.DataFrame) -> list[str]:
    """Names of the searches behind the pools."""
    return [name.removesuffix(SCORE) for name in frame.columns if name.endswith(SCORE)]


def sources_of(frame: pl.DataFrame) -> dict[str, Run]:
    """The searches behind the pools as runs, the fused one last."""
    found: dict[str, Run] = {}
    for name in searches_of(frame):
        own = frame.filter(pl.col(name).is_not_null()).sort(["query_id", name], maintain_order=True)
        rows = own.select("query_id", "doc_id", pl.col(name + SCORE).alias("score"))
        if rows.height:
            found[name] = Run.from_frame(rows, name=name)
    found[FUSED] = Run.from_frame(frame.select("query_id", "doc_id", "score"), name=FUSED)
    return found
