"""Tie summaries: how much of a run is tied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class TieSummary(NamedTuple):
    """How much of a run is tied, over the evaluated queries.

    Attributes:
        tied_fraction: share of listed documents in groups of two or more, after the tie precision; None where the
            lists were counted in shards.
        largest_group: documents in the largest group; None where the lists were counted in shards.
        cut_queries: ids of queries whose list may end inside a tie, where that concerns a measure.
        documents: number of listed documents, the weight of tied_fraction when parts are joined.
    """

    tied_fraction: float | None
    largest_group: int | None
    cut_queries: tuple[str, ...]
    documents: int = 0


def join_ties(parts: Sequence[TieSummary]) -> TieSummary:
    """The tie summary of a run over all its queries; unknown where it is unknown for a part."""
    cut = tuple(query for part in parts for query in part.cut_queries)
    documents = sum(part.documents for part in parts)
    known = [part for part in parts if part.tied_fraction is not None and part.largest_group is not None]
    if len(known) < len(parts):
        return TieSummary(None, None, cut, documents)
    tied = sum((part.tied_fraction or 0.0) * part.documents for part in known)
    return TieSummary(tied / max(documents, 1), max(part.largest_group or 0 for part in known), cut, documents)
