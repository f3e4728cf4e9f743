"""Stored logits: a file in place of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trueval.collection import candidate_lists
from trueval.errors import InputError, Place, PolicyError
from trueval.precision.logits import read_logits
from trueval.precision.model_passes import Passes, select_queries
from trueval.precision.regimes import plan
from trueval.printable import encodable
from trueval.run import Run

if TYPE_CHECKING:
    from trueval.collection import Collection
    from trueval.precision.regimes import Regime


def read_passes(
    collection: Collection,
    path: Path,
    dtypes: Sequence[str] | None = None,
    *,
    scoring: Sequence[str] = (),
    grades: Mapping[float, float] | None = None,
) -> Passes:
    """Read logits from a file, as if models had returned them.

    Args:
        collection: collection with the judgments; judged queries that the file lacks are left out.
        path: an .npz file, see `read_logits`.
        dtypes: model dtypes to use; None for all in the file.
        scoring: formats of the scores, as in `plan`.
        grades: grade → grade to use, as applied to the collection's judgments; applied to those of the file too.

    Raises:
        InputError: the file is bad, its documents are not of the collection, or its grades not those of the judgments.
        PolicyError: the file holds no logits of a dtype.
    """
    stored = read_logits(path)
    lacking = [dtype for dtype in dtypes or () if dtype not in stored.logits]
    if lacking or (dtypes is not None and not dtypes):
        raise PolicyError(
            f"--dtype of stored logits must be among {', '.join(stored.logits)}, which {path} holds. "
            f"Got {', '.join(lacking) or 'none'}."
        )
    wanted = [dtype for dtype in stored.logits if dtypes is None or dtype in dtypes]
    collection = select_queries(collection, among=frozenset(stored.query_ids))
    place = {query: at for at, query in enumerate(collection.graded.query_ids.to_list())}
    # Candidates follow the order of the judgments, the rows of one query that of the file.
    kept = sorted(
        (at for at, query in enumerate(stored.query_ids) if query in place), key=lambda at: place[stored.query_ids[at]]
    )
    frame = pl.DataFrame(
        {
            "query_id": [stored.query_ids[at] for at in kept],
            "doc_id": [stored.doc_ids[at] for at in kept],
            "score": np.zeros(len(kept)),
        }
    )
    candidates = candidate_lists(collection, Run.from_frame(frame, name=stored.name))
    if candidates.pairs != len(kept):
        raise InputError(
            f"{path}: {len(kept) - candidates.pairs} pairs are of documents that {collection.source} does not have. "
            "Logits must be of the collection's documents. Name the collection that they were made from."
        )
    if stored.grades is not None:
        _check_grades(frame.select("query_id", "doc_id", grade=stored.grades[kept]), collection, grades, path)
    outputs: list[tuple[Regime, Mapping[str, object]]] = []
    for dtype in wanted:
        arrays = {"pairs": stored.logits[dtype][kept]}
        outputs += [(regime, arrays) for regime in plan(stored.name, stored.scoring, dtype, scoring)]
    settings = [{"model": stored.name, "path": str(path), "dtype": dtype} for dtype in wanted]
    return Passes(collection, candidates, outputs, settings)


def _check_grades(
    stored: pl.DataFrame, collection: Collection, grades: Mapping[float, float] | None, path: Path
) -> None:
    """Refuse grades that contradict the judgments: rows and ids of the file then do not match."""
    known = stored.filter(pl.col("grade").is_not_nan())
    if grades is not None:
        known = known.with_columns(pl.col("grade").replace(grades))
    # Documents with facets have several grades; measures without facets use the largest.
    judged = collection.graded.frame.group_by("query_id", "doc_id").agg(judged=pl.col("grade").max())
    other = known.join(judged, on=["query_id", "doc_id"]).filter(pl.col("grade") != pl.col("judged"))
    if other.height:
        query, document, grade, judgment = other.row(0)
        raise Place(encodable(str(path))).error(
            f"{other.height} of {known.height} grades are not those of {collection.source}: document {document!r} of "
            f"query {query!r} has {grade:g}, and is judged {judgment:g}. The logits may be of other rows. Write the "
            "grades of the collection, or leave the array grade out."
        )
