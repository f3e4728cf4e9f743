"""Counting over a whole corpus: scores come in tiles, are compared with those of the judged documents, and are gone.

There is no list of the best documents, so no group of equal scores is cut, and memory holds some tiles only.

The last bits of a score depend on the shape of the product that it is computed in. So a judged document is compared by
the score that it has in its own tile: it is computed once before, in a tile of like shape, and read again when its own
tile comes. Where the two differ, the queries are counted once more, by the scores that were read.

A score is never rounded. Rounding keeps order, so all scores that would be rounded to that of a judged document are
between two bounds, and two comparisons count what is above it and what is tied with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import polars as pl

from trueval.errors import InputError
from trueval.numerics import rounding_interval
from trueval.standings.groups import ranges, starts_of
from trueval.standings.standings import Bools, Floats, Ints

T = TypeVar("T")

# Documents that reach the lowest judged score are taken out of their tile and placed one by one where they are at most
# this share of a row for each score that they must be compared with. Of more, whole rows are compared: it costs less.
FEW: Final = 1 / 256
# Judged scores that whole rows are compared with, one after another; for more, rows are sorted.
MANY: Final = 16
# Documents tied with judged ones whose order is looked at together.
AT_ONCE: Final = 1 << 20
# How often the scores that a tile gave must be given by it again.
ATTEMPTS: Final = 3

Mask = Any  # [row, column] of bools, an array or a tensor where the scores are
Rounding = Callable[[Any], Floats]
Before = Callable[[Ints, Ints], Bools]


class Tile(Protocol):
    """Scores of some queries and adjacent documents, where they were computed."""

    @property
    def queries(self) -> slice:
        """The queries of its rows, among those of the block."""
        ...

    @property
    def first(self) -> int:
        """Place of the document of its first column."""
        ...

    @property
    def columns(self) -> int:
        """Documents."""
        ...

    @property
    def bound(self) -> float:
        """What no score exceeds in magnitude; NaN or infinite where that is not known."""
        ...

    def reaching(self, rows: Ints, bounds: Any, *, beyond: bool = False) -> Mask:
        """Tell which scores of some rows are at least a bound of the row, or with `beyond` above it."""
        ...

    def counts(self, mask: Mask) -> Ints:
        """[row] how many scores a mask has chosen."""
        ...

    def places(self, mask: Mask, counts: Ints) -> tuple[Ints, Ints]:
        """Row, as an index into the mask, and column of each score that a mask has chosen, by its counts."""
        ...

    def at(self, rows: Ints, columns: Ints) -> Any:
        """Scores by row and column, in NumPy, as they were computed."""
        ...

    def ranked(self, rows: Ints, low: Any, high: Any) -> tuple[Ints, Ints]:
        """[row, bound] how many scores of a row are at least its lower bounds, and above its upper ones."""
        ...

    def extent(self) -> tuple[float, float]:
        """The lowest and the highest score; NaN if one is not a number."""
        ...


class QueryBlock(Protocol):
    """Some queries that are scored together, and all documents."""

    @property
    def queries(self) -> Ints:
        """Indices of the queries in the corpus scorer, adjacent among those that were asked for."""
        ...

    def pairs(self, rows: Ints, places: Ints) -> Any:
        """Scores of single documents by row and place, computed in tiles shaped like those of all documents."""
        ...

    def map(self, work: Callable[[Iterable[Tile]], T]) -> list[T]:
        """Give tiles that together hold every document once to some work, a part of them to each call."""
        ...


@runtime_checkable
class CorpusScorer(Protocol):
    """Scores every document of a corpus for every query, in tiles: a source of standings."""

    @property
    def name(self) -> str:
        """Of the run that it stands for."""
        ...

    @property
    def query_ids(self) -> pl.Series:
        """[query] different ids."""
        ...

    @property
    def doc_ids(self) -> pl.Series:
        """[document] different ids, by place."""
        ...

    @property
    def format(self) -> str:
        """That scores are rounded to."""
        ...

    @property
    def in_order(self) -> bool:
        """Whether the order of the documents is one to break ties by."""
        ...

    @property
    def infinite(self) -> bool:
        """Whether scores may be infinite; otherwise one that is has overflowed."""
        ...

    def blocks(self, queries: Ints) -> Iterable[QueryBlock]:
        """The blocks of some of its queries."""
        ...


class Pairs(NamedTuple):
    """Judged documents that the corpus holds.

    Attributes:
        query: [pair] index of the query in the corpus scorer.
        place: [pair] place of the document.
    """

    query: Ints
    place: Ints


@dataclass(frozen=True, eq=False)
class Counts:
    """Where judged documents stand in the corpus.

    Attributes:
        score: [pair] as rounded.
        above: [pair] documents with a higher score.
        tied: [pair] documents with the same score, itself included.
        ahead: [pair] those of them that a tie order puts before it; zeros without one.
    """

    score: Floats
    above: Ints
    tied: Ints
    ahead: Ints


def count_corpus(source: CorpusScorer, pairs: Pairs, rounded: Rounding, before: Before | None) -> Counts:
    """Count the documents above and tied with each judged one, over the whole corpus.

    Args:
        source: gives the scores.
        pairs: the judged documents.
        rounded: what decides which scores are equal; it keeps order and makes infinite what overflows.
        before: from pairs and places to whether the tie order puts the document of that place first; None for no order.

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


class _Bounds(NamedTuple):
    """The bounds of the judged documents of some queries, by query and ascending.

    Attributes:
        low: [row, judged] the least score that counts as equal; infinite where a query has fewer.
        high: [row, judged] the largest.
        pair: [row, judged] index of the judged document in its block; -1 where a query has fewer.
        same: [row, judged] the first column with these bounds: those of a query are the same, or do not overlap.
    """

    low: Any
    high: Any
    pair: Ints
    same: Ints


class _Block:
    """The judged documents of one block of queries.

    Args:
        source: of the scores, for messages.
        block: the queries.
        pairs: all judged documents.
        chosen: indices of those of the block.
        rounded: as in count_corpus.
        before: as in count_corpus.
    """

    def __init__(
        self,
        source: CorpusScorer,
        block: QueryBlock,
        pairs: Pairs,
        chosen: Ints,
        rounded: Rounding,
        before: Before | None,
    ) -> None:
        self.source, self.block, self.chosen, self.rounded, self.before = source, block, chosen, rounded, before
        self.row = np.searchsorted(block.queries, pairs.query[chosen])
        self.place = pairs.place[chosen]
        self.by_place = np.argsort(self.place, kind="stable")
        self.places = self.place[self.by_place]

    def count(self, counts: Counts) -> None:
        """Count by the scores of the tiles of the corpus themselves."""
        scores = self.block.pairs(self.row, self.place)
        self.limit = _limit(self.rounded, scores.dtype, self.source.infinite)
        for _ in range(ATTEMPTS):
            self._check(scores)
            parts = self.block.map(partial(self._counted, self._bounds(scores)))
            # Each judged document is in one tile, so of one part.
            read = scores.copy()
            for part in parts:
                read[part.held] = part.read
            if np.array_equal(read, scores):
                break
            scores = read
        else:
            raise InputError(
                f"{self.source.name}: the same product has given other scores each time. Standings need a product that "
                "can be repeated: compute on one thread, or turn deterministic algorithms on."
            )
        counts.score[self.chosen] = self.rounded(scores)
        for name in ("above", "tied", "ahead"):
            getattr(counts, name)[self.chosen] = sum(getattr(part, name) for part in parts)

    def _check(self, scores: Any) -> None:
        """Refuse judged scores that have no place."""
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

    def _bounds(self, scores: Any) -> _Bounds:
        """The bounds of the scores that are rounded to the same as each judged one."""
        low, high = rounding_interval(scores, self.rounded)
        order = np.lexsort((low, self.row))
        row = self.row[order]
        start = starts_of(np.bincount(row, minlength=len(self.block.queries)))
        column = np.arange(len(row)) - start[row]
        shape = len(self.block.queries), int(np.diff(start).max())
        lows, highs, pairs = np.full(shape, np.inf, low.dtype), np.full(shape, np.inf, low.dtype), np.full(shape, -1)
        for filled, values in zip((lows, highs, pairs), (low[order], high[order], order), strict=True):
            filled[row, column] = values
        columns = np.broadcast_to(np.arange(shape[1]), shape)
        new = np.ones(shape, dtype=bool)
        new[:, 1:] = lows[:, 1:] != lows[:, :-1]
        return _Bounds(lows, highs, pairs, np.maximum.accumulate(np.where(new, columns, 0), axis=1))

    def _counted(self, bounds: _Bounds, tiles: Iterable[Tile]) -> _Part:
        """What some tiles add."""
        part = _Part(len(self.place))
        for tile in tiles:
            self._refuse(tile)
            self._read(tile, part)
            _Counting(tile, bounds, part, None if self.before is None else self.place).count()
            if part.waiting > AT_ONCE:
                self._order(part)
        self._order(part)
        return part

    def _refuse(self, tile: Tile) -> None:
        """Refuse scores that are no numbers, or overflow: in low precision they would tie."""
        if tile.bound < self.limit:
            return
        lowest, highest = tile.extent()
        if -self.limit <= lowest and highest <= self.limit:
            return
        rows = np.arange(tile.queries.stop - tile.queries.start)
        scores = tile.at(np.repeat(rows, tile.columns), np.tile(np.arange(tile.columns), len(rows)))
        lost = int(np.flatnonzero(~(np.abs(scores) <= self.limit))[0])
        row, column = divmod(lost, tile.columns)
        raise self._error(float(scores[lost]), tile.queries.start + row, tile.first + column)

    def _read(self, tile: Tile, part: _Part) -> None:
        """Keep the scores of the judged documents that the tile holds."""
        first, last = np.searchsorted(self.places, [tile.first, tile.first + tile.columns])
        held = self.by_place[first:last]
        row = self.row[held]
        held = held[(row >= tile.queries.start) & (row < tile.queries.stop)]
        if len(held):
            part.keep(held, tile.at(self.row[held] - tile.queries.start, self.place[held] - tile.first))

    def _order(self, part: _Part) -> None:
        """Add what a tie order puts before judged documents, of what was found tied with them."""
        pairs, places = part.taken()
        if self.before is not None and len(pairs):
            first = self.before(self.chosen[pairs], places)
            part.ahead += np.bincount(pairs[first], minlength=len(part.ahead))


class _Part:
    """What some tiles add to the counts of the judged documents of a block, and the scores of those they hold."""

    def __init__(self, pairs: int) -> None:
        self.above, self.tied, self.ahead = (np.zeros(pairs, dtype=np.int64) for _ in range(3))
        self.waiting = 0
        self._held: list[Ints] = []
        self._read: list[Any] = []
        self._ties: list[tuple[Ints, Ints]] = []

    def keep(self, held: Ints, scores: Any) -> None:
        """Remember the scores of some judged documents."""
        self._held.append(held)
        self._read.append(scores)

    def tie(self, pairs: Ints, places: Ints) -> None:
        """Remember documents that are tied with judged ones, until their order is looked at."""
        self._ties.append((pairs, places))
        self.waiting += len(pairs)

    def taken(self) -> tuple[Ints, Ints]:
        """What was tied, which is forgotten then."""
        pairs, places = zip(*self._ties, strict=True) if self._ties else ((), ())
        self._ties, self.waiting = [], 0
        nothing = np.zeros(0, dtype=np.int64)
        return np.concatenate([nothing, *pairs]), np.concatenate([nothing, *places])

    @property
    def held(self) -> Ints:
        """Judged documents in the tiles."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self._held])

    @property
    def read(self) -> Any:
        """Their scores."""
        return np.concatenate(self._read) if self._read else np.zeros(0)


class _Counting:
    """Counts one tile.

    From the lowest judged score of each query up: where many documents reach it, its whole row is compared with the
    bounds of that score; once few reach the next one, those are taken out and placed one by one.

    Args:
        tile: the scores.
        bounds: of the judged documents of the block.
        part: what the counts are added to.
        own: [judged] places of the judged documents, where it matters which documents tie with them; None elsewhere.
    """

    def __init__(self, tile: Tile, bounds: _Bounds, part: _Part, own: Ints | None) -> None:
        self.tile, self.part, self.own = tile, part, own
        self.bounds = _Bounds(*(each[tile.queries] for each in bounds))

    def count(self) -> None:
        """Add what the tile holds above and tied with each judged document."""
        tile, bounds = self.tile, self.bounds
        rows, judged = np.arange(len(bounds.low)), bounds.low.shape[1]
        for column in range(judged):
            low = bounds.low[rows, column]
            reached = tile.reaching(rows, low)
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
            beyond = tile.reaching(rows, bounds.high[rows, column], beyond=True)
            above = tile.counts(beyond)
            self._add(bounds.pair[rows, column], above, counts - above)
            self._find(rows, reached, beyond, counts - above, column)

    def _add(self, pairs: Ints, above: Ints, tied: Ints) -> None:
        """Add counts of judged documents; those that are not there have the number -1."""
        there = pairs >= 0
        self.part.above[pairs[there]] += above[there]
        self.part.tied[pairs[there]] += tied[there]

    def _find(self, rows: Ints, reached: Mask, beyond: Mask, tied: Ints, column: int) -> None:
        """Remember which documents are tied with one judged document of each row."""
        if self.own is None:
            return
        tile, pairs = self.tile, self.bounds.pair[rows, column]
        inside = (self.own[pairs] >= tile.first) & (self.own[pairs] < tile.first + tile.columns)
        some = np.flatnonzero(tied > inside)  # what ties with a document of the tile once is that document
        if len(some):
            row, place = tile.places(reached[some] ^ beyond[some], tied[some])
            self._tie(pairs[some[row]], tile.first + place)

    def _tie(self, pairs: Ints, places: Ints) -> None:
        """Remember what is tied with judged documents, but for themselves."""
        if self.own is not None:
            other = (pairs >= 0) & (self.own[pairs] != places)
            if other.any():
                self.part.tie(pairs[other], places[other])

    def _place(self, rows: Ints, reached: Mask, counts: Ints, column: int) -> None:
        """Count the few documents of some rows that reach the judged score of a column: by binary search, each."""
        if not len(rows) or not counts.any():
            return
        row, place = self.tile.places(reached, counts)
        row = rows[row]
        scores = self.tile.at(row, place)
        last = _last_reached(self.bounds.low, row, scores, column)
        tied = np.flatnonzero(scores <= self.bounds.high.ravel()[last])
        # How many judged scores, from the lowest, a document reaches, and how many it is above.
        width = self.bounds.low.shape[1]
        to = last - row * width + 1
        above_to = to.copy()
        above_to[tied] = np.maximum(self.bounds.same.ravel()[last[tied]], column)
        at_least, above = (_passing(row, each, self.bounds.low.shape)[:, column:] for each in (to, above_to))
        self._add(self.bounds.pair[:, column:].ravel(), above.ravel(), (at_least - above).ravel())
        times = to[tied] - above_to[tied]
        judged = self.bounds.pair[np.repeat(row[tied], times), ranges(above_to[tied], times)]
        self._tie(judged, np.repeat(self.tile.first + place[tied], times))

    def _rank(self, rows: Ints, column: int) -> None:
        """Count by sorting the scores of each row, for all judged scores from a column on."""
        bounds, pair = self.bounds, self.bounds.pair[rows, column:]
        at_least, above = self.tile.ranked(rows, bounds.low[rows, column:], bounds.high[rows, column:])
        tied = np.where(pair >= 0, at_least - above, 0)
        self._add(pair.ravel(), above.ravel(), tied.ravel())
        for each in range(pair.shape[1]):
            some = np.flatnonzero(tied[:, each] > 0)
            if len(some) and self.own is not None:
                low, high = (bound[rows[some], column + each] for bound in (bounds.low, bounds.high))
                masks = self.tile.reaching(rows[some], low), self.tile.reaching(rows[some], high, beyond=True)
                self._find(rows[some], *masks, tied[some, each], column + each)


def _last_reached(low: Any, row: Ints, scores: Any, first: int) -> Ints:
    """The last lower bound of its row that each score is at or above, as an index into the flat bounds.

    Args:
        low: [row, judged] ascending.
        row: [score] its row.
        scores: [score], at or above the bound in column `first`.
        first: the column.
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


def _passing(row: Ints, to: Ints, shape: Sequence[int]) -> Ints:
    """[row, judged] how many documents pass each bound, from how many bounds each document passes."""
    rows, width = shape
    ends = np.bincount(row * (width + 1) + to, minlength=rows * (width + 1)).reshape(rows, width + 1)
    passing: Ints = ends[:, :0:-1].cumsum(axis=1)[:, ::-1]
    return passing


def _limit(rounded: Rounding, dtype: np.dtype[Any], infinite: bool) -> float:
    """The largest score that does not overflow; with `infinite` also one that is infinite, where all others fit."""
    largest = np.array([np.finfo(dtype).max], dtype)
    if np.isfinite(rounded(largest))[0]:
        return np.inf if infinite else float(largest[0])
    least = rounding_interval(np.array([np.inf], dtype), rounded).low[0]
    return float(np.nextafter(least, dtype.type(0)))
