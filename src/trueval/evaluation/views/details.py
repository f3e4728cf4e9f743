"""What a page needs beyond the means of an evaluation: queries, tie groups, and the queries that ties move most."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from trueval.evaluation.views.texts import read_texts
from trueval.report.formats import to_json
from trueval.report.kinds import Kind
from trueval.report.provenance import provenance
from trueval.report.tie_sizes import tie_histogram
from trueval.standings.counting import listed_documents

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.run import Run

KIND = "evaluate-details"
# 1: the first. 2: with the results of format 2, whose policy it repeats.
FORMAT_VERSION = 2

# Without a part of its own: the page of an evaluation reads it.
DETAILS = Kind(KIND, FORMAT_VERSION, order=11, text={"json": to_json}, files={"details.json": "json"})

WORST = 5  # queries named for each measure, by range and again by |bias|
GROUPS = 3  # tie groups shown of such a query
DOCUMENTS = 12  # documents shown of a group
SNIPPET = 300  # characters of a document's text


def run_evidence(run: Run, judgments: Judgments, scores: Scores) -> dict[str, Any]:
    """What the page says about one run.

    Args:
        run: the run that was evaluated.
        judgments: the judgments it was evaluated against.
        scores: what evaluation found.

    Returns:
        The run's entry in details.json: name, per_query, tie_groups, worst.
    """
    listed = listed_documents(run, judgments, scores.policy)
    return {
        "name": scores.name,
        "per_query": scores.to_polars().to_dicts(),
        "tie_groups": tie_histogram(listed.sizes),
        "worst": list(_worst(scores, listed.frame, judgments)),
    }


def to_details(
    runs: Sequence[Mapping[str, Any]],
    policy: Mapping[str, Any],
    files: Sequence[tuple[str, str]],
    collection: Path | None = None,
) -> dict[str, Any]:
    """The content of details.json.

    Args:
        runs: what `run_evidence` returned for each run.
        policy: of the evaluation.
        files: role and path of what was read, as `provenance` takes them.
        collection: folder with the texts of queries and documents; None for ids alone.

    Raises:
        InputError: the collection cannot be read.
    """
    details = {"kind": KIND, "format": FORMAT_VERSION, **provenance(files), "policy": policy, "runs": list(runs)}
    if collection is not None:
        add_texts(details, collection)
    return details


def add_texts(details: Mapping[str, Any], collection: Path) -> None:
    """Puts the texts of queries and documents beside their ids.

    Args:
        details: the content of details.json; its worst queries gain "text", their documents "title" and "text".
        collection: a folder with corpus.jsonl, and queries.jsonl if there are texts of queries.

    Raises:
        InputError: the folder holds no corpus.jsonl, or a file cannot be read.
    """
    cases = [case for run in details["runs"] for case in run["worst"]]
    shown = [document for case in cases for group in case["groups"] for document in group["documents"]]
    queries = read_texts(collection / "queries.jsonl", {case["query"] for case in cases}, needed=False)
    texts = read_texts(collection / "corpus.jsonl", {document["document"] for document in shown})
    for case in cases:
        if case["query"] in queries:
            case["text"] = queries[case["query"]].text
    for document in shown:
        if document["document"] in texts:
            title, text = texts[document["document"]]
            document |= {"title": title, "text": text if len(text) <= SNIPPET else f"{text[:SNIPPET].rstrip()} …"}


def _worst(scores: Scores, frame: pl.DataFrame, judgments: Judgments) -> Iterator[dict[str, Any]]:
    """The queries with the largest range or |bias| on each measure, with the groups behind them."""
    rows = []
    table = scores.to_polars().with_columns(
        range=pl.col("highest") - pl.col("lowest"), bias=pl.col("tie_broken") - pl.col("expected")
    )
    for measure in scores.measures:
        moved = table.filter((pl.col("measure") == str(measure)) & (pl.col("range") > 0))
        # Two lists joined: a tie order can be far off on a query whose range is not among the widest.
        widest = moved.sort("range", descending=True, maintain_order=True).head(WORST)
        biased = moved.sort(pl.col("bias").abs(), descending=True, nulls_last=True, maintain_order=True).head(WORST)
        chosen = pl.concat([widest, biased]).unique(maintain_order=True)
        rows += [(measure, row) for row in chosen.sort("range", descending=True, maintain_order=True).to_dicts()]
    queries = pl.Series("query_id", sorted({row["query"] for _, row in rows}), dtype=pl.String)
    of_these = pl.col("query_id").is_in(queries.implode())
    listed = frame.filter(of_these & (pl.col("tied") > 1))
    graded = judgments.frame.filter(of_these & (pl.col("grade") >= 0))
    for measure, row in rows:
        reach = min(measure.cutoff or math.inf, scores.policy.depth or math.inf)
        yield row | {"groups": list(_groups(row["query"], reach, listed, graded))}


def _groups(query: str, reach: float, listed: pl.DataFrame, graded: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """The first tie groups of a query that begin within the cutoff and hold a judged document."""
    grades = graded.filter(pl.col("query_id") == query).group_by("doc_id").agg(pl.col("grade").max())
    inside = listed.filter((pl.col("query_id") == query) & (pl.col("above") < reach))
    rows = inside.join(grades, on="doc_id", how="left", maintain_order="left")
    held = rows.filter(pl.col("grade").is_not_null())["above"].unique().sort().head(GROUPS)
    for above in held.to_list():
        group = rows.filter(pl.col("above") == above)
        shown = group.sort("grade", "doc_id", descending=[True, False], nulls_last=True).head(DOCUMENTS)
        yield {
            "first_rank": above + 1,
            "last_rank": above + group.height,
            "score": _plain(group["tied_score"][0]),
            "judged": int(group["grade"].is_not_null().sum()),
            "size": group.height,
            "documents": [
                {"document": row["doc_id"], "grade": row["grade"], "score": _plain(row["score"])}
                for row in shown.to_dicts()
            ],
        }


def _plain(score: float) -> float | str:
    """A score as JSON can hold it: infinities as text."""
    return score if math.isfinite(score) else str(score)
