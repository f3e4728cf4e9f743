"""Texts on disk: ids and places in memory, the texts themselves in a file that is gone when the process ends."""

from __future__ import annotations

import hashlib
import os
import struct
import threading
import weakref
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from contextlib import suppress
from itertools import chain, islice, pairwise
from typing import IO, Final, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.files.temporary_files import explain_full_disk, open_temporary_file

Ints = NDArray[np.int64]

LENGTH: Final = struct.Struct("<Q")
BLOCK: Final = 1 << 22  # bytes of texts read at once during iteration
TOGETHER: Final = 1 << 10  # texts hashed at once
KEYS: Final = 1 << 16  # ids that are Python strings at once


class TextHash:
    """The SHA-256 of texts in their order; parts of different lengths cannot hash alike."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, texts: Iterable[bytes]) -> None:
        """Take further texts."""
        texts = iter(texts)
        while some := list(islice(texts, TOGETHER)):
            # The length before each text: otherwise the end of one could be the start of the next.
            self._digest.update(b"".join(chain.from_iterable(zip(map(LENGTH.pack, map(len, some)), some, strict=True))))

    def hexdigest(self) -> str:
        """Of all texts so far."""
        return self._digest.hexdigest()


def as_bytes(text: str) -> bytes:
    r"""Encode a text for hashing and storage: JSON may contain a lone surrogate, which UTF-8 refuses.

    >>> as_bytes("é\ud800")
    b'\xc3\xa9\xed\xa0\x80'
    """
    return text.encode("utf-8", "surrogatepass")


class TextFile(Sequence[str]):
    """Texts by index, read from the file on access.

    Args:
        file: file open for reading; closed when it is garbage-collected.
        ends: [text] end of each, in bytes.
    """

    def __init__(self, file: IO[bytes], ends: Ints) -> None:
        self._file, self.ends = file, ends
        self._lock = threading.Lock()
        weakref.finalize(self, file.close)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        """The text of a place, or those of some."""
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        place = range(len(self))[at]
        return self._block(place, place + 1)[0]

    def __iter__(self) -> Iterator[str]:
        """All texts, of which one block is in memory."""
        begin = 0
        while begin < len(self):
            full = self._start(begin) + BLOCK
            stop = max(int(np.searchsorted(self.ends, full, side="right")), begin + 1)
            yield from self._block(begin, stop)
            begin = stop

    def content(self) -> bytes:
        """All texts, one after another, in memory."""
        return self._read(0, self._start(len(self)))

    def _start(self, place: int) -> int:
        return int(self.ends[place - 1]) if place else 0

    def _block(self, begin: int, stop: int) -> list[str]:
        first, ends = self._start(begin), self.ends[begin:stop].tolist()
        data = self._read(first, ends[-1])
        bounds = pairwise([0, *(end - first for end in ends)])
        return [data[start:end].decode("utf-8", "surrogatepass") for start, end in bounds]

    def _read(self, start: int, stop: int) -> bytes:
        """Some bytes; never through a place that other threads or forked processes move."""
        pieces, at = [], start
        while at < stop:
            if hasattr(os, "pread"):
                piece = os.pread(self._file.fileno(), stop - at, at)
            else:
                with self._lock:
                    self._file.seek(at)
                    piece = self._file.read(stop - at)
            if not piece:
                raise InputError("The temporary file of the texts was cut by another program. Run the command again.")
            pieces.append(piece)
            at += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class StoredTexts(Mapping[str, str]):
    """Texts by id, in order, stored on disk.

    Args:
        ids: String, in the order of the texts, all distinct.
        texts: texts by index.
        hashes: [text] Python's hash of each id, ascending; valid only within this process.
        order: [text] index of the text with each hash.
        sha256: hash of ids and texts, one after another, as in `trueval.collection.text_hash`.
    """

    def __init__(self, ids: pl.Series, texts: TextFile, hashes: Ints, order: Ints, sha256: str) -> None:
        self.ids, self.texts, self.sha256 = ids, texts, sha256
        self._hashes = hashes
        self._places = order.astype(np.uint32) if len(order) < 1 << 32 else order

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        """The ids, of which some are strings of Python at once."""
        for begin in range(0, len(self.ids), KEYS):
            yield from self.ids.slice(begin, KEYS).to_list()

    def __getitem__(self, id: str) -> str:
        """The text of an id."""
        place = self._place(id)
        if place is None:
            raise KeyError(id)
        return self.texts[place]

    def __contains__(self, id: object) -> bool:
        """Whether there is a text of an id; its text is not read."""
        return self._place(id) is not None

    def __reduce__(self) -> tuple[object, ...]:
        """For other processes: the texts themselves, since neither the file nor hashes of Python are theirs."""
        return _restore, (self.ids, self.texts.content(), self.texts.ends, self.sha256)

    def values(self) -> ValuesView[str]:
        """The texts, read block by block."""
        return _Values(self)

    def items(self) -> ItemsView[str, str]:
        """Ids and texts, read block by block."""
        return _Items(self)

    def _place(self, id: object) -> int | None:
        if not isinstance(id, str):
            return None
        wanted = hash(id)
        at = int(np.searchsorted(self._hashes, wanted))
        while at < len(self._hashes) and self._hashes[at] == wanted:
            place = int(self._places[at])
            if self.ids[place] == id:
                return place
            at += 1
        return None


def _restore(ids: pl.Series, content: bytes, ends: Ints, sha256: str) -> StoredTexts:
    """Texts that another process stored, in a file of this one."""
    file = open_temporary_file()
    with explain_full_disk():
        file.write(content)
        file.flush()
    hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
    order = np.argsort(hashes, kind="stable")
    return StoredTexts(ids, TextFile(file, ends), hashes[order], order, sha256)


class _Values(ValuesView[str]):
    def __init__(self, stored: StoredTexts) -> None:
        super().__init__(stored)
        self._stored = stored

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored.texts)


class _Items(ItemsView[str, str]):
    def __init__(self, stored: StoredTexts) -> None:
        super().__init__(stored)
        self._stored = stored

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self._stored, self._stored.texts, strict=True)


class Writer:
    """Writes texts to disk; memory holds the id, hash and end of each."""

    def __init__(self) -> None:
        self._file = open_temporary_file()
        self._ids: list[pl.Series] = []
        self._lengths: list[Ints] = []
        self._digest = TextHash()

    def put(self, ids: Sequence[str], texts: Iterable[str]) -> None:
        """Write further texts.

        Raises:
            InputError: the disk is full.
        """
        data = [as_bytes(text) for text in texts]
        with explain_full_disk():
            self._file.write(b"".join(data))
        self._ids.append(pl.Series("id", ids, dtype=pl.String))
        self._lengths.append(np.fromiter(map(len, data), np.int64, len(data)))
        self._digest.add(chain.from_iterable(zip(map(str.encode, ids), data, strict=True)))

    @property
    def ids(self) -> pl.Series:
        """The ids so far."""
        self._ids = [pl.concat(self._ids, rechunk=True)] if self._ids else [pl.Series("id", [], dtype=pl.String)]
        return self._ids[0]

    def finish(self, hashes: Ints, order: Ints) -> StoredTexts:
        """Finish writing, and return the texts.

        Args:
            hashes: as in StoredTexts.
            order: as in StoredTexts.

        Raises:
            InputError: the disk is full.
        """
        with explain_full_disk():
            self._file.flush()
        ends = np.cumsum(np.concatenate(self._lengths))
        self._lengths.clear()
        return StoredTexts(self.ids, TextFile(self._file, ends), hashes, order, self._digest.hexdigest())

    def close(self) -> None:
        """Give the file up."""
        with suppress(OSError):  # a write that failed on a full disk is retried
            self._file.close()
