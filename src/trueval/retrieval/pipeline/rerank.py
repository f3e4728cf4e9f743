"""Reranking: the top documents of each list, rescored by a model that sees the query and the document.

A cross-encoder scores pairs, score = φ(logits); an embedder by the inner product of two vectors, and a late-interaction
embedder by MaxSim. Whatever the dtype of the model, φ is computed in float32 and rounded once to the scoring format:
"float32" is high-precision scoring (P-A eq. 3), "model" rounds to the model's dtype, as models are often served. Final
scores of a service are kept in float64, without further rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from trueval.collection import Candidates, Collection
from trueval.errors import InputError
from trueval.models.outputs import Outputs, Step, model_outputs
from trueval.models.pair_scores import pair_scores, scoring_format
from trueval.retrieval.fusion.ranked_lists import places_of, rank_lists
from trueval.run import Run

# Function from a model, a collection and candidates to the model's outputs, as model_outputs.
Forward = Callable[..., Outputs]
SHOWN: Final = 3  # maximum number of ids in an error


def rerank(
    run: Run,
    collection: Collection,
    model: Any,
    *,
    depth: int | None = None,
    scoring: str = "float32",
    store: Path | None = None,
    step: Step | None = None,
    name: str | None = None,
    forward: Forward = model_outputs,
) -> Run:
    """Score the top documents of each list with a model; lower ones are dropped.

    Args:
        run: run whose scores determine the top documents; ties are in the order listed.
        collection: collection with the texts of its queries and documents.
        model: a reranker or an embedder of trueval.models, also with late interaction, or a hosted model.
        depth: number of documents per list to score; all if None.
        scoring: format of the scores; "model" for the model's dtype. Final scores of a service are unchanged.
        store: folder of the model's outputs, from which an interrupted call resumes; None stores none.
        step: called with the name of the part, items done and total items.
        name: name of the new run; that of the old one if None.
        forward: runs the model over the candidates, or reads its cached outputs.

    Returns:
        Documents by descending score; ties keep the order of the old run.

    Raises:
        InputError: a query or document has no text, an output is not finite, or a score overflows its format.
        PolicyError: there is no such format, or it is asked of finished scores.
    """
    form = scoring_format(model, scoring)
    if not len(run.query_ids):
        return Run(run.documents, run.query_ids, run.offsets, name or run.name, model.name, empty=run.empty)
    candidates = candidates_of(run, collection, depth)
    outputs = forward(model, collection, candidates, folder=store, step=step)
    scores = pair_scores(outputs.arrays, candidates.lists, model.scoring, form).astype(np.float64)
    sizes = [len(chosen) for chosen in candidates.lists]
    doc_ids = pl.Series("doc_id", candidates.doc_ids, dtype=pl.String)[np.concatenate(candidates.lists)]
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    documents = pl.DataFrame({"doc_id": doc_ids, "score": scores})
    queries = pl.Series("query_id", candidates.query_ids, dtype=pl.String)
    scored = Run(documents, queries, offsets, name or run.name, model.name)
    ordered = rank_lists(scored)
    return Run(ordered.documents, queries, offsets, scored.name, scored.source, empty=run.empty)


def candidates_of(run: Run, collection: Collection, depth: int | None = None) -> Candidates:
    """The top documents of each list, in the form that a model takes.

    Args:
        run: run whose scores determine the top documents.
        collection: collection with the texts.
        depth: number of documents per list; all if None.

    Raises:
        InputError: queries or documents have no text.
    """
    lists = rank_lists(run, depth)
    ids = lists.documents["doc_id"]
    documents = ids.unique(maintain_order=True)
    for what, wanted, texts in (
        ("queries", lists.query_ids.to_list(), collection.queries),
        ("documents", documents.to_list(), collection.documents),
    ):
        lacking = [each for each in wanted if each not in texts]
        if lacking:
            shown = ", ".join(map(repr, lacking[:SHOWN]))
            raise InputError(
                f"{collection.source}: {len(lacking)} {what} of {run.name} have no text, such as {shown}. Use the "
                "collection that the run was made from."
            )
    parts = tuple(np.split(places_of(ids, documents), lists.offsets[1:-1]))
    return Candidates(run.name, tuple(lists.query_ids.to_list()), tuple(documents.to_list()), parts)
