"""Clusters: queries of one topic, document or customer, for example, which count as one observation.

Values of queries in a cluster are correlated, so intervals and tests that treat them as independent claim too much.
Resampling draws whole clusters, and a randomization test flips the signs of a whole cluster at once.
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
        source: origin of the clusters, for messages.
    """

    members: Mapping[str, str]
    source: str = "clusters"

    @classmethod
    def of(cls, given: Clusters | Mapping[str, str] | Source | None) -> Clusters | None:
        """Make clusters from clusters, a dict or a file; None stays None.

        Raises:
            InputError: the file is bad.
        """
        if given is None or isinstance(given, Clusters):
            return given
        return cls(dict(given)) if isinstance(given, Mapping) else read_clusters(given)

    @property
    def largest(self) -> int:
        """Number of queries in the largest cluster, whether compared or not."""
        return max(Counter(self.members.values()).values(), default=1)

    def codes(self, query_ids: Sequence[str]) -> Ints:
        """The cluster of each query as an index from 0, in order of first appearance.

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
        """Names of the clusters of the given queries, in the order of `codes`."""
        return list(dict.fromkeys(self.members[query] for query in query_ids))

    def count(self, query_ids: Sequence[str]) -> int:
        """Number of clusters that the queries are in."""
        return len({self.members[query] for query in query_ids})


@dataclass(frozen=True, eq=False)
class QueryUnits:
    """Queries grouped into units: clusters, or single queries.

    Attributes:
        number: [query] index of its unit, from 0.
        sizes: [unit] number of queries.
    """

    number: Ints
    sizes: Floats

    @classmethod
    def of(cls, codes: Ints) -> QueryUnits:
        """Group the queries that count by the cluster of each."""
        number = np.unique(codes, return_inverse=True)[1].ravel()
        return cls(number, np.bincount(number).astype(np.float64))

    def sums(self, values: Floats) -> Floats:
        """Sums over the queries of each unit, in their order, along the first axis: [query, ...] → [unit, ...]."""
        if len(self.sizes) == len(self.number):  # one query each, which a sum would only reorder
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
