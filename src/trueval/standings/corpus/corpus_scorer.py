"""The protocol of a scorer of a whole corpus: blocks of queries, and tiles of scores that are used once and dropped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import polars as pl

from trueval.standings.standings import Ints

T = TypeVar("T")
Found_co = TypeVar("Found_co", covariant=True)

Mask = Any  # [row, column] bools, as an array or a tensor on the device of the scores


class Tile(Protocol):
    """Scores of some queries and adjacent documents, on the device that computed them."""

    @property
    def queries(self) -> slice:
        """The queries of its rows, as indices in the block."""
        ...

    @property
    def first(self) -> int:
        """Index of the document of its first column."""
        ...

    @property
    def columns(self) -> int:
        """Number of documents."""
        ...

    @property
    def bound(self) -> float:
        """An upper bound of the magnitude of scores; NaN or infinite where not known."""
        ...

    @property
    def quick(self) -> bool:
        """Whether `count_passing` is faster than comparing all scores with one or two bounds."""
        ...

    def at_least(self, rows: Ints, bounds: object, *, beyond: bool = False) -> Mask:
        """Tell which scores of some rows are at least the row's bound, or with `beyond` above it."""
        ...

    def counts(self, mask: Mask) -> Ints:
        """[row] number of scores selected by a mask."""
        ...

    def places(self, mask: Mask, counts: Ints) -> tuple[Ints, Ints]:
        """Row, as an index into the mask, and column of each score selected by a mask, given its counts."""
        ...

    def at(self, rows: Ints, columns: Ints) -> Any:
        """Scores by row and column, as computed, in NumPy."""
        ...

    def count_passing(self, rows: Ints, low: object, high: object) -> tuple[Ints, Ints]:
        """[row, bound] number of scores of a row at or above its lower bounds, and above its upper bounds."""
        ...

    def extent(self) -> tuple[float, float]:
        """The lowest and the highest score; NaN if any score is NaN."""
        ...


class PairScores(NamedTuple):
    """Scores of single documents, from other products than those of their tiles.

    Attributes:
        scores: [pair] the scores.
        error: how far the scores in the tiles are expected to be from them. Counts are exact whatever it is; they take
            twice as long where it is too small.
    """

    scores: Any
    error: float


class TileWork(Protocol[Found_co]):
    """A function of tiles, which can be sent elsewhere for the documents of a range."""

    def __call__(self, tiles: Iterable[Tile]) -> Found_co:
        """Work on tiles."""
        ...

    def within(self, first: int, last: int) -> TileWork[Found_co]:
        """The same work with what it needs for documents from one place to before another."""
        ...


class QueryBlock(Protocol):
    """Queries that are scored together against all documents."""

    @property
    def queries(self) -> Ints:
        """Indices of the queries in the corpus scorer, adjacent among the requested ones."""
        ...

    def pairs(self, rows: Ints, places: Ints) -> PairScores:
        """Scores of single documents by row and place."""
        ...

    def map(self, work: TileWork[T]) -> list[T]:
        """Apply work to tiles that together hold every document once, a part of them per call."""
        ...


@runtime_checkable
class CorpusScorer(Protocol):
    """Scores every document of a corpus for every query, in tiles: a source of standings."""

    @property
    def name(self) -> str:
        """Name of the run that it represents."""
        ...

    @property
    def query_ids(self) -> pl.Series:
        """[query] distinct ids."""
        ...

    @property
    def doc_ids(self) -> pl.Series:
        """[document] distinct ids, by place."""
        ...

    @property
    def format(self) -> str:
        """Number format that scores are rounded to."""
        ...

    @property
    def in_order(self) -> bool:
        """Whether the document order can be used to break ties."""
        ...

    @property
    def infinite(self) -> bool:
        """Whether scores may be infinite; otherwise an infinite score has overflowed."""
        ...

    def blocks(self, queries: Ints) -> Iterable[QueryBlock]:
        """The blocks for some of its queries."""
        ...
