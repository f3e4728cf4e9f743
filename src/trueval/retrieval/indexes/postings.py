"""Postings: which documents have a term, and what it adds to the BM25 score of each.

Documents come in batches. Those of a batch are counted at once and wait in a temporary file, 12 bytes a posting, sorted
by term. When all are there, some terms after others are taken out of every batch, and their lists are complete. So many
postings are in memory as are taken at once; all of them, 12 bytes each, only where they are few, and else on disk.
"""

from __future__ import annotations

import mmap
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.files.temporary_files import explain_full_disk, open_temporary_file

Ints = NDArray[np.int64]
Integers = NDArray[np.int32]

POSTING: Final = 12  # bytes
IN_MEMORY: Final = 1 << 29  # bytes of postings; more go to the disk
TAKEN: Final = 1 << 20  # postings that are taken out of all batches at once


class Postings(NamedTuple):
    """The lists of all terms, one after another; documents rise in each. The names are those of bm25s.

    Attributes:
        data: [posting] what the term adds to the score of the document.
        indices: [posting] the document.
        indptr: [term + 1] where the list of each term starts.
    """

    data: NDArray[np.float64]
    indices: NDArray[np.int32]
    indptr: Ints


class PostingRows(NamedTuple):
    """Postings on their way, by term, and by document in each.

    Attributes:
        terms: [row] numbers.
        documents: [row] that have them.
        counts: [row] how often.
    """

    terms: Integers
    documents: Integers
    counts: Integers


class PostingsBuilder:
    """Documents on their way to postings.

    Attributes:
        close: gives the file up, at the latest when nobody holds the counts any more.
    """

    def __init__(self) -> None:
        self._file = open_temporary_file()
        self.close = weakref.finalize(self, _give_up, self._file)
        self._sizes: list[int] = []
        self._lengths: list[Ints] = []
        self._having: Ints = np.zeros(0, dtype=np.int64)
        self.documents = self.empty = 0

    def add(self, terms: NDArray[np.int32], lengths: Ints) -> None:
        """Count the terms of further documents.

        Args:
            terms: [word] numbers, those of one document after those of another.
            lengths: [document] how many are its.

        Raises:
            InputError: the disk is full.
        """
        documents = np.repeat(np.arange(self.documents, self.documents + len(lengths)), lengths)
        # One number holds both, terms first: sorted, the list of each term is in one piece, and its documents rise.
        found, counts = np.unique(terms.astype(np.int64) << 32 | documents, return_counts=True)
        rows = [part.astype(np.int32) for part in (found >> 32, found & 0xFFFFFFFF, counts)]
        with explain_full_disk():
            for part in rows:
                self._file.write(part.data)
        having = np.bincount(rows[0], minlength=len(self._having))
        having[: len(self._having)] += self._having
        self._having = having
        self._sizes.append(len(found))
        self._lengths.append(lengths)
        self.documents += len(lengths)
        self.empty += int(np.count_nonzero(lengths == 0))

    @property
    def bytes(self) -> int:
        """Of the counts on the disk."""
        return POSTING * sum(self._sizes)

    def postings(self, k1: float, b: float) -> Postings:
        """The postings of all documents, of which some have a term; to be asked for as often as wanted.

        Args:
            k1: how slowly further occurrences of a term count less.
            b: how much long documents count less.

        Raises:
            InputError: the disk is full.
        """
        lengths = np.concatenate(self._lengths)
        norms = k1 * ((1 - b) + b * lengths / lengths.mean())
        weights = np.log(1 + (len(lengths) - self._having + 0.5) / (self._having + 0.5))
        indptr = np.concatenate(([0], np.cumsum(self._having)))
        count, on_disk = int(indptr[-1]), bool(indptr[-1] * POSTING > IN_MEMORY)
        data, indices = _Column(np.float64, count, on_disk), _Column(np.int32, count, on_disk)
        for rows in self._by_term(indptr):
            indices.add(rows.documents)
            data.add(weights[rows.terms] * (rows.counts / (norms[rows.documents] + rows.counts)))
        return Postings(data.whole(), indices.whole(), indptr)

    def _by_term(self, indptr: Ints) -> Iterator[PostingRows]:
        """The rows of all batches by term, some terms at a time; documents rise in each."""
        mapped = _map_file(self._file)
        numbers = np.frombuffer(mapped, dtype=np.int32)
        batches = [PostingRows(*part.reshape(3, -1)) for part in np.split(numbers, 3 * np.cumsum(self._sizes)[:-1])]
        first, begins = 0, [0] * len(batches)
        while first < len(indptr) - 1:
            # As many terms as have so many postings together, but one at least.
            last = max(int(np.searchsorted(indptr, indptr[first] + TAKEN, side="right")) - 1, first + 1)
            stops = [int(np.searchsorted(batch.terms, last)) for batch in batches]
            some = [[part[i:j] for part in batch] for batch, i, j in zip(batches, begins, stops, strict=True)]
            taken = PostingRows(*map(np.concatenate, zip(*some, strict=True)))
            order = np.argsort(taken.terms, kind="stable")
            yield PostingRows(*(part[order] for part in taken))
            first, begins = last, stops
            if hasattr(mapped, "madvise"):  # what was read of the file is memory of this process until it says so
                mapped.madvise(mmap.MADV_DONTNEED)


def _give_up(file: IO[bytes]) -> None:
    with suppress(OSError):  # what a full disk has no room for is written once more
        file.close()


def _map_file(file: IO[bytes]) -> mmap.mmap:
    """A temporary file as memory; it may be closed."""
    with explain_full_disk():
        file.flush()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class _Column:
    """Numbers that come one part after another, in memory or on disk.

    Args:
        dtype: dtype of the numbers.
        count: how many come in all.
        on_disk: whether they go to a temporary file, which is mapped in the end.
    """

    def __init__(self, dtype: type[np.generic], count: int, on_disk: bool) -> None:
        self.file = open_temporary_file() if on_disk else None
        self.numbers = np.empty(0 if on_disk else count, dtype=dtype)
        self.filled = 0

    def add(self, part: NDArray[Any]) -> None:
        if self.file is None:
            self.numbers[self.filled : self.filled + len(part)] = part
            self.filled += len(part)
            return
        with explain_full_disk():
            self.file.write(np.ascontiguousarray(part, dtype=self.numbers.dtype).data)

    def whole(self) -> NDArray[Any]:
        if self.file is None:
            return self.numbers
        with self.file:
            return np.frombuffer(_map_file(self.file), dtype=self.numbers.dtype)
