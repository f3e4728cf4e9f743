"""On-demand judging: a judge labels only retrieved documents without a judgment; existing judgments are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import polars as pl

from trueval.collection import Collection, text_hash
from trueval.errors import InputError, PolicyError
from trueval.golden.build.build_estimate import announce, estimate_stage
from trueval.golden.build.grade import GradedPools, GradingSettings, grade, questions_of
from trueval.golden.build.pooling import pools_of
from trueval.golden.build.stage_files import usage_of
from trueval.golden.judge.concurrent_questions import Step
from trueval.golden.judge.judge import Judge
from trueval.golden.judge.ledger import Ledger
from trueval.golden.judge.prompt import RUBRIC
from trueval.judgments import Judgments
from trueval.models.hosted.account import Account
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.run import Run

SHOWN: Final = 3


class UnjudgedPool(NamedTuple):
    """Retrieved documents without a judgment.

    Attributes:
        pools: query id → document ids, best rank first.
        retrieved: number of documents in the top ranks of some run, judged or not.
    """

    pools: Mapping[str, Sequence[str]]
    retrieved: int
    notes: tuple[str, ...]

    @property
    def passages(self) -> int:
        """Number of passages."""
        return sum(map(len, self.pools.values()))


class ExtendedJudgments(NamedTuple):
    """Judgments extended by a judge's labels.

    Attributes:
        judgments: existing grades unchanged, and the new ones.
        graded: grades by the judge.
        labels: one row per passage sent to the judge: query, document, grade, asked and text (hashes), labels.
        usage: number of calls, tokens and cost.
    """

    judgments: Judgments
    graded: GradedPools
    labels: tuple[Mapping[str, object], ...]
    usage: Mapping[str, object]


def demand(judgments: Judgments, runs: Sequence[Run], collection: Collection, depth: int) -> UnjudgedPool:
    """Find unjudged documents among the top results of runs.

    A document counts if any order of the tied ones puts it in the top k: otherwise, in a list that ends inside a tie,
    chance would decide what is judged.

    Args:
        judgments: grades; a grade below 0 means unjudged.
        collection: collection with the texts.
        depth: number of top ranks.

    Raises:
        InputError: no query of the runs has a text, or a document has none.
    """
    parts = [_first(run, depth) for run in runs]
    rows = pl.concat(parts).group_by("query_id", "doc_id", maintain_order=True).agg(pl.col("rank").min())
    known = judgments.frame.filter(pl.col("grade") >= 0).select("query_id", "doc_id").unique()
    wanted = rows.join(known, on=("query_id", "doc_id"), how="anti", maintain_order="left")
    queries = set(collection.queries)
    asked = wanted.filter(pl.col("query_id").is_in(sorted(queries)))
    notes = []
    if len(asked) < len(wanted):
        absent = sorted(set(wanted["query_id"].to_list()) - queries)
        if not len(asked):
            raise InputError(
                f"{collection.source}: none of {len(absent)} queries of the runs has a text there, such as "
                f"{absent[0]!r}. Are the ids the same?"
            )
        notes.append(f"{len(absent)} queries have no text in the collection and are left out, such as {absent[0]!r}.")
    lacking = [
        each for each in asked["doc_id"].unique(maintain_order=True).to_list() if each not in collection.documents
    ]
    if lacking:
        raise InputError(
            f"{collection.source}: {len(lacking)} documents that the runs retrieved have no text there, such as "
            f"{', '.join(map(repr, lacking[:SHOWN]))}. Name the collection that was searched."
        )
    ordered = asked.sort(["rank"], maintain_order=True)
    by_query = pools_of(ordered)
    order = [each for each in collection.queries if each in by_query]
    return UnjudgedPool({each: by_query[each] for each in order}, rows.height, tuple(notes))


def _first(run: Run, depth: int) -> pl.DataFrame:
    """Rows of a run that are among the top k in at least one order of the tied documents."""
    lists = rank_lists(run)
    rows = lists.documents.select(
        lists.query_ids[lists.of_row].alias("query_id"), "doc_id", pl.Series("rank", lists.first_rank, dtype=pl.Int64)
    )
    return rows.filter(pl.col("rank") <= depth)


def extend(
    judgments: Judgments,
    wanted: UnjudgedPool,
    collection: Collection,
    judge: Judge,
    ledger: Ledger,
    how: GradingSettings,
    account: Account,
    *,
    scale: Mapping[float, float] | None = None,
    at_once: int = 1,
    step: Step | None = None,
) -> ExtendedJudgments:
    """Have a judge grade the unjudged documents, and add its labels to the judgments.

    Args:
        judgments: existing judgments, which are kept.
        collection: collection with the texts.
        scale: grade of the rubric → grade of the judgments; None if the scales are equal.
        at_once: maximum number of concurrent calls.

    Raises:
        InputError: the judge cannot be asked, or the money is spent; what was answered is kept.
        PolicyError: the judgments have another scale than the rubric, and none is given.
    """
    refuse_other_scale(judgments, scale)
    queries, documents = collection.queries, collection.documents
    asked = [each.question for each in questions_of(wanted.pools, queries, documents, how)]
    announce(judge, account, estimate_stage(judge, ledger, "grade", asked))
    found = grade(wanted.pools, queries, documents, judge, ledger, how, at_once=at_once, step=step)
    new = found.grades.filter(pl.col("grade").is_not_null()).select(
        "query_id", "doc_id", pl.col("grade").cast(pl.Float64)
    )
    if scale is not None:
        new = new.with_columns(pl.col("grade").replace_strict(dict(scale)))
    old = judgments.frame.select("query_id", "doc_id", "grade").join(
        new.select("query_id", "doc_id"), on=("query_id", "doc_id"), how="anti", maintain_order="left"
    )  # a grade below 0 means unjudged, so it is replaced
    order = {query: place for place, query in enumerate([*judgments.query_ids.to_list(), *wanted.pools])}
    both = pl.concat([old, new])
    places = pl.Series([order[query] for query in both["query_id"].to_list()])
    frame = both.with_columns(place=places).sort("place", maintain_order=True).drop("place")
    rows = _rows(found, judge, collection, ledger.times())
    made = replace(Judgments.from_frame(frame), source=judgments.source)
    return ExtendedJudgments(made, found, rows, usage_of([each.question for each in found.asked], found.answers))


def _rows(
    found: GradedPools, judge: Judge, collection: Collection, times: Mapping[str, str]
) -> tuple[dict[str, Any], ...]:
    given: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in found.labels.to_dicts():
        told = {name: row[name] for name in ("call", "round", "slot", "slots", "grade", "reason")}
        entry = {"judge": judge.name, **told, "slot": row["slot"] + 1, "date": times.get(row["call"], "")}
        given.setdefault((row["query_id"], row["doc_id"]), []).append(entry)
    return tuple(
        {
            "query": row["query_id"],
            "document": row["doc_id"],
            "grade": row["grade"],
            "asked": text_hash([collection.queries[row["query_id"]]]),
            "text": text_hash([collection.documents[row["doc_id"]]]),
            "labels": given.get((row["query_id"], row["doc_id"]), []),
        }
        for row in found.grades.to_dicts()
    )


def refuse_other_scale(judgments: Judgments, scale: Mapping[float, float] | None) -> None:
    """Refuse to mix two grade scales.

    Args:
        scale: grade of the rubric → grade of the judgments; None if the scales are equal.

    Raises:
        PolicyError: the judgments have a grade that is not on the rubric and no scale is given, or the scale lacks one.
    """
    low, high = RUBRIC
    if scale is not None:
        lacking = [grade for grade in range(low, high + 1) if grade not in scale]
        if lacking:
            raise PolicyError(f"a scale must name each grade of the rubric, from {low} to {high}. It lacks {lacking}.")
        return
    grades = judgments.frame.filter(pl.col("grade") >= 0)["grade"].unique().sort().to_list()
    if any(grade not in range(low, high + 1) for grade in grades) or grades == [1.0]:
        shown = ", ".join(f"{grade:g}" for grade in grades[:8])
        raise PolicyError(
            f"{judgments.source} has the grades {shown}, and a judge gives {low} to {high}. Say what its grades are "
            "there: --scale 1:0,2:0,3:1,4:2,5:3."
        )
