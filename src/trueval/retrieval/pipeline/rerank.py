"""Reranking: the best documents of each list scored anew by a model that sees the query and the document.

A cross-encoder scores pairs, score = φ(logits); an embedder scores them by the product of two vectors, and one of late
interaction by MaxSim. Whatever the dtype of the model, φ is computed in float32 and rounded once to the scoring format:
"float32" is high-precision scoring (P-A eq. 3), "model" rounds to the model's dtype as models are often served. A
service that gives finished scores is believed as it is: they are kept in float64, and nothing rounds them again.
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

# From a model, a collection and candidates to the outputs of the model, as model_outputs.
Forward = Callable[..., Outputs]
SHOWN: Final = 3  # ids in an error


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
    """Score the first documents of each list by a model; those below are left out.

    Args:
        run: of which scores decide which are first, ties as it lists them.
        collection: with the texts of its queries and documents.
        model: a reranker or an embedder of trueval.models, also of late interaction, or a hosted one.
        depth: documents of each list that are scored; all if None.
        scoring: format of the scores; "model" for the model's dtype. Finished scores of a service stay as they are.
        store: keeps the outputs of the model, where an interrupted call goes on; None keeps none.
        step: called with the name of what is run, items done and items in all.
        name: name of the new run; that of the old one if None.
        forward: runs the model over the candidates, or finds what it returned before.

    Returns:
        Documents by falling score; ties stand as the old run has them.

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
    """The first documents of each list, as a model takes them.

    Args:
        run: of which scores decide which are first.
        collection: with the texts.
        depth: documents of each list; all if None.

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
