"""Postings: the documents that contain a term, and its contribution to the BM25 score of each.

Documents come in batches. Each batch is counted at once and stored in a temporary file, 12 bytes per posting, sorted by
term. Finally the batches are merged, a range of terms at a time. Memory holds only the postings of one such range; all
of them, 12 bytes each, only if they are few, else they are on disk.
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
IN_MEMORY: Final = 1 << 29  # bytes of postings in memory; more go to disk
TAKEN: Final = 1 << 20  # postings merged at once from all batches


class Postings(NamedTuple):
    """The posting lists of all terms, one after another; documents ascend in each. Attribute names are those of bm25s.

    Attributes:
        data: [posting] contribution of the term to the score of the document.
        indices: [posting] place of the document.
        indptr: [term + 1] start of each term's list.
    """

    data: NDArray[np.float64]
    indices: NDArray[np.int32]
    indptr: Ints


class PostingRows(NamedTuple):
    """Postings before assembly, by term, and by document within each.

    Attributes:
        terms: [row] term numbers.
        documents: [row] places of the documents.
        counts: [row] term frequencies.
    """

    terms: Integers
    documents: Integers
    counts: Integers


class PostingsBuilder:
    """Collects the term counts of documents for postings.

    Attributes:
        close: releases the temporary file, at the latest when the builder is garbage-collected.
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
            terms: [word] term numbers, document by document.
            lengths: [document] number of its terms.

        Raises:
            InputError: the disk is full.
        """
        documents = np.repeat(np.arange(self.documents, self.documents + len(lengths)), lengths)
        # Term and document are packed into one number: sorted, each term's list is contiguous, and its documents
        # ascend.
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
        """Size of the counts on disk in bytes."""
        return POSTING * sum(self._sizes)

    def postings(self, k1: float, b: float) -> Postings:
        """The postings of all documents, at least one of which has a term; may be called repeatedly.

        Args:
            k1: saturation of term frequency: with a larger k1, further occurrences count more.
            b: strength of length normalization.

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
        """Yield the rows of all batches by term, a range of terms at a time; documents ascend in each."""
        mapped = _map_file(self._file)
        numbers = np.frombuffer(mapped, dtype=np.int32)
        batches = [PostingRows(*part.reshape(3, -1)) for part in np.split(numbers, 3 * np.cumsum(self._sizes)[:-1])]
        first, begins = 0, [0] * len(batches)
        while first < len(indptr) - 1:
            # As many terms as have this many postings together, but at least one.
            last = max(int(np.searchsorted(indptr, indptr[first] + TAKEN, side="right")) - 1, first + 1)
            stops = [int(np.searchsorted(batch.terms, last)) for batch in batches]
            some = [[part[i:j] for part in batch] for batch, i, j in zip(batches, begins, stops, strict=True)]
            taken = PostingRows(*map(np.concatenate, zip(*some, strict=True)))
            order = np.argsort(taken.terms, kind="stable")
            yield PostingRows(*(part[order] for part in taken))
            first, begins = last, stops
            if hasattr(mapped, "madvise"):  # pages read from the file count as memory of this process until released
                mapped.madvise(mmap.MADV_DONTNEED)


def _give_up(file: IO[bytes]) -> None:
    with suppress(OSError):  # a write that failed on a full disk is retried
        file.close()


def _map_file(file: IO[bytes]) -> mmap.mmap:
    """A temporary file as a memory map; the file may be closed."""
    with explain_full_disk():
        file.flush()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class _Column:
    """An array that is filled part by part, in memory or on disk.

    Args:
        dtype: dtype of the numbers.
        count: total number of elements.
        on_disk: whether to write to a temporary file, which is finally memory-mapped.
    """

    def __init__(self, dtype: type[np.generic], count: int, on_disk: bool) -> None:
        self.file = open_temporary_file() if on_disk else None
        self.numbers = np.empty(0 if on_disk else count, dtype=dtype)
        self.filled = 0

    def add(self, part: NDArray[np.generic]) -> None:
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
