"""The role of what scores a whole corpus: blocks of queries, and tiles of scores that are looked at and gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar, runtime_checkable

import polars as pl

from trueval.standings.standings import Ints

T = TypeVar("T")

Mask = Any  # [row, column] of bools, an array or a tensor where the scores are


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

    @property
    def quick(self) -> bool:
        """Whether `ranked` takes less time than comparing all scores with a bound or two."""
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

    def pairs(self, rows: Ints, places: Ints, rounded: Callable[[Any], Any]) -> Any:
        """Scores of single documents by row and place, computed in tiles shaped like those of all documents.

        What `rounded` makes equal may differ from the score in the document's own tile; the less else differs, the
        fewer tiles are computed.
        """
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
