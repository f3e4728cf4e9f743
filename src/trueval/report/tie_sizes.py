"""Tie groups by size, in bins that double: what pages draw and list of any ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trueval.report.figures import Chart, tone
from trueval.report.formats import distinct
from trueval.report.number_texts import format_value
from trueval.report.page_content import Figure
from trueval.report.plots import names_axis, shorten_name

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


def size_name(row: Mapping[str, object]) -> str:
    """The sizes of a bin.

    >>> size_name({"from": 3, "to": 4}), size_name({"from": 2, "to": 2})
    ('3–4', '2')
    """
    return str(row["to"]) if row["from"] == row["to"] else f"{row['from']}–{row['to']}"


def tie_figure(name: str, description: str, histograms: Mapping[str, Sequence[Mapping[str, object]]]) -> Figure | None:
    """The share of documents in tie groups of each size; the bin of documents without a tie is left out.

    Args:
        name: id of the figure on the page.
        description: one sentence.
        histograms: name of the ranking → what `tie_histogram` returns.

    Returns:
        The figure; None where nothing ties.
    """
    if not any(row["documents"] for rows in histograms.values() for row in rows[1:]):
        return None
    return Figure(name, "Sizes of tie groups", description, lambda width: tie_plot(histograms, width=width))


def tie_plot(histograms: Mapping[str, Sequence[Mapping[str, object]]], *, width: int, title: str = "") -> Chart:
    """A circle for each ranking and size of group; its area is the share of documents in such groups.

    Args:
        histograms: name of the ranking → what `tie_histogram` returns, one of them with a tie.
        width: CSS pixels of the whole plot.
        title: above it.
    """
    import altair as alt

    names = distinct(map(shorten_name, histograms))
    longest: Sequence[Mapping[str, Any]] = max(histograms.values(), key=len)
    rows = [
        {"name": name, "size": size_name(row), "share": row["share"], "told": _describe_tie_sizes(ranking, row)}
        for name, (ranking, bins) in zip(names, histograms.items(), strict=True)
        for row in bins[1:]
        if row["documents"]
    ]
    sizes = [size_name(row) for row in longest[1:]]
    columns = alt.X(
        "size:N",
        sort=None,
        scale=alt.Scale(domain=sizes),
        title="documents in the tie group; area is the share of all documents",
        axis=alt.Axis(labelAngle=0, grid=True, titleAnchor="start"),
    )
    area = alt.Size("share:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[16, 900]))
    plot = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, color=tone("expected"), aria=True)
    plot = plot.encode(x=columns, y=names_axis(names), size=area, description="told:N")
    shape = {"width": min(width - 180, 70 * len(sizes)), "height": 22 * len(names)}
    return plot.properties(**shape, **({"title": title} if title else {}))


def _describe_tie_sizes(ranking: str, row: Mapping[str, Any]) -> str:
    return f"{ranking}: {format_value(row['share'])} of documents in groups of {size_name(row)}"
