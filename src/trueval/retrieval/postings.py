"""Postings: which documents have a term, and what it adds to the BM25 score of each.

Documents come in batches. Those of a batch are counted at once and wait in a temporary file, 12 bytes a posting, until
all are there and the size of every term's list is known; then each batch goes to its places. In memory are at no time
more than the postings themselves, 12 bytes each, and one batch, where bm25s by itself was measured to take 47 bytes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.files.unnamed import saying_where_room_is_missing, unnamed_file

Ints = NDArray[np.int64]

ROW: Final = np.dtype([("term", "<i4"), ("document", "<i4"), ("count", "<i4")])


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


class Counting:
    """Documents on their way to postings."""

    def __init__(self) -> None:
        self._file = unnamed_file()
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
        rows = np.empty(len(found), dtype=ROW)
        rows["term"], rows["document"], rows["count"] = found >> 32, found & 0xFFFFFFFF, counts
        with saying_where_room_is_missing():
            self._file.write(rows.data)
        having = np.bincount(rows["term"], minlength=len(self._having))
        having[: len(self._having)] += self._having
        self._having = having
        self._sizes.append(len(rows))
        self._lengths.append(lengths)
        self.documents += len(lengths)
        self.empty += int(np.count_nonzero(lengths == 0))

    def postings(self, k1: float, b: float) -> Postings:
        """The postings of all documents, of which some have a term.

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
        made = Postings(np.empty(indptr[-1]), np.empty(indptr[-1], dtype=np.int32), indptr)
        free = indptr[:-1].copy()  # the next place in the list of each term
        for rows in self._batches():
            term, document, count = (rows[name] for name in ROW.names or ())
            starts = np.flatnonzero(np.diff(term, prepend=-1))
            sizes = np.diff(starts, append=len(term))
            places = np.arange(len(term)) + np.repeat(free[term[starts]] - starts, sizes)
            free[term[starts]] += sizes
            made.indices[places] = document
            made.data[places] = weights[term] * (count / (norms[document] + count))
        return made

    def close(self) -> None:
        """Give the file up."""
        with suppress(OSError):  # what a full disk has no room for is written once more
            self._file.close()

    def _batches(self) -> Any:
        with saying_where_room_is_missing():
            self._file.seek(0)
        for size in self._sizes:
            yield np.frombuffer(self._file.read(size * ROW.itemsize), dtype=ROW)
