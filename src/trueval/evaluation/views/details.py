"""Details of an evaluation for its page: queries, tie groups, and the queries most affected by ties."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trueval.evaluation.query_values import QueryRows
from trueval.evaluation.scores import STATISTICS
from trueval.evaluation.views.texts import read_texts
from trueval.files.texts.text_files import find_parts
from trueval.numerics import or_null
from trueval.report.formats import to_json
from trueval.report.kinds import Kind, late
from trueval.report.provenance import provenance
from trueval.report.tie_sizes import tie_histogram
from trueval.standings.counting import list_documents

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueval.evaluation.scores import Scores
    from trueval.files.source.fingerprints import FileFingerprints
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.run import Run

KIND = "evaluate-details"
# 1: the first. 2: with the results of format 2, whose policy it repeats. 3: not the values of all queries where there
# are many, which are in queries.parquet.
FORMAT_VERSION = 3

DETAILS = Kind(
    KIND,
    FORMAT_VERSION,
    order=11,
    text={"json": to_json},
    files={"details.json": "json"},
    page=late("trueval.evaluation.views.queries:build"),
)

MOST_ROWS = 100_000  # values of queries, of all runs and measures: some 20 MB
WORST = 5  # queries named for each measure, by range and again by |bias|
GROUPS = 3  # tie groups shown of such a query
DOCUMENTS = 12  # documents shown of a group
SNIPPET = 300  # characters of a document's text


def run_evidence(run: Run, judgments: Judgments, scores: Scores) -> dict[str, Any]:
    """The details of one run for the page.

    Args:
        run: the evaluated run.
        judgments: judgments of the evaluation.
        scores: scores of the run.

    Returns:
        The run's entry in details.json, without the values of its queries: name, tie_groups, worst.
    """
    moved = [
        (measure, row) for column, measure in enumerate(scores.measures) for row in _most_moved(scores, column, measure)
    ]
    listed = list_documents(run, judgments, scores.policy, {row["query"] for _, row in moved})
    return {
        "name": scores.name,
        "tie_groups": tie_histogram(listed.sizes),
        "worst": list(_worst(moved, listed.frame, judgments, scores.policy.depth)),
    }


def to_details(
    runs: Sequence[Mapping[str, Any]],
    scores: Sequence[Scores],
    files: Sequence[tuple[str, str]],
    collection: Path | None = None,
    seen: FileFingerprints | None = None,
) -> dict[str, Any]:
    """The content of details.json.

    Args:
        runs: results of `run_evidence` for each run.
        scores: scores of the runs, under one policy.
        files: role and path of the files read, as `provenance` takes them.
        collection: folder with the texts of queries and documents; None for ids alone.
        seen: record of the files read; None where there is none.

    Raises:
        InputError: the collection cannot be read.
    """
    shown = zip(runs, scores, select_queries(scores), strict=True)
    details = {
        "kind": KIND,
        "format": FORMAT_VERSION,
        **provenance(files, seen),
        "policy": scores[0].policy.to_dict() if scores else {},
        "runs": [
            {**run, "queries": len(found.query_ids), "per_query": QueryRows(found.at(places))}
            for run, found, places in shown
        ],
    }
    if collection is not None:
        add_texts(details, collection)
    return details


def select_queries(several: Sequence[Scores], most: int | None = None) -> list[NDArray[np.int64]]:
    """The queries whose values details.json holds: all, or those most affected by ties in any run and measure.

    Args:
        several: scores of the runs.
        most: maximum number of values, but at least one query; MOST_ROWS if None.

    Returns:
        [run] places of the queries, as they are in the scores.
    """
    most = MOST_ROWS if most is None else most
    count = max(1, most // max(1, sum(len(scores.measures) for scores in several)))
    ranges = [np.nan_to_num(scores.highest - scores.lowest).max(axis=1, initial=0.0) for scores in several]
    if len({scores.query_ids for scores in several}) == 1:  # runs are compared query by query
        ranges = [np.max(ranges, axis=0)] * len(ranges)
    return [np.sort(np.argsort(-each, kind="stable")[:count]) for each in ranges]


def add_texts(details: Mapping[str, Any], collection: Path) -> None:
    """Add the texts of queries and documents to their ids.

    Args:
        details: the content of details.json; its worst queries gain "text", their documents "title" and "text".
        collection: a folder with a corpus, and optionally queries.

    Raises:
        InputError: the folder holds no corpus, or a file cannot be read.
    """
    cases = [case for run in details["runs"] for case in run["worst"]]
    shown = [document for case in cases for group in case["groups"] for document in group["documents"]]
    queries = read_texts(find_parts(collection, "queries").paths, {case["query"] for case in cases}, needed=False)
    texts = read_texts(find_parts(collection, "corpus").paths, {document["document"] for document in shown})
    for case in cases:
        if case["query"] in queries:
            case["text"] = queries[case["query"]].text
    for document in shown:
        if document["document"] in texts:
            title, text = texts[document["document"]]
            document |= {"title": title, "text": text if len(text) <= SNIPPET else f"{text[:SNIPPET].rstrip()} …"}


def _worst(
    moved: Sequence[tuple[Measure, dict[str, Any]]], frame: pl.DataFrame, judgments: Judgments, depth: int | None
) -> Iterator[dict[str, Any]]:
    """The queries with the largest range or |bias| on each measure, with their tie groups."""
    queries = pl.Series("query_id", sorted({row["query"] for _, row in moved}), dtype=pl.String)
    of_these = pl.col("query_id").is_in(queries.implode())
    listed = frame.filter(pl.col("tied") > 1)
    graded = judgments.frame.filter(of_these & (pl.col("grade") >= 0))
    for measure, row in moved:
        reach = min(measure.cutoff or math.inf, depth or math.inf)
        yield row | {"groups": list(_groups(row["query"], reach, listed, graded))}


def _most_moved(scores: Scores, column: int, measure: Measure) -> Iterator[dict[str, Any]]:
    """The values of the queries with the widest ranges and of those with the largest |bias|, widest first."""
    ranges = np.nan_to_num(scores.highest[:, column] - scores.lowest[:, column])
    bias = np.abs(scores.tie_broken[:, column] - scores.expected[:, column])
    moved = np.flatnonzero(ranges > 0)
    # Two lists joined: a tie order can be far off on a query whose range is not among the widest.
    widest = moved[np.argsort(-ranges[moved], kind="stable")[:WORST]]
    biased = moved[np.argsort(-bias[moved], kind="stable")[:WORST]]  # NaN comes last
    chosen = np.array(list(dict.fromkeys([*widest.tolist(), *biased.tolist()])), dtype=np.int64)
    for place in chosen[np.argsort(-ranges[chosen], kind="stable")].tolist():
        values = {name: float(getattr(scores, name)[place, column]) for name in STATISTICS}
        values |= {"range": values["highest"] - values["lowest"], "bias": values["tie_broken"] - values["expected"]}
        plain = {name: or_null(value) for name, value in values.items()}
        yield {"query": scores.query_ids[place], "measure": str(measure), **plain}


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
    """A score as JSON can represent it: infinities as text."""
    return score if math.isfinite(score) else str(score)
