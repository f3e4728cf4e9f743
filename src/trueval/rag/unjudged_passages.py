"""Treating documents without a grade as if they had one: an option, never a default."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trueval.errors import PolicyError
from trueval.evaluation.notes import unknown_documents
from trueval.files import Stretches
from trueval.standings.counting import counter

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.run import Run


def grade_unjudged(judgments: Judgments, run: Run, grade: float) -> Judgments:
    """Give a grade to every document that a run lists for a judged query and nobody graded.

    A grade below 0 means unjudged, so it is replaced too where the run lists the document. Grades 1 and 2 of the rubric
    affect no weight and no norm of the evidence measures, only Judged and Harm. With a higher grade the ideal grows by
    the documents of this run, so runs are no longer compared under the same judgments.

    Args:
        judgments: grades; documents that the run does not list stay unchanged. Sources are dropped, so attach them
            afterwards.
        run: run whose unjudged documents are graded.
        grade: grade of each, 0 or more.

    Raises:
        PolicyError: the grade is negative or infinite, or the judgments have facets.

    >>> from trueval import Judgments, Run
    >>> filled = grade_unjudged(Judgments.from_dict({"q": {"a": 5}}), Run.from_dict({"q": {"a": 2.0, "b": 1.0}}), 1)
    >>> filled.frame.rows()
    [('q', 'a', 5.0), ('q', 'b', 1.0)]
    """
    if not 0 <= grade < math.inf:
        raise PolicyError(f"unjudged must be a grade of at least 0. Got {grade!r}.")
    if "facet" in judgments.frame.columns:
        raise PolicyError("unjudged cannot be given to judgments with facets: a new document would have none.")
    keys = ["query_id", "doc_id"]
    graded = judgments.frame.filter(pl.col("grade") >= 0).select(keys)
    asked = np.repeat(run.query_ids.is_in(judgments.query_ids.implode()).to_numpy(), np.diff(run.offsets))
    listed = Stretches(run.query_ids, run.offsets).before(run.documents.select("doc_id")).filter(pl.Series(asked))
    # Rows keep the order of queries and, within a query, of judgments and then of the list, so that results do not
    # depend on the row order of a join.
    new = listed.join(graded, on=keys, how="anti", maintain_order="left").with_columns(grade=pl.lit(float(grade)))
    kept = judgments.frame.join(new.select(keys), on=keys, how="anti", maintain_order="left")
    place = pl.DataFrame({"query_id": judgments.query_ids}).with_row_index("place")
    both = pl.concat([kept.select(*keys, "grade"), new]).join(place, on="query_id", maintain_order="left")
    frame = both.sort("place", maintain_order=True)
    counts = np.bincount(frame["place"].to_numpy(), minlength=len(judgments.query_ids))
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return dataclasses.replace(judgments, frame=frame.drop("place"), offsets=offsets, source_codes=None)


def as_judged(scores: Scores, run: Run, judgments: Judgments, grade: float) -> Scores:
    """Scores under filled judgments, with the numbers of documents that were judged before filling.

    Args:
        scores: scores of the run, with every document judged.
        judgments: judgments before filling.
        grade: grade given to the unjudged documents.
    """
    matched = counter(run, judgments)(scores.policy).matched
    notes = list(scores.notes)
    if not matched and len(scores.missing_queries) < len(scores.query_ids):
        notes.append(f"{unknown_documents(run, judgments)} Every one was given grade {grade:g} (unjudged).")
    return dataclasses.replace(scores, matched=matched, notes=tuple(notes))
