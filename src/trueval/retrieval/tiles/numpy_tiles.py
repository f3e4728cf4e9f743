"""Tiles of scores in NumPy: products of float32 on all processors, and what standings ask of them.

Each processor multiplies tiles of its own on one thread, where the package threadpoolctl is installed to say so: scores
do not depend on how many processors there are, and comparing a tile goes on beside the next product. Where the kernel
was compiled it counts a whole tile at once; elsewhere tiles are compared a slab at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from trueval.numerics import round_to
from trueval.standings.kernel import passing

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

WIDTH: Final = 8192  # columns of a tile. NumPy copies shorter rows into a buffer of as many before it compares them
SLAB: Final = 1 << 18  # scores that are compared at once: 1 MiB of float32, which stays in the processor's cache
SLACK: Final = 1.01  # lengths are sums of float32, which the rounding of so many terms makes too short
LANES: Final = 8  # flags of one byte in a word of 64 bits
WORDS: Final = 128  # words that are added at once: a byte holds 255


@dataclass(frozen=True, eq=False)
class Scratch:
    """What the tiles of one thread are written to, one after another.

    Attributes:
        scores: [row, column] of a product.
        masks: two arrays [row, column] of a slab, columns padded to whole sums of words; None for whole tiles.
    """

    scores: NDArray[Any]
    masks: tuple[Bools, Bools] | None


@dataclass(frozen=True, eq=False)
class ArrayTile:
    """Scores of some queries and adjacent documents (trueval.standings.corpus.corpus_scorer.Tile).

    Attributes:
        scores: [row, column].
        queries: of the rows.
        first: place of the first document.
        bound: what no score exceeds.
        masks: of the thread; None if they are made when they are needed.
    """

    scores: NDArray[Any]
    queries: slice
    first: int
    bound: float
    masks: tuple[Bools, Bools] | None

    @property
    def columns(self) -> int:
        """Documents."""
        return int(self.scores.shape[1])

    @property
    def quick(self) -> bool:
        """Whether the kernel counts."""
        return passing.is_compiled

    def at_least(self, rows: Ints, bounds: NDArray[np.generic], *, beyond: bool = False) -> Bools:
        """Tell which scores of some rows are at least a bound of the row, or with `beyond` above it.

        The next call with the same `beyond` overwrites the result.
        """
        mask = np.empty((len(rows), _whole(self.columns)), bool) if self.masks is None else self.masks[beyond]
        mask = mask[: len(rows)]
        mask[:, self.columns :] = False  # a wider tile may have been here
        scores = self._of(rows)
        (np.greater if beyond else np.greater_equal)(scores, bounds[:, None], out=mask[:, : self.columns])
        return mask

    def counts(self, mask: Bools) -> Ints:
        """[row] how many scores a mask has chosen.

        Flags are bytes of 0 and 1, so eight of them are added as one number; no byte runs over within WORDS.
        """
        words = mask.view(np.uint64).reshape(len(mask), -1, WORDS).sum(axis=2)
        counts: Ints = words.view(np.uint8).reshape(len(mask), -1).sum(axis=1, dtype=np.int64)
        return counts

    def places(self, mask: Bools, counts: Ints) -> tuple[Ints, Ints]:
        """Row, as an index into the mask, and column of each score that a mask has chosen, by its counts."""
        row = np.repeat(np.arange(len(mask)), counts)
        # Most words of eight flags are 0 where few scores are chosen; only the others are looked into.
        words = np.flatnonzero(mask.view(np.uint64).reshape(-1) != 0)
        flag = np.flatnonzero(mask.reshape(-1, LANES)[words])
        return row, words[flag >> 3] * LANES + (flag & 7) - row * mask.shape[1]

    def at(self, rows: Ints, columns: Ints) -> NDArray[Any]:
        """Scores by row and column."""
        found: NDArray[Any] = self.scores[rows, columns]
        return found

    def count_passing(self, rows: Ints, low: NDArray[np.generic], high: NDArray[np.generic]) -> tuple[Ints, Ints]:
        """[row, bound] how many scores of a row are at least its lower bounds, and above its upper ones."""
        if passing.is_compiled:
            return passing.count_passing(self._of(rows), low, high)
        ascending = np.sort(self.scores[rows], axis=1)
        below = [row.searchsorted(bounds, "left") for row, bounds in zip(ascending, low, strict=True)]
        up_to = [row.searchsorted(bounds, "right") for row, bounds in zip(ascending, high, strict=True)]
        return self.columns - np.array(below), self.columns - np.array(up_to)

    def extent(self) -> tuple[float, float]:
        """The lowest and the highest score; NaN if one is not a number."""
        return float(self.scores.min()), float(self.scores.max())

    def _of(self, rows: Ints) -> NDArray[Any]:
        """The scores of some rows, which are different."""
        return self.scores if len(rows) == len(self.scores) else self.scores[rows]


@dataclass(frozen=True)
class ArrayProducts:
    """Products of arrays of NumPy.

    Attributes:
        dtype: that products are computed in.
        storage: format that documents are rounded to before; None for as they are.
    """

    dtype: str
    storage: str | None
    width: ClassVar[int] = WIDTH

    def matrix(self, rows: NDArray[np.generic], height: int, *, stored: bool = False) -> NDArray[Any]:
        """Vectors in the format of the products, padded with rows of zeros.

        Args:
            rows: [row, dimension].
            height: rows of the result.
            stored: whether they are documents, which the storage rounds.
        """
        if stored and self.storage is not None:
            rows = round_to(rows, self.storage)
        if len(rows) == height and rows.dtype == self.dtype:
            return np.ascontiguousarray(rows)
        matrix = np.zeros((height, rows.shape[1]), self.dtype)
        matrix[: len(rows)] = rows
        return matrix

    def stack(self, texts: Sequence[NDArray[np.generic]], each: int | None = None) -> NDArray[Any]:
        """The tokens of some texts one after another, those of every text padded with zeros to as many."""
        if each is None:
            return np.concatenate(texts)
        rows = np.zeros((len(texts), each, texts[0].shape[1]), texts[0].dtype)
        for row, text in zip(rows, texts, strict=True):
            row[: len(text)] = text
        return rows.reshape(-1, rows.shape[2])

    @np.errstate(over="ignore", invalid="ignore")
    def length(self, matrix: NDArray[Any]) -> float:
        """A length that no vector exceeds, that of all as one; NaN or infinite if one is not finite."""
        flat = matrix.reshape(-1)
        return SLACK * float(np.sqrt(flat @ flat))

    @np.errstate(over="ignore", invalid="ignore")  # what is no number is refused where it is compared, by its ids
    def product(
        self, queries: NDArray[np.generic], documents: NDArray[np.generic], scratch: Scratch | None
    ) -> NDArray[Any]:
        """[query, document] products."""
        product: NDArray[Any] = np.matmul(queries, documents.T, out=None if scratch is None else scratch.scores)
        return product

    @np.errstate(over="ignore", invalid="ignore")
    def best(self, products: NDArray[np.generic], starts: Ints, each: int, form: str) -> NDArray[Any]:
        """[query, document] sums over the tokens of a query of its best product with a token of the document.

        Args:
            products: [query token, document token].
            starts: [document + 1] first token of each, and the end.
            each: tokens of a query.
            form: format that each best product is rounded to.
        """
        best = np.maximum.reduceat(products, starts[:-1], axis=1)
        if form not in ("float32", "float64"):
            best = round_to(best, form).astype(self.dtype)
        sums: NDArray[Any] = best.reshape(-1, each, best.shape[1]).sum(axis=1)
        return sums

    def pick(self, scores: NDArray[np.generic], rows: Ints, columns: Ints) -> NDArray[Any]:
        """Scores by row and column."""
        found: NDArray[Any] = scores[rows, columns]
        return found

    def scratch(self, height: int, width: int) -> Scratch:
        """What a thread needs for tiles of this shape."""
        scores = np.empty((height, width), self.dtype)
        if passing.is_compiled:
            return Scratch(scores, None)
        slab = min(height, max(1, SLAB // width))
        masks = np.zeros((2, slab, _whole(width)), dtype=bool)
        return Scratch(scores, (masks[0], masks[1]))

    def tiles(self, scores: NDArray[np.generic], first: int, bound: float, scratch: Scratch) -> Iterator[ArrayTile]:
        """Slabs of a tile, each of some queries; the kernel needs one only."""
        slab = len(scores) if scratch.masks is None else len(scratch.masks[0])
        for row in range(0, len(scores), slab):
            part = scores[row : row + slab]
            yield ArrayTile(part, slice(row, row + len(part)), first, bound, scratch.masks)

    def workers(self) -> int:
        """Threads that multiply tiles of their own."""
        return (os.cpu_count() or 1) if _controller() is not None else 1

    def alone(self) -> AbstractContextManager[Any]:
        """Within it every product runs on the thread that asks for it."""
        controller = _controller()
        return nullcontext() if controller is None else controller.limit(limits=1, user_api="blas")


def _whole(columns: int) -> int:
    """Columns of a mask, whole sums of words."""
    return -(-columns // (LANES * WORDS)) * LANES * WORDS


@cache  # looking through the libraries of a process takes milliseconds
def _controller() -> Any:
    """What sets the threads of the libraries behind NumPy's products; None where the package is not installed."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
