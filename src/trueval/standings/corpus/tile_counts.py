"""Counts within one tile of scores: documents above and tied with each judged document of their query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from trueval.standings.corpus.corpus_scorer import Mask, Tile
from trueval.standings.groups import ranges
from trueval.standings.standings import Ints

# Documents that reach the lowest judged score are extracted from their tile and placed one by one if they are at most
# this share of a row per score to compare with. Otherwise comparing whole rows is cheaper.
FEW: Final = 1 / 256
# Maximum number of judged scores that whole rows are compared with one by one; for more, rows are sorted.
MANY: Final = 16


class JudgedBounds(NamedTuple):
    """The bounds of the judged documents of some queries, by query and ascending.

    Attributes:
        low: [row, judged] the lowest score that counts as tied; infinite where a query has fewer.
        high: [row, judged] the highest such score; infinite where a query has fewer.
        pair: [row, judged] index of the judged document in its block; -1 where a query has fewer.
        same: [row, judged] the first column with these bounds: bounds of a query are equal or disjoint.
    """

    low: Any
    high: Any
    pair: Ints
    same: Ints


class TileCounts:
    """Counts of the judged documents of a block from some tiles, and the scores of those the tiles hold."""

    def __init__(self, pairs: int) -> None:
        self.above, self.tied, self.ahead = (np.zeros(pairs, dtype=np.int64) for _ in range(3))
        self.waiting = 0
        self.full = False  # whether more documents wait for scores of judged ones than are kept
        self._held: list[Ints] = []
        self._read: list[Any] = []
        self._ties: list[tuple[Ints, Ints, Any]] = []

    def keep(self, held: Ints, scores: object) -> None:
        """Record the scores of some judged documents."""
        self._held.append(held)
        self._read.append(scores)

    def tie(self, pairs: Ints, places: Ints, scores: object) -> None:
        """Record documents tied with judged ones, and their scores, until they are looked at."""
        self._ties.append((pairs, places, scores))
        self.waiting += len(pairs)

    def take_ties(self) -> tuple[Ints, Ints, Any]:
        """Return the recorded ties and clear them."""
        ties, self._ties, self.waiting = self._ties, [], 0
        if not ties:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
        pairs, places, scores = (np.concatenate(each) for each in zip(*ties, strict=True))
        return pairs, places, scores

    @property
    def judged_columns(self) -> Ints:
        """Judged documents in the tiles."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self._held])

    @property
    def read(self) -> Any:
        """The scores of the judged documents in the tiles."""
        return np.concatenate(self._read) if self._read else np.zeros(0)


class TileCounter:
    """Counts one tile.

    It uses the kernel where it is compiled. Otherwise it goes from the lowest judged score of each query upward: while
    many documents reach a score, the whole row is compared with its bounds; once few reach the next one, those are
    extracted and placed one by one.

    Args:
        tile: scores of the tile.
        bounds: bounds of the judged documents of the block.
        part: counts to add to.
        own: [judged] indices of the judged documents whose tied documents are recorded; -1 for others.
    """

    def __init__(self, tile: Tile, bounds: JudgedBounds, part: TileCounts, own: Ints) -> None:
        self.tile, self.part, self.own = tile, part, own
        self.bounds = JudgedBounds(*(each[tile.queries] for each in bounds))

    def count(self) -> None:
        """Add the tile's documents above and tied with each judged document."""
        tile, bounds = self.tile, self.bounds
        rows, judged = np.arange(len(bounds.low)), bounds.low.shape[1]
        if tile.quick:
            self._rank(rows, 0)
            return
        for column in range(judged):
            low = bounds.low[rows, column]
            reached = tile.at_least(rows, low)
            counts = tile.counts(reached)
            few = counts <= tile.columns * FEW * (judged - column)
            if few.all():
                self._place(rows, reached, counts, column)
                return
            if few.any():
                self._place(rows[few], reached[few], counts[few], column)
                rows, reached, counts = rows[~few], reached[~few], counts[~few]
            if judged - column > MANY:
                self._rank(rows, column)
                return
            beyond = tile.at_least(rows, bounds.high[rows, column], beyond=True)
            above = tile.counts(beyond)
            self._add(bounds.pair[rows, column], above, counts - above)
            self._find(rows, counts - above, column, (reached, beyond))

    def _add(self, pairs: Ints, above: Ints, tied: Ints) -> None:
        """Add counts to judged documents; absent ones have index -1."""
        there = pairs >= 0
        self.part.above[pairs[there]] += above[there]
        self.part.tied[pairs[there]] += tied[there]

    def _find(self, rows: Ints, tied: Ints, column: int, masks: tuple[Mask, Mask] | None = None) -> None:
        """Record the documents tied with one judged document of each row.

        Args:
            tied: [row] number of tied documents.
            column: the judged document of each row.
            masks: [row, document] which documents reach its score, and which exceed it; None if not compared yet.
        """
        tile, pairs = self.tile, self.bounds.pair[rows, column]
        own = self.own[pairs]
        inside = (own >= tile.first) & (own < tile.first + tile.columns)
        some = np.flatnonzero((tied > inside) & (own >= 0))  # what ties with a document of the tile once is itself
        if not len(some):
            return
        if masks is None:
            low, high = (bound[rows[some], column] for bound in (self.bounds.low, self.bounds.high))
            mask = tile.at_least(rows[some], low) ^ tile.at_least(rows[some], high, beyond=True)
        else:
            mask = masks[0][some] ^ masks[1][some]
        row, place = tile.places(mask, tied[some])
        row = some[row]
        self._tie(pairs[row], tile.first + place, tile.at(rows[row], place))

    def _tie(self, pairs: Ints, places: Ints, scores: Any) -> None:
        """Record the documents tied with judged ones, excluding themselves."""
        own = self.own[pairs]
        other = (pairs >= 0) & (own >= 0) & (own != places)
        if other.any():
            self.part.tie(pairs[other], places[other], scores[other])

    def _place(self, rows: Ints, reached: Mask, counts: Ints, column: int) -> None:
        """Count the few documents of some rows that reach the judged score of a column, each by binary search."""
        if not len(rows) or not counts.any():
            return
        row, place = self.tile.places(reached, counts)
        row = rows[row]
        scores = self.tile.at(row, place)
        last = _last_reached(self.bounds.low, row, scores, column)
        tied = np.flatnonzero(scores <= self.bounds.high.ravel()[last])
        # Number of judged scores, from the lowest, that a document reaches, and that it exceeds.
        width = self.bounds.low.shape[1]
        to = last - row * width + 1
        above_to = to.copy()
        above_to[tied] = np.maximum(self.bounds.same.ravel()[last[tied]], column)
        at_least, above = (_count_passing(row, each, self.bounds.low.shape)[:, column:] for each in (to, above_to))
        self._add(self.bounds.pair[:, column:].ravel(), above.ravel(), (at_least - above).ravel())
        times = to[tied] - above_to[tied]
        judged = self.bounds.pair[np.repeat(row[tied], times), ranges(above_to[tied], times)]
        self._tie(judged, np.repeat(self.tile.first + place[tied], times), np.repeat(scores[tied], times))

    def _rank(self, rows: Ints, column: int) -> None:
        """Count the scores of each row for all judged scores from a column on, by the kernel or by sorting."""
        bounds, pair = self.bounds, self.bounds.pair[rows, column:]
        at_least, above = self.tile.count_passing(rows, bounds.low[rows, column:], bounds.high[rows, column:])
        tied = np.where(pair >= 0, at_least - above, 0)
        self._add(pair.ravel(), above.ravel(), tied.ravel())
        for each in range(pair.shape[1]):
            self._find(rows, tied[:, each], column + each)


def _last_reached(low: Any, row: Ints, scores: Any, first: int) -> Ints:
    """The last lower bound in its row that each score reaches, as an index into the flattened bounds.

    Args:
        low: [row, judged] lower bounds, ascending.
        row: [score] index of its row.
        scores: [score], at or above the bound in column `first`.
        first: index of the first column.
    """
    flat, width = low.ravel(), low.shape[1]
    found: Ints = row * width + first
    end = row * width + (width - 1)
    step = 1 << int(width - first - 1).bit_length() >> 1
    while step:
        ahead = np.minimum(found + step, end)
        found += (ahead - found) * (scores >= flat[ahead])
        step >>= 1
    return found


def _count_passing(row: Ints, to: Ints, shape: Sequence[int]) -> Ints:
    """[row, judged] number of documents that pass each bound, from the number of bounds each passes."""
    rows, width = shape
    ends = np.bincount(row * (width + 1) + to, minlength=rows * (width + 1)).reshape(rows, width + 1)
    passing: Ints = ends[:, :0:-1].cumsum(axis=1)[:, ::-1]
    return passing
