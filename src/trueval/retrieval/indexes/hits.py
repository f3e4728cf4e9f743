"""Hits: results of an index search, and selection of the best scores with ties by place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import PolicyError
from trueval.run import Run
from trueval.standings.groups import starts_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Hits(NamedTuple):
    """Results of an index search, query by query, best first; ties by place.

    Attributes:
        offsets: [query + 1] where each query starts.
        places: [row] index of the document.
        scores: [row] higher is better.
    """

    offsets: Ints
    places: Ints
    scores: Floats

    def to_run(self, query_ids: Sequence[str], doc_ids: pl.Series, name: str) -> Run:
        """The run of these hits; queries without any are left out, as in run files.

        Args:
            query_ids: [query] distinct ids.
            doc_ids: [place] distinct ids.
            name: name of the run.
        """
        found = np.diff(self.offsets) > 0
        documents = pl.DataFrame({"doc_id": doc_ids[self.places], "score": self.scores})
        queries = pl.Series("query_id", list(query_ids), dtype=pl.String).filter(pl.Series(found))
        return Run(documents, queries, starts_of(np.diff(self.offsets)[found]), name, "index")


def best(scores: Floats, depth: int, *, above: float | None = None) -> Ints:
    """Places of the highest scores, best first; ties by place, also where the depth cuts them.

    Args:
        scores: [document] scores.
        depth: maximum number of documents.
        above: excludes scores at or below it.

    >>> best(np.array([1.0, 3.0, 1.0, 1.0]), 2).tolist()
    [1, 0]
    """
    places = np.arange(len(scores)) if above is None else np.flatnonzero(scores > above)
    if len(places) > depth:
        # All documents of the group that the depth cuts, so that the first by place can be kept.
        last = np.partition(scores[places], len(places) - depth)[len(places) - depth]
        places = places[scores[places] >= last]
    return places[np.argsort(-scores[places], kind="stable")][:depth]


def join_hits(parts: Sequence[tuple[Ints, Floats]]) -> Hits:
    """Join the hits of several queries.

    Args:
        parts: [query] places and scores, best first.
    """
    places, scores = [np.concatenate([part[side] for part in parts] or [np.zeros(0)]) for side in (0, 1)]
    offsets = starts_of(np.array([len(part[0]) for part in parts], dtype=np.int64))
    return Hits(offsets, places.astype(np.int64), scores.astype(np.float64))


def check_depth(depth: int) -> None:
    """Refuse a depth below 1.

    Raises:
        PolicyError: it is.
    """
    if depth < 1:
        raise PolicyError(f"depth must be an integer >= 1. Got {depth!r}.")
