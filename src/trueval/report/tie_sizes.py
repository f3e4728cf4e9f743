"""Tie groups by size, in bins that double: what pages draw and list of any ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trueval.report.content import Figure

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEIGHT = 380  # CSS pixels


def tie_histogram(sizes: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Counts tie groups by size, in bins that double: 1, 2, 3-4, 5-8, ...

    Args:
        sizes: [group] documents of each group.

    Returns:
        One row for each bin up to the largest group: from, to, groups, documents, share of all documents.

    Example:
        >>> [(row["to"], row["groups"], row["documents"]) for row in tie_histogram(np.array([1, 1, 4, 2]))]
        [(1, 2, 2), (2, 1, 2), (4, 1, 4)]
    """
    if not len(sizes):
        return []
    bins = np.ceil(np.log2(sizes)).astype(np.int64)
    groups, documents = np.bincount(bins), np.bincount(bins, weights=sizes)
    return [
        {
            "from": 2 ** (power - 1) + 1 if power else 1,
            "to": 2**power,
            "groups": int(groups[power]),
            "documents": int(documents[power]),
            "share": float(documents[power] / documents.sum()),
        }
        for power in range(len(groups))
    ]


def size_name(row: Mapping[str, Any]) -> str:
    """The sizes of a bin.

    >>> size_name({"from": 3, "to": 4}), size_name({"from": 2, "to": 2})
    ('3–4', '2')
    """
    return str(row["to"]) if row["from"] == row["to"] else f"{row['from']}–{row['to']}"


def tie_figure(name: str, description: str, histograms: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """The share of documents in tie groups of each size; the bin of documents without a tie is left out.

    Args:
        name: id of the figure on the page.
        description: one sentence.
        histograms: name of the ranking → what `tie_histogram` returns.
    """
    longest: Sequence[Mapping[str, Any]] = max(histograms.values(), key=len, default=[])
    runs = [{"name": ranking, "share": [row["share"] for row in rows[1:]]} for ranking, rows in histograms.items()]
    data = {"sizes": [size_name(row) for row in longest[1:]], "runs": runs}
    return Figure(name, "Sizes of tie groups", description, "tieGroups", data, HEIGHT, wide=True)
