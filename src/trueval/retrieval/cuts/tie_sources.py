"""Tie sources: the lists of a run with only the ties at the cutoff, and with only those above it.

The choice at the cutoff and the order of documents that are in the context anyway affect a measure separately. Each
effect is isolated in lists where all other ties are broken in the order of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from trueval.numerics import round_to
from trueval.retrieval.cuts.cutoff import CutoffGroup
from trueval.retrieval.fusion.ranked_lists import in_order
from trueval.run import Run
from trueval.standings.groups import tie_groups


class TieSources(NamedTuple):
    """Two versions of a run.

    Attributes:
        cut: only the ties of the groups that the cutoff falls into.
        inside: only the other ties.
    """

    cut: Run
    inside: Run


def separate_ties(run: Run, cuts: Sequence[CutoffGroup], precision: str | float | None = None) -> TieSources:
    """Break the ties of a run in its order, except those at the cutoff, or except the others.

    Scores become positions in the list, shifted so that positive scores stay positive and others do not become so: in
    some conventions a score of 0 or less means not retrieved.

    Args:
        run: lists that extend past the cutoff.
        precision: precision in which scores are compared; None for exact comparison.

    >>> from trueval.retrieval.cuts.cutoff import find_cuts
    >>> run = Run.of({"q": {"a": 3.0, "b": 3.0, "c": 2.0, "d": 2.0}})
    >>> parts = separate_ties(run, find_cuts(run, 3, np.array([False])))
    >>> [part.documents["score"].to_list() for part in parts]
    [[5.0, 4.0, 3.0, 3.0], [5.0, 5.0, 3.0, 2.0]]
    """
    scores = round_to(run.documents["score"].to_numpy(), precision)
    groups, sizes = tie_groups(scores, run.offsets), np.diff(run.offsets)
    order = in_order(groups)
    place = np.arange(len(order)) - np.repeat(run.offsets[:-1], sizes)
    first = np.repeat(groups.start[:-1], groups.size) - np.repeat(run.offsets[:-1], sizes)
    above = np.full(len(sizes), -1)
    for cut in cuts:
        above[cut.place] = cut.above
    is_cut = first == np.repeat(above, sizes)
    shift = np.where(scores[order] > 0, 1 + int(sizes.max(initial=0)), 0)

    def with_ties(where: np.typing.NDArray[np.bool_]) -> Run:
        values = np.empty(len(order))
        values[order] = shift - np.where(where, first, place)
        return replace(run, documents=run.documents.with_columns(score=pl.Series(values)))

    return TieSources(with_ties(is_cut), with_ties(~is_cut))
