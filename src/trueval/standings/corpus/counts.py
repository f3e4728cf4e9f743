"""Counts over a whole corpus: each tile of scores is compared with the scores of the judged documents, then dropped.

No list of the best documents is kept, so no tie group is cut, and memory holds only a few tiles.

The last bits of a score depend on the shape of the product in which it is computed, in some libraries also on the
column. So a judged document is compared by the score in its own tile. Another product gives that score beforehand, up
to an error: documents whose scores differ by more are counted at once, the few others when the tile has come. Where the
tile's score is beyond the error, the queries are counted again, by the scores that were read.

Scores are never rounded. Rounding keeps order, so all scores that round to the same value as a judged document's lie
between two bounds, and two comparisons count the documents above it and tied with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from trueval.errors import InputError
from trueval.numerics import RoundingInterval, rounding_interval
from trueval.standings.corpus.corpus_scorer import CorpusScorer, QueryBlock, Tile
from trueval.standings.corpus.tile_counts import JudgedBounds, TileCounter, TileCounts
from trueval.standings.groups import starts_of
from trueval.standings.standings import Bools, Floats, Ints

# Maximum number of documents tied with judged ones that are kept until they are ordered or compared.
AT_ONCE: Final = 1 << 20
# Number of attempts until tiles reproduce their scores.
ATTEMPTS: Final = 3

Rounding = Callable[[Any], Floats]


class Before(Protocol):
    """Whether a tie order puts the documents at some places before judged ones."""

    def __call__(self, pairs: Ints, places: Ints) -> Bools:
        """[place] whether the document there comes before the judged one of the pair."""
        ...

    def within(self, first: int, last: int) -> Before:
        """The same for places from one to before another, which can be sent elsewhere."""
        ...


class JudgedPairs(NamedTuple):
    """Judged documents in the corpus.

    Attributes:
        query: [pair] index of the query in the corpus scorer.
        place: [pair] index of the document.
    """

    query: Ints
    place: Ints


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of the judged documents in the corpus.

    Attributes:
        score: [pair] rounded score.
        above: [pair] number of documents with a higher score.
        tied: [pair] number of documents with the same score, itself included.
        ahead: [pair] number of tied documents that a tie order puts before it; zeros without one.
    """

    score: Floats
    above: Ints
    tied: Ints
    ahead: Ints


def count_pairs(source: CorpusScorer, pairs: JudgedPairs, rounded: Rounding, before: Before | None) -> Counts:
    """Count the documents above and tied with each judged document, over the whole corpus.

    Args:
        source: scorer of the corpus.
        rounded: rounding that defines which scores are equal; it keeps order and turns overflow into infinity.
        before: function from pairs and places to whether the tie order puts the document at that place first; None for
            no order.

    Raises:
        InputError: a score is not a number or overflows, or the tiles give other scores each time.
    """
    counts = Counts(np.zeros(len(pairs.query)), *(np.zeros(len(pairs.query), dtype=np.int64) for _ in range(3)))
    by_query = np.argsort(pairs.query, kind="stable")
    queries = np.unique(pairs.query)
    for block in source.blocks(queries):
        first, last = np.searchsorted(pairs.query[by_query], [block.queries[0], block.queries[-1] + 1])
        _Block(source, block, pairs, by_query[first:last], rounded, before).count(counts)
    return counts


class _Block:
    """The judged documents of one block of queries.

    Args:
        source: name of the scorer, for messages.
        chosen: indices of those in the block.
    """

    def __init__(
        self,
        source: CorpusScorer,
        block: QueryBlock,
        pairs: JudgedPairs,
        chosen: Ints,
        rounded: Rounding,
        before: Before | None,
    ) -> None:
        self.source, self.block, self.chosen, self.rounded, self.before = source, block, chosen, rounded, before
        self.row = np.searchsorted(block.queries, pairs.query[chosen])
        self.place = pairs.place[chosen]
        self.by_place = np.argsort(self.place, kind="stable")

    def count(self, counts: Counts) -> None:
        """Count by the scores in the tiles of the corpus."""
        scores, error = self.block.pairs(self.row, self.place)
        self.limit = _limit(self.rounded, scores.dtype, self.source.infinite)
        for _ in range(ATTEMPTS):
            self._check(scores)
            bounds, (low, high) = self._bounds(scores, error)
            self.open = self.rounded(low) != self.rounded(high)
            work = _TileCounting(
                bounds, self.row, self.place, self.by_place, self.open, self.limit, self.chosen, self.before
            )
            try:
                parts = self.block.map(work)
            except _ScoreError as lost:
                raise self._error(*lost.args) from None
            # Each judged document is in one tile, so of one part.
            read = scores.copy()
            for part in parts:
                read[part.judged_columns] = part.read
            if ((low <= read) & (read <= high)).all() and not any(part.full for part in parts):
                break
            scores, error = read, 0.0
        else:
            raise InputError(
                f"{self.source.name}: the same product has given other scores each time. Standings need a product that "
                "can be repeated: compute on one thread, or turn deterministic algorithms on."
            )
        counts.score[self.chosen] = self.rounded(read)
        for part in parts:
            work.settle(part, counts.score[self.chosen], self.rounded)
        for name in ("above", "tied", "ahead"):
            getattr(counts, name)[self.chosen] = sum(getattr(part, name) for part in parts)

    def _check(self, scores: Any) -> None:
        """Refuse judged scores that cannot be ordered."""
        lost = np.flatnonzero(~(np.abs(scores) <= self.limit))
        if len(lost):
            raise self._error(float(scores[lost[0]]), int(self.row[lost[0]]), int(self.place[lost[0]]))

    def _error(self, score: float, row: int, place: int) -> InputError:
        query, document = self.source.query_ids[int(self.block.queries[row])], self.source.doc_ids[place]
        what = "is not a number" if np.isnan(score) else f"is {score!r}, which overflows {self.source.format}"
        return InputError(
            f"{self.source.name}: the score of document {document!r} for query {query!r} {what}. Embeddings must be "
            "finite, and scores within the format. Embed them again in bfloat16 or float32, or score in a wider format."
        )

    def _interval(self, scores: Any, error: float) -> RoundingInterval:
        """The interval of scores that round as any score within the error of each judged one does."""
        low, high = (each.copy() for each in rounding_interval(scores, self.rounded))
        least, most = (np.clip(scores + scores.dtype.type(by), -self.limit, self.limit) for by in (-error, error))
        wide = self.rounded(least) != self.rounded(most)
        low[wide] = rounding_interval(least[wide], self.rounded).low
        high[wide] = rounding_interval(most[wide], self.rounded).high
        return RoundingInterval(low, high)

    def _bounds(self, scores: object, error: float) -> tuple[JudgedBounds, RoundingInterval]:
        """The bounds of the judged scores, by query and by document; overlapping bounds of a query are merged."""
        low, high = self._interval(scores, error)
        order = np.lexsort((low, self.row))
        row = self.row[order]
        start = starts_of(np.bincount(row, minlength=len(self.block.queries)))
        column = np.arange(len(row)) - start[row]
        shape = len(self.block.queries), int(np.diff(start).max())
        lows, highs, pairs = np.full(shape, np.inf, low.dtype), np.full(shape, np.inf, low.dtype), np.full(shape, -1)
        for filled, values in zip((lows, highs, pairs), (low[order], high[order], order), strict=True):
            filled[row, column] = values
        columns = np.broadcast_to(np.arange(shape[1]), shape)
        highs = np.maximum.accumulate(highs, axis=1)
        new = np.ones((shape[0], shape[1] + 1), dtype=bool)
        new[:, 1:-1] = lows[:, 1:] > highs[:, :-1]
        first = np.maximum.accumulate(np.where(new[:, :-1], columns, 0), axis=1)
        last = np.minimum.accumulate(np.where(new[:, 1:], columns, shape[1])[:, ::-1], axis=1)[:, ::-1]
        lows, highs = np.take_along_axis(lows, first, 1), np.take_along_axis(highs, last, 1)
        low[order], high[order] = lows[row, column], highs[row, column]
        return JudgedBounds(lows, highs, pairs, first), RoundingInterval(low, high)


class _ScoreError(Exception):
    """A score that is not a number, or overflows: the score, its row and its place."""


@dataclass(frozen=True, eq=False)
class _TileCounting:
    """Counts the judged documents of a block from tiles (trueval.standings.corpus.corpus_scorer.TileWork).

    Attributes:
        bounds: bounds of the judged scores.
        row: [judged] its row in the block.
        place: [judged] its place.
        by_place: order of the judged documents by their place.
        open: [judged] whether its rounded score is not known yet.
        limit: the largest score that does not overflow.
        chosen: [judged] its index among all pairs.
        before: the tie order; None for none.
    """

    bounds: JudgedBounds
    row: Ints
    place: Ints
    by_place: Ints
    open: Bools
    limit: float
    chosen: Ints
    before: Before | None

    def within(self, first: int, last: int) -> _TileCounting:
        """The same for documents from one place to before another."""
        return self if self.before is None else replace(self, before=self.before.within(first, last))

    def __call__(self, tiles: Iterable[Tile]) -> TileCounts:
        """The counts from some tiles."""
        part = TileCounts(len(self.place))
        own = np.where(self.open, self.place, -1) if self.before is None else self.place
        for tile in tiles:
            self._refuse(tile)
            self._read(tile, part)
            if part.full:
                continue  # all is counted again by the scores that are read
            TileCounter(tile, self.bounds, part, own).count()
            if part.waiting > AT_ONCE:
                self._order(part)
                part.full = part.waiting > AT_ONCE
        self._order(part)
        return part

    def _refuse(self, tile: Tile) -> None:
        """Refuse scores that are NaN or overflow: in low precision they would tie."""
        if tile.bound < self.limit:
            return
        lowest, highest = tile.extent()
        if -self.limit <= lowest and highest <= self.limit:
            return
        rows = np.arange(tile.queries.stop - tile.queries.start)
        scores = tile.at(np.repeat(rows, tile.columns), np.tile(np.arange(tile.columns), len(rows)))
        lost = int(np.flatnonzero(~(np.abs(scores) <= self.limit))[0])
        row, column = divmod(lost, tile.columns)
        raise _ScoreError(float(scores[lost]), tile.queries.start + row, tile.first + column)

    def _read(self, tile: Tile, part: TileCounts) -> None:
        """Record the scores of the judged documents in the tile."""
        first, last = np.searchsorted(self.place[self.by_place], [tile.first, tile.first + tile.columns])
        held = self.by_place[first:last]
        row = self.row[held]
        held = held[(row >= tile.queries.start) & (row < tile.queries.stop)]
        if len(held):
            part.keep(held, tile.at(self.row[held] - tile.queries.start, self.place[held] - tile.first))

    def _order(self, part: TileCounts) -> None:
        """Add the tied documents that the tie order puts before judged ones; those that may not be tied wait."""
        pairs, places, scores = part.take_ties()
        waits = self.open[pairs]
        self._add_ahead(part, pairs[~waits], places[~waits])
        if waits.any():
            part.tie(pairs[waits], places[waits], scores[waits])

    def settle(self, part: TileCounts, own: Floats, rounded: Rounding) -> None:
        """Compare the documents that waited for the scores of judged ones with those scores."""
        pairs, places, scores = part.take_ties()
        own, scores = own[pairs], rounded(scores)
        # Not in place: arrays from the object store of a cluster are read-only.
        part.above = part.above + np.bincount(pairs[scores > own], minlength=len(part.above))
        part.tied = part.tied - np.bincount(pairs[scores != own], minlength=len(part.tied))
        self._add_ahead(part, pairs[scores == own], places[scores == own])

    def _add_ahead(self, part: TileCounts, pairs: Ints, places: Ints) -> None:
        """Add the tied documents that the tie order puts before judged ones."""
        if self.before is not None and len(pairs):
            first = self.before(self.chosen[pairs], places)
            part.ahead = part.ahead + np.bincount(pairs[first], minlength=len(part.ahead))


def _limit(rounded: Rounding, dtype: np.dtype[Any], infinite: bool) -> float:
    """The largest score that does not overflow; with `infinite` also infinity, where all others fit."""
    largest = np.array([np.finfo(dtype).max], dtype)
    if np.isfinite(rounded(largest))[0]:
        return np.inf if infinite else float(largest[0])
    least = rounding_interval(np.array([np.inf], dtype), rounded).low[0]
    return float(np.nextafter(least, dtype.type(0)))
