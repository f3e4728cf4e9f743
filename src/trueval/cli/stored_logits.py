"""Logits that `trueval precision --logits` reads instead of running models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from trueval.errors import InputError

if TYPE_CHECKING:
    from trueval.collection import Candidates, Collection
    from trueval.precision.regimes import Regime


def stored_outputs(
    collection: Collection, path: Path, dtypes: Sequence[str] | None, formats: Mapping[str, Sequence[str]]
) -> tuple[Candidates, list[tuple[Regime, Mapping[str, Any]]], list[dict[str, Any]]]:
    """Reads logits from a file, in the order of the file.

    Args:
        collection: whose judgments count.
        path: an .npz file.
        dtypes: model dtypes to look at; None for all that the file holds.
        formats: `formats` of `trueval.precision.plan`.

    Returns:
        The candidates, regimes with their outputs, and what to say of the passes.

    Raises:
        typer.BadParameter: the file holds no logits of a dtype.
        InputError: documents are not of the collection.
    """
    import numpy as np
    import polars as pl

    from trueval.collection import candidate_lists
    from trueval.precision.logits import read_logits
    from trueval.precision.regimes import plan
    from trueval.run import Run

    stored = read_logits(path)
    wanted = _chosen_dtypes(path, stored.logits, dtypes)
    judged = collection.judgments.query_ids.to_list()
    known = set(judged)
    kept = [i for i, query in enumerate(stored.query_ids) if query in known]
    place = {query: i for i, query in enumerate(judged)}
    kept.sort(key=lambda i: place[stored.query_ids[i]])  # candidates follow the order of the judgments
    frame = pl.DataFrame(
        {
            "query_id": [stored.query_ids[i] for i in kept],
            "doc_id": [stored.doc_ids[i] for i in kept],
            "score": np.zeros(len(kept)),
        }
    )
    chosen = candidate_lists(collection, Run.from_frame(frame, name=stored.name))
    if chosen.pairs != len(kept):
        raise InputError(
            f"{path}: {len(kept) - chosen.pairs} pairs are of documents that {collection.source} does not have. "
            "Logits must be of the collection's documents. Name the collection that they were made from."
        )
    outputs: list[tuple[Regime, Mapping[str, Any]]] = []
    for dtype in wanted:
        arrays = {"pairs": stored.logits[dtype][kept]}
        outputs += [(regime, arrays) for regime in plan(stored.name, stored.scoring, dtype, formats["formats"])]
    return chosen, outputs, [{"model": stored.name, "path": str(path), "dtype": dtype} for dtype in wanted]


def _chosen_dtypes(path: Path, stored: Iterable[str], dtypes: Sequence[str] | None) -> list[str]:
    """The stored dtypes to look at, in the order of the file."""
    held = list(stored)
    lacking = [dtype for dtype in dtypes or () if dtype not in held]
    if lacking or dtypes == []:
        got = ", ".join(lacking) or "none"
        raise typer.BadParameter(
            f"of stored logits must be among {', '.join(held)}, which {path} holds. Got {got}.", param_hint="--dtype"
        )
    return [dtype for dtype in held if dtypes is None or dtype in dtypes]
