"""Probing a service that scores: do its scores change from call to call, and what are they rounded to?

The same documents are sent four times: twice as they are, once in another order, and once in other batches. A service
that only rounds gives the same score each time; what differs between two equal calls is noise, which no rounding
explains, and what differs only between orders or batches comes from what is computed together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, Protocol

import numpy as np

from trueval.precision.grid_result import Deviation, GridReport, ServiceCheck
from trueval.precision.run_grids import grids_of
from trueval.run import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueval.collection import Collection
    from trueval.standings.standings import Floats

QUERIES: Final = 6  # of a collection that are asked
DOCUMENTS: Final = 50  # of a collection that are scored for each
BATCH: Final = 7  # documents of a call of the other batches


class ServiceReranker(Protocol):
    """A reranker."""

    def logits(self, query: str, documents: Sequence[str]) -> NDArray[np.floating]:
        """[document, 1] outputs for one query, in the order of the documents."""


def probe_service(scorer: ServiceReranker, collection: Collection, name: str = "service") -> GridReport:
    """Ask a service the same thing four times, and find the grid of its scores: `trueval precision runs --url`.

    Args:
        scorer: the service, as `trueval.models.load_model` gives it.
        collection: its first queries and documents are sent.
        name: name of the service in tables.

    Raises:
        InputError: the service does not answer, or answers without a score for each document.
    """
    ids = list(islice(collection.documents, DOCUMENTS))
    texts = [collection.documents[each] for each in ids]
    queries = {each: collection.queries[each] for each in islice(collection.queries, QUERIES)}
    order = np.random.default_rng(0).permutation(len(texts))

    def ask(query: str, places: NDArray[np.int64], size: int) -> Floats:
        """[document] scores, asked for in an order and in calls of a size."""
        found = np.empty(len(texts))
        for start in range(0, len(places), size):
            chosen = places[start : start + size]
            found[chosen] = np.asarray(scorer.logits(query, [texts[at] for at in chosen.tolist()]), float)[:, 0]
        return found

    straight = np.arange(len(texts))
    passes = [
        np.stack([ask(query, places, size) for query in queries.values()])
        for places, size in ((straight, len(texts)), (straight, len(texts)), (order, len(texts)), (straight, BATCH))
    ]
    first = passes[0]
    again, reordered, rebatched = (_deviation(first, other) for other in passes[1:])
    verdict: Literal["noise", "batch", "rounding"] = "rounding"
    if again.differing:
        verdict = "noise"
    elif reordered.differing or rebatched.differing:
        verdict = "batch"
    lists = {query: dict(zip(ids, row.tolist(), strict=True)) for query, row in zip(queries, first, strict=True)}
    report = grids_of([(Run.from_dict(lists, name=name), None)], (), None)
    check = ServiceCheck(first.size, again, reordered, rebatched, verdict)
    return GridReport(report.runs, report.policy, report.notes, check)


def _deviation(first: Floats, other: Floats) -> Deviation:
    off = np.abs(first - other)
    return Deviation(int((off > 0).sum()), float(off.max(initial=0.0)))
