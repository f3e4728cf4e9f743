"""Exhaustive scoring: every document of a corpus for every query, straight from embeddings, a tile at a time.

    evaluate_corpus(Embeddings(queries, documents, query_ids, doc_ids), judgments, "nDCG@10")

Embeddings are a source of standings (trueval.standings.counting.count): every judged document is placed among all
documents, no list ends at a depth, no group of equal scores is cut, and what is in memory beside the embeddings is some
tiles, whatever the corpus. Arrays of NumPy, memory maps among them, are multiplied on the processors, tensors of torch
on their device.

    product   s = q · d, accumulated in float32
    maxsim    s = Σ_i max_j q_i · d_j over tokens, each maximum rounded to the format (Khattab & Zaharia 2020, eq. 3)

Scores are rounded once to the format, as `trueval.scoring` does it; so standings of low and of high-precision scoring
cost the same. All tiles have one shape, padded with zeros: the last bits of a float32 product depend on its shape, and
those of a product with a single query differ for nine scores in ten.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import gcd, prod
from typing import Any, ClassVar, Final, Generic, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError, PolicyError
from trueval.evaluation.content_hashes import ContentHashes
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import Measures, score
from trueval.evaluation.notes import notes_of
from trueval.evaluation.pairing import unjudged_queries
from trueval.evaluation.scores import Scores
from trueval.forks import need_polars
from trueval.judgments import Judgments
from trueval.numerics import find_format
from trueval.policy.conventions import Policy
from trueval.retrieval.tiles.mapped_rows import MappedRows
from trueval.retrieval.tiles.numpy_tiles import ArrayProducts
from trueval.retrieval.tiles.tile_columns import LEAST, cut, pad_size
from trueval.retrieval.tiles.torch_tiles import TensorProducts
from trueval.standings.corpus.corpus_scorer import PairScores, TileWork
from trueval.standings.counting import counter
from trueval.standings.groups import starts_of
from trueval.threads import Executor, Needs, as_executor, error_of_part, in_threads

T = TypeVar("T")
Ints = NDArray[np.int64]

HEIGHT: Final = 512  # rows of a tile: queries, or tokens of queries
TILES: Final = 8  # tiles of a shard
LIBRARIES: Final = (
    96 << 20
)  # bytes of a process that has imported NumPy, polars and this: 64 MiB, and buffers of products
EVERY: Final = slice(None)
PROBED: Final = 64  # columns that a product has twice, to tell whether scores depend on the column
# Scores of other products may be this many times as far apart as those of the columns that were compared.
MARGIN: Final = 2
SCORINGS: Final = ("product", "maxsim")


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Embeddings of queries and of a whole corpus, as a source of standings.

    Args:
        queries: [query, dimension], NumPy or torch, in the model's dtype; for maxsim one [token, dimension] each.
        documents: [document, dimension], or one [token, dimension] each, of the same kind; memory maps stay on disk.
        query_ids: [query] distinct ids.
        doc_ids: [document] distinct ids, in the order of the documents.
        scoring: product or maxsim.
        format: that scores are rounded to; float32 on a narrower model is high-precision scoring (P-A eq. 3).
        storage: format that documents are rounded to before they are multiplied; None for as they are.
        name: name of the run that they represent.
        in_order: whether the document order can break ties (tie order "input").
        device: where torch multiplies, such as "cuda"; None for where the embeddings are.
        height: number of rows in a tile.
        width: number of columns in a tile.
        executor: counts the tiles of arrays in other processes or on other machines, with the same result; a memory map
            is sent by its file, which workers must see.

    Raises:
        InputError: shapes do not fit, or an id appears twice.
        PolicyError: a format or scoring is unknown.

    >>> found = Embeddings(np.eye(2), np.array([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]), ["a", "b"], ["x", "y", "z"])
    >>> scores = evaluate_corpus(found, {"a": ["y"], "b": ["x"]}, "RR")
    >>> [scores.mean("RR").lowest, scores.mean("RR").highest] == [(1 / 3 + 1 / 3) / 2, (1 / 2 + 1 / 3) / 2]
    True
    """

    queries: Any
    documents: Any
    query_ids: Any
    doc_ids: Any
    scoring: str = "product"
    format: str = "float32"
    storage: str | None = None
    name: str = "corpus"
    in_order: bool = False
    device: str | None = None
    height: int = HEIGHT
    width: int | None = None
    executor: Executor | None = field(default=None, repr=False)
    on: ArrayProducts | TensorProducts = field(init=False, repr=False)
    infinite: ClassVar[bool] = False  # products of finite numbers that are infinite have overflowed

    def __post_init__(self) -> None:
        if self.scoring not in SCORINGS:
            raise PolicyError(f"Scoring of a corpus must be one of {', '.join(SCORINGS)}. Got {self.scoring!r}.")
        find_format(self.format)
        for what in ("query_ids", "doc_ids"):
            ids = pl.Series(what, getattr(self, what), dtype=pl.String)
            texts = getattr(self, what.replace("doc_ids", "documents").replace("query_ids", "queries"))
            if len(ids) != len(texts) or not len(ids):
                raise InputError(f"{self.name}: {what} must be one for each embedding. Got {len(ids)}, {len(texts)}.")
            if ids.n_unique() < len(ids):
                twice = ids.filter(ids.is_duplicated())[0]
                raise InputError(f"{self.name}: the id {twice!r} appears twice in {what}. Ids must differ.")
            object.__setattr__(self, what, ids)
        ends = {tuple(np.shape(self.queries[0]))[-1:], tuple(np.shape(self.documents[0]))[-1:]}
        axes = 2 if self.scoring == "maxsim" else 1
        if len(ends) > 1 or {np.ndim(self.queries[0]), np.ndim(self.documents[0])} != {axes}:
            raise InputError(
                f"{self.name}: queries and documents must be vectors of one dimension, for maxsim one array of tokens "
                f"each. Got {tuple(np.shape(self.queries[0]))} and {tuple(np.shape(self.documents[0]))} as the first."
            )
        dtype = "float64" if self.format == "float64" else "float32"
        plain = self.device is None and isinstance(self.documents[0], np.ndarray)
        object.__setattr__(
            self,
            "on",
            ArrayProducts(dtype, self.storage) if plain else TensorProducts(dtype, self.storage, self.device),
        )

    def part(self, queries: object, documents: object) -> Embeddings:
        """Some of the embeddings, to be counted elsewhere: without ids, which few errors name and which weigh much."""
        part = copy(self)
        part.__dict__.pop("tokens", None)
        none = self.doc_ids[:0]
        given = {"queries": queries, "documents": documents, "query_ids": none, "doc_ids": none, "executor": None}
        for name, value in given.items():
            object.__setattr__(part, name, value)
        return part

    def blocks(self, queries: Ints) -> Iterator[_Block]:
        """Blocks of some queries, in their order."""
        if not len(queries):
            return
        each = 1 if self.scoring == "product" else self._longest(queries)
        blocks = -(-len(queries) * each // self.height)
        most = min(-(-len(queries) // blocks), max(1, self.height // each))
        kind = _Products if self.scoring == "product" else _MaxSims
        for start in range(0, len(queries), most):
            yield kind(self, queries[start : start + most], most, each)

    def _longest(self, queries: Ints) -> int:
        """Maximum number of tokens in some queries; every query needs at least one."""
        lengths = np.array([len(self.queries[query]) for query in queries.tolist()])
        if not lengths.all():
            empty = self.query_ids[int(queries[lengths.argmin()])]
            raise InputError(f"{self.name}: every query needs at least one token for MaxSim. {empty!r} has none.")
        return int(lengths.max())

    @cached_property
    def tokens(self) -> Ints:
        """[document] number of tokens; every document needs at least one.

        Raises:
            InputError: one has none.
        """
        lengths = np.array([len(document) for document in self.documents])
        if not lengths.all():
            empty = self.doc_ids[int(lengths.argmin())]
            raise InputError(f"{self.name}: every document needs at least one token for MaxSim. {empty!r} has none.")
        return lengths


def evaluate_corpus(
    source: Embeddings,
    judgments: Any,
    measures: Measures | None = None,
    *,
    policy: Policy | None = None,
    executor: Executor | None = None,
    **choices: Any,
) -> Scores:
    """Evaluate embeddings over the whole corpus, exactly under ties, without a run.

    Args:
        source: scorer of the corpus.
        judgments: as in `evaluate`.
        measures: as in `evaluate`.
        policy: as in `evaluate`. Tie orders need ids: "docid-desc", "docid-asc" or "random"; "input" where the source
            is in an order.
        executor: as in `Embeddings`, of which another one is replaced.
        choices: as in `evaluate`.

    Returns:
        Scores, as those of a run that lists every document for every query. How many documents tie in all is not known.

    Raises:
        InputError: no query of the source is judged, a score is not a number, or it overflows its format.
        PolicyError: a choice is unknown, or needs lists.
    """
    need_polars()
    if executor is not None:
        source = replace(source, executor=as_executor(executor))
    judgments = Judgments.of(judgments)
    parsed, chosen = fill_defaults(judgments, measures, policy, choices)
    unjudged = unjudged_queries(source, judgments)
    count = counter(source, judgments)
    notes = (*judgments.notes, *notes_of(source, judgments, count(chosen), unjudged, parsed, chosen))
    found = score(source.name, judgments.query_ids.to_list(), count, parsed, chosen, unjudged, notes)
    return replace(found, content=ContentHashes({}, judgments))


@dataclass(frozen=True)
class CorpusShard(Generic[T]):
    """Some tiles of a block of queries, as a worker gets them.

    Attributes:
        name: in messages.
        kind: class of the block.
        source: the queries of the block, and the documents of the tiles.
        mapped: the documents, if they are of a memory map; they are not sent.
        sizes: as in `_Block`.
        tiles: [tile + 1] where each starts, the columns of all, and the place of the first document.
        work: what is done with the tiles.
    """

    name: str
    kind: type[_Block]
    source: Embeddings
    mapped: MappedRows | None
    sizes: tuple[int, int]
    tiles: tuple[Ints, int, int]
    work: TileWork[T]

    @property
    def needs(self) -> Needs:
        """One processor, and memory: the documents, and a tile with its scores and what it is converted from."""
        source, columns = self.source, self.tiles[1]
        documents = [self.mapped] if self.mapped is not None else source.documents
        arrays = [documents] if isinstance(documents, np.ndarray) else documents
        stored = sum(prod(each.shape) * each.dtype.itemsize for each in arrays)
        width, item = arrays[0].shape[-1], np.dtype(source.on.dtype).itemsize
        rows = pad_size(self.sizes[0] * self.sizes[1])
        # A tile is rounded through float64 where the storage is another one.
        tile = columns * width * (item + (8 if source.storage else 0)) + rows * (columns + width) * item
        return Needs(1, 0, LIBRARIES + stored + tile)

    def __str__(self) -> str:
        """Its name in messages."""
        return self.name

    def __getstate__(self) -> dict[str, object]:
        """What is sent: of a memory map its file alone."""
        sent = copy(self.source)
        if self.mapped is not None:
            object.__setattr__(sent, "documents", None)
        return {**self.__dict__, "source": sent}

    def block(self) -> _Block:
        """The block, where this runs."""
        if self.mapped is not None and self.source.documents is None:
            object.__setattr__(self.source, "documents", self.mapped.open())
        block = self.kind(self.source, np.arange(len(self.source.queries)), *self.sizes)
        block.cuts, block.columns, block.first = self.tiles
        return block


def count_shard(shard: CorpusShard[T]) -> T:
    """Count a shard where this runs.

    Raises:
        InputError: the file of a memory map is not here, or memory runs out; the machine is named.
    """
    try:
        return shard.block().count(shard.work)
    except (MemoryError, OSError) as error:
        raise error_of_part(shard, error, "Standings are counted from the start.") from error


class _Block(ABC):
    """Some queries, multiplied with all documents (trueval.standings.corpus.corpus_scorer.QueryBlock).

    Args:
        source: the embeddings.
        queries: indices of the queries.
        most: number of queries in the largest block: all blocks have the same shape.
        each: number of rows per query: one for its vector, or the token count of the longest query.
    """

    def __init__(self, source: Embeddings, queries: Ints, most: int, each: int = 1) -> None:
        self.source, self.queries, self.most, self.each = source, queries, most, each
        self.on: Any = source.on
        self.matrix = self.on.matrix(self.rows(), pad_size(most * each))
        self.length = self.on.length(self.matrix)
        self.first = 0  # place of the first document of the source
        self.cuts, self.columns = cut(self.sizes(np.arange(len(source.documents))), self.width)

    @abstractmethod
    def rows(self) -> Any:
        """[row, dimension] of the queries, in their own format."""

    @abstractmethod
    def sizes(self, places: Ints) -> Ints:
        """Columns of some documents."""

    @abstractmethod
    def scores(
        self, places: slice | Ints, columns: int, queries: slice = EVERY, scratch: object = None
    ) -> tuple[Any, float]:
        """[query, document] scores from a product of so many columns, and what none of them exceeds in magnitude."""

    def pairs(self, rows: Ints, places: Ints) -> PairScores:
        """Scores of single documents, side by side in products with some of the queries."""
        found = np.zeros(len(rows), self.on.dtype)
        some = 2 * LEAST // gcd(2 * LEAST, self.each)  # queries of a product

        def fill(starts: Iterable[int]) -> None:
            for start in starts:
                mine = np.flatnonzero((rows >= start) & (rows < start + some))
                wanted, which = np.unique(places[mine], return_inverse=True)
                cuts, columns = cut(self.sizes(wanted), self.width)
                for first, last in pairwise(cuts.tolist()):
                    scores, _ = self.scores(wanted[first:last], columns, slice(start, start + some))
                    here = (which >= first) & (which < last)
                    found[mine[here]] = self.on.pick(scores, rows[mine[here]] - start, which[here] - first)

        with self.on.alone():
            self._share(fill, range(0, len(self.queries), some))
            return PairScores(found, self._error(np.unique(places)))

    def _error(self, places: Ints) -> float:
        """How far scores of the same documents in other columns may be from each other.

        The last bits of a product may depend on the column: with the kernels of OpenBLAS for AVX2, those of 3 % of the
        scores. One product, which has the first of the documents twice, tells whether they do. Its second half is
        shuffled: kernels that repeat every few columns could else have both of each document in columns of the same
        kind, and nothing would differ.
        """
        sizes = self.sizes(places)
        count = max(1, int(sizes.cumsum().searchsorted(PROBED, "right")))
        shuffled = np.random.default_rng(0).permutation(count)
        twice = np.concatenate([places[:count], places[shuffled]])
        scores, _ = self.scores(twice, pad_size(2 * int(sizes[:count].sum())))
        row, column = np.indices((len(self.queries), count)).reshape(2, -1)
        first, second = (self.on.pick(scores, row, at) for at in (shuffled[column], count + column))
        with np.errstate(invalid="ignore"):
            error = MARGIN * float(np.abs(first - second).max())
        return error if np.isfinite(error) else 0.0  # what is no number is refused where it is compared

    def map(self, work: TileWork[T]) -> list[T]:
        """Give the tiles of all documents to some work, to each call those of one thread, or of one shard."""
        if self.source.executor is not None and isinstance(self.on, ArrayProducts) and len(self.cuts) > TILES + 1:
            return list(self.source.executor.map(count_shard, self._shards(work)))
        with self.on.alone():
            return self._share(lambda tiles: work(self._tiles(tiles)), range(len(self.cuts) - 1))

    def _share(self, work: Callable[[Iterable[int]], T], numbers: Sequence[int]) -> list[T]:
        """Give each thread its share of some numbers."""
        shares = min(self.on.workers(), len(numbers))
        return in_threads(lambda share: work(numbers[share::shares]), range(shares))

    def _shards(self, work: TileWork[T]) -> Iterator[CorpusShard[T]]:
        """So many tiles each, whatever there are of workers."""
        starts = range(0, len(self.cuts) - 1, TILES)
        chosen = self.queries if isinstance(self.source.queries, np.ndarray) else self.queries.tolist()
        queries = (
            [self.source.queries[each] for each in chosen] if isinstance(chosen, list) else self.source.queries[chosen]
        )
        for number, start in enumerate(starts):
            cuts = self.cuts[start : start + TILES + 1]
            first, last = int(cuts[0]), int(cuts[-1])
            documents = self.source.documents[first:last]
            yield CorpusShard(
                f"{self.source.name}, shard {number + 1} of {len(starts)}",
                type(self),
                self.source.part(queries, documents),
                MappedRows.of(documents),
                (self.most, self.each),
                (cuts - first, self.columns, first),
                work.within(first, last),
            )

    def count(self, work: TileWork[T]) -> T:
        """Give all tiles to some work on this thread."""
        with self.on.alone():
            return work(self._tiles(range(len(self.cuts) - 1)))

    @property
    def width(self) -> int:
        """Columns that a tile has at least, where there are as many."""
        return self.source.width or self.on.width

    def _tiles(self, numbers: Iterable[int]) -> Iterator[Any]:
        """Some of the tiles of all documents."""
        scratch = self.on.scratch(len(self.matrix), self.columns)  # new memory costs time when it is touched first
        for number in numbers:
            first, last = self.cuts[number : number + 2].tolist()
            scores, bound = self.scores(slice(first, last), self.columns, scratch=scratch)
            yield from self.on.tiles(scores[: len(self.queries), : last - first], self.first + first, bound, scratch)


class _Products(_Block):
    """One vector for each query and document."""

    def rows(self) -> Any:
        """[query, dimension]."""
        return self.source.queries[self.queries]

    def sizes(self, places: Ints) -> Ints:
        """One column for each document."""
        return np.ones(len(places), dtype=np.int64)

    def scores(
        self, places: slice | Ints, columns: int, queries: slice = EVERY, scratch: object = None
    ) -> tuple[Any, float]:
        """The products themselves."""
        documents = self.on.matrix(self.source.documents[places], columns, stored=True)
        # Cauchy and Schwarz: no product exceeds those of the lengths.
        bound = self.length * self.on.length(documents)
        return self.on.product(self.matrix[queries], documents, scratch), bound


class _MaxSims(_Block):
    """One vector for each token. Queries are padded with zeros, which add 0 to the sum."""

    def rows(self) -> Any:
        """[query token, dimension], every query padded to as many."""
        return self.on.stack([self.source.queries[query] for query in self.queries.tolist()], self.each)

    def sizes(self, places: Ints) -> Ints:
        """A column for each token."""
        return self.source.tokens[places]

    def scores(
        self, places: slice | Ints, columns: int, queries: slice = EVERY, scratch: object = None
    ) -> tuple[Any, float]:
        """Sums of the best products."""
        documents = self.source.documents
        chosen = documents[places] if isinstance(places, slice) else [documents[place] for place in places.tolist()]
        starts = starts_of(np.array([len(document) for document in chosen]))
        tokens = self.on.matrix(self.on.stack(chosen), columns, stored=True)
        bound = self.each * self.length * self.on.length(tokens)
        first, last, _ = queries.indices(len(self.queries))
        # All of them fill the matrix up, as in every block, also in the last one, which has fewer.
        rows = self.matrix if queries == EVERY else self.matrix[first * self.each : pad_size(last * self.each)]
        products = self.on.product(rows, tokens, scratch)[: (last - first) * self.each, : starts[-1]]
        return self.on.best(products, starts, self.each, self.source.format), bound
