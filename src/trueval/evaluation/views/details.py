"""Details of an evaluation for its page: queries, tie groups, and the queries most affected by ties."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trueval.evaluation.details_result import (
    EvaluationDetails,
    MovedQuery,
    RunDetails,
    RunEvidence,
    TiedDocument,
    TieGroup,
)
from trueval.evaluation.query_values import QueryRows
from trueval.evaluation.scores import STATISTICS
from trueval.evaluation.views.texts import read_texts
from trueval.files.texts.text_files import find_parts
from trueval.report.kinds import kind_of_view, late
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

DETAILS = kind_of_view(
    EvaluationDetails.KIND,
    "trueval.evaluation.details_result:EvaluationDetails",
    "trueval.evaluation.views.queries:view",
    format=EvaluationDetails.FORMAT,
    order=11,
    stem="details",
)._replace(files={"details.json": "json"}, page=late("trueval.evaluation.views.queries:build"))

MOST_ROWS = 100_000  # values of queries, of all runs and measures: some 20 MB
WORST = 5  # queries named for each measure, by range and again by |bias|
GROUPS = 3  # tie groups shown of such a query
DOCUMENTS = 12  # documents shown of a group
SNIPPET = 300  # characters of a document's text


def run_evidence(run: Run, judgments: Judgments, scores: Scores) -> RunEvidence:
    """The details of one run for the page.

    Args:
        run: the evaluated run.
        judgments: judgments of the evaluation.
        scores: scores of the run.

    Returns:
        The run's entry in details.json, without the values of its queries.
    """
    moved = [
        (measure, row) for column, measure in enumerate(scores.measures) for row in _most_moved(scores, column, measure)
    ]
    listed = list_documents(run, judgments, scores.policy, {row.query for _, row in moved})
    return RunEvidence(
        scores.name, tie_histogram(listed.sizes), tuple(_worst(moved, listed.frame, judgments, scores.policy.depth))
    )


def to_details(
    runs: Sequence[RunEvidence],
    scores: Sequence[Scores],
    files: Sequence[tuple[str, str]],
    collection: Path | None = None,
    seen: FileFingerprints | None = None,
) -> dict[str, object]:
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
    runs = runs if collection is None else add_texts(runs, collection)
    shown = zip(runs, scores, select_queries(scores), strict=True)
    found = EvaluationDetails(
        **provenance(files, seen),
        policy=scores[0].policy.to_dict() if scores else {},
        runs=tuple(
            RunDetails(**vars(run), queries=len(of.query_ids), per_query=QueryRows(of.at(places)))
            for run, of, places in shown
        ),
    )
    return found.to_dict()


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


def add_texts(runs: Sequence[RunEvidence], collection: Path) -> list[RunEvidence]:
    """Add the texts of queries and documents to their ids.

    Args:
        runs: results of `run_evidence`.
        collection: a folder with a corpus, and optionally queries.

    Returns:
        The runs, their worst queries with "text", the documents of these with "title" and "text".

    Raises:
        InputError: the folder holds no corpus, or a file cannot be read.
    """
    cases = [case for run in runs for case in run.worst]
    shown = {document.document for case in cases for group in case.groups for document in group.documents}
    queries = read_texts(find_parts(collection, "queries").paths, {case.query for case in cases}, needed=False)
    texts = read_texts(find_parts(collection, "corpus").paths, shown)

    def add_title(document: TiedDocument) -> TiedDocument:
        if document.document not in texts:
            return document
        title, text = texts[document.document]
        return replace(document, title=title, text=text if len(text) <= SNIPPET else f"{text[:SNIPPET].rstrip()} …")

    def with_text(case: MovedQuery) -> MovedQuery:
        groups = (replace(group, documents=tuple(map(add_title, group.documents))) for group in case.groups)
        return replace(case, groups=tuple(groups), text=queries[case.query].text if case.query in queries else None)

    return [replace(run, worst=tuple(map(with_text, run.worst))) for run in runs]


def _worst(
    moved: Sequence[tuple[Measure, MovedQuery]], frame: pl.DataFrame, judgments: Judgments, depth: int | None
) -> Iterator[MovedQuery]:
    """The queries with the largest range or |bias| on each measure, with their tie groups."""
    queries = pl.Series("query_id", sorted({row.query for _, row in moved}), dtype=pl.String)
    of_these = pl.col("query_id").is_in(queries.implode())
    listed = frame.filter(pl.col("tied") > 1)
    graded = judgments.frame.filter(of_these & (pl.col("grade") >= 0))
    for measure, row in moved:
        reach = min(measure.cutoff or math.inf, depth or math.inf)
        yield replace(row, groups=tuple(_groups(row.query, reach, listed, graded)))


def _most_moved(scores: Scores, column: int, measure: Measure) -> Iterator[MovedQuery]:
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
        yield MovedQuery(scores.query_ids[place], str(measure), groups=(), text=None, **values)


def _groups(query: str, reach: float, listed: pl.DataFrame, graded: pl.DataFrame) -> Iterator[TieGroup]:
    """The first tie groups of a query that begin within the cutoff and hold a judged document."""
    grades = graded.filter(pl.col("query_id") == query).group_by("doc_id").agg(pl.col("grade").max())
    inside = listed.filter((pl.col("query_id") == query) & (pl.col("above") < reach))
    rows = inside.join(grades, on="doc_id", how="left", maintain_order="left")
    held = rows.filter(pl.col("grade").is_not_null())["above"].unique().sort().head(GROUPS)
    for above in held.to_list():
        group = rows.filter(pl.col("above") == above)
        shown = group.sort("grade", "doc_id", descending=[True, False], nulls_last=True).head(DOCUMENTS)
        documents = (TiedDocument(row["doc_id"], row["grade"], _plain(row["score"])) for row in shown.to_dicts())
        yield TieGroup(
            above + 1,
            above + group.height,
            _plain(group["tied_score"][0]),
            int(group["grade"].is_not_null().sum()),
            group.height,
            tuple(documents),
        )


def _plain(score: float) -> float | str:
    """A score as JSON can represent it: infinities as text."""
    return score if math.isfinite(score) else str(score)
