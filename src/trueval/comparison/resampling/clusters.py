"""Clusters: queries that belong together, as those of one topic, document or customer, and count as one observation.

Queries of a cluster rise and fall together, so intervals and tests that take each of them as a fresh one claim too
much. Resampling draws whole clusters, and a randomization test flips the signs of a whole cluster at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trueval.errors import InputError
from trueval.files.json.jsonl_pairs import QUERY_KEYS, Columns, read_names
from trueval.standings.standings import Floats, Ints

if TYPE_CHECKING:
    from trueval.files import Source

COLUMNS = Columns(QUERY_KEYS, ("cluster", "topic", "document", "customer", "group"), "a query and its cluster")


@dataclass(frozen=True)
class Clusters:
    """Which queries belong together.

    Attributes:
        members: query id → name of its cluster.
        source: where they come from, for messages.
    """

    members: Mapping[str, str]
    source: str = "clusters"

    @classmethod
    def of(cls, given: Clusters | Mapping[str, str] | Source | None) -> Clusters | None:
        """Clusters from what people have: themselves, a dict, or a file; None stays None.

        Raises:
            InputError: the file is bad.
        """
        if given is None or isinstance(given, Clusters):
            return given
        return cls(dict(given)) if isinstance(given, Mapping) else read_clusters(given)

    @property
    def largest(self) -> int:
        """How many queries the largest cluster has, compared or not."""
        return max(Counter(self.members.values()).values(), default=1)

    def codes(self, query_ids: Sequence[str]) -> Ints:
        """The cluster of each query as a number from 0, in the order of their first queries.

        Raises:
            InputError: a query has no cluster.
        """
        absent = [query for query in query_ids if query not in self.members]
        if absent:
            others = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
            raise InputError(
                f"{self.source}: no cluster for the query {absent[0]!r}{others}. Every query needs one. "
                "Add a line for it; a query that belongs to no other is a cluster of its own."
            )
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(self.members[query], len(numbers)) for query in query_ids], dtype=np.int64)

    def names(self, query_ids: Sequence[str]) -> list[str]:
        """The names of the clusters of some queries, in the order of `codes`."""
        return list(dict.fromkeys(self.members[query] for query in query_ids))

    def count(self, query_ids: Sequence[str]) -> int:
        """How many clusters the queries are in."""
        return len({self.members[query] for query in query_ids})


@dataclass(frozen=True, eq=False)
class QueryUnits:
    """Queries put together into units: clusters, or queries by themselves.

    Attributes:
        number: [query] of its unit, from 0.
        sizes: [unit] its queries.
    """

    number: Ints
    sizes: Floats

    @classmethod
    def of(cls, codes: Ints) -> QueryUnits:
        """Of the queries that count, by the cluster of each."""
        number = np.unique(codes, return_inverse=True)[1].ravel()
        return cls(number, np.bincount(number).astype(np.float64))

    def sums(self, values: Floats) -> Floats:
        """The sum over the queries of each unit, in their order, along the first axis: [query, ...] → [unit, ...]."""
        if len(self.sizes) == len(self.number):  # one query each, which a sum would only put in another order
            return values[np.argsort(self.number)]
        order = np.argsort(self.number, kind="stable")
        starts = np.searchsorted(self.number[order], np.arange(len(self.sizes)))
        found: Floats = np.add.reduceat(values[order], starts, axis=0)
        return found


def read_clusters(source: Source) -> Clusters:
    """Read the cluster of each query: query and cluster on each line.

    Args:
        source: a path, "-" for standard input, or an open file. JSON lines with query and cluster, or two fields
            separated by a tab, a comma or spaces; a line of column names is skipped.

    Raises:
        InputError: a line is bad, or a query has two clusters; with file and line.
    """
    found = read_names(source, COLUMNS, "the query", "cluster")
    return Clusters(found, str(source) if isinstance(source, str) or hasattr(source, "__fspath__") else "clusters")
