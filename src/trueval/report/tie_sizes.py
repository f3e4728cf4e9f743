"""Tie groups by size, in bins that double: what pages draw and list of any ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from trueval.report.figures import Chart, tone
from trueval.report.formats import distinct
from trueval.report.json_fields import json_key
from trueval.report.number_texts import format_value
from trueval.report.page_content import Figure
from trueval.report.plots import names_axis, shorten_name

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class TieBin:
    """The tie groups of `least` to `most` documents.

    Attributes:
        least: smallest size.
        most: largest size.
        groups: number of groups.
        documents: number of documents in them.
        share: share of all listed documents.
    """

    least: int = field(metadata=json_key("from"))
    most: int = field(metadata=json_key("to"))
    groups: int
    documents: int
    share: float

    @property
    def sizes(self) -> str:
        """The sizes in words.

        >>> TieBin(3, 4, 1, 3, 1.0).sizes, TieBin(2, 2, 1, 2, 1.0).sizes
        ('3–4', '2')
        """
        return str(self.most) if self.least == self.most else f"{self.least}–{self.most}"


def tie_histogram(sizes: NDArray[np.int64]) -> tuple[TieBin, ...]:
    """Counts tie groups by size, in bins that double: 1, 2, 3-4, 5-8, ...

    Args:
        sizes: [group] documents of each group.

    Returns:
        The bins up to that of the largest group.

    Example:
        >>> [(each.most, each.groups, each.documents) for each in tie_histogram(np.array([1, 1, 4, 2]))]
        [(1, 2, 2), (2, 1, 2), (4, 1, 4)]
    """
    if not len(sizes):
        return ()
    bins = np.ceil(np.log2(sizes)).astype(np.int64)
    groups, documents = np.bincount(bins), np.bincount(bins, weights=sizes)
    return tuple(
        TieBin(
            2 ** (power - 1) + 1 if power else 1,
            2**power,
            int(groups[power]),
            int(documents[power]),
            float(documents[power] / documents.sum()),
        )
        for power in range(len(groups))
    )


def tie_figure(name: str, description: str, histograms: Mapping[str, Sequence[TieBin]]) -> Figure | None:
    """The share of documents in tie groups of each size; the bin of documents without a tie is left out.

    Args:
        name: id of the figure on the page.
        description: one sentence.
        histograms: name of the ranking → what `tie_histogram` returns.

    Returns:
        The figure; None where nothing ties.
    """
    if not any(each.documents for bins in histograms.values() for each in bins[1:]):
        return None
    return Figure(name, "Sizes of tie groups", description, lambda width: tie_plot(histograms, width=width))


def tie_plot(histograms: Mapping[str, Sequence[TieBin]], *, width: int, title: str = "") -> Chart:
    """A circle for each ranking and size of group; its area is the share of documents in such groups.

    Args:
        histograms: name of the ranking → what `tie_histogram` returns, one of them with a tie.
        width: CSS pixels of the whole plot.
        title: above it.
    """
    import altair as alt

    names = distinct(map(shorten_name, histograms))
    longest = max(histograms.values(), key=len)
    rows = [
        {
            "name": name,
            "size": each.sizes,
            "share": each.share,
            "told": f"{ranking}: {format_value(each.share)} of documents in groups of {each.sizes}",
        }
        for name, (ranking, bins) in zip(names, histograms.items(), strict=True)
        for each in bins[1:]
        if each.documents
    ]
    sizes = [each.sizes for each in longest[1:]]
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
