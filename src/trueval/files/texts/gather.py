"""Rows of texts held as a mapping: in memory where they are few, on disk where they are many; both behave alike."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError, Place
from trueval.files.source.memory import budget, check_memory
from trueval.files.texts.row import TextRow, place_of
from trueval.files.texts.store import Writer

IN_MEMORY: Final = 1 << 28  # bytes of memory; texts that take more go to the disk
ROW: Final = 200  # bytes of memory for a text beside its characters: id, places in dicts and lists (docs/files.md)
ROW_ON_DISK: Final = 100  # and for one on disk, without its id
BATCH: Final = 1 << 14  # texts between two looks at the memory
LARGE: Final = 1 << 24  # characters that a batch may have before it is full


class Gathered(NamedTuple):
    """Texts by id.

    Attributes:
        texts: in the order of their rows; a dict, or a StoredTexts.
        empty: how many have no text.
        example: id of the first of them; None without any.
        keys: of the first row; what an error can say of fields that are in none.
    """

    texts: Mapping[str, str]
    empty: int
    example: str | None
    keys: tuple[str, ...]


def gather(rows: Iterable[TextRow], text_of: Callable[[Mapping[str, Any]], str]) -> Gathered:
    """Hold the text of each row, in one pass.

    Args:
        rows: with ids that differ.
        text_of: from the values of a row to its text.

    Raises:
        InputError: an id is there twice, with both places; texts take more memory or disk than there is; or what the
            rows raise.

    >>> rows = [TextRow("made", 0, "a", {"text": "x"}, False), TextRow("made", 1, "b", {}, False)]
    >>> gather(rows, lambda values: values.get("text", ""))
    Gathered(texts={'a': 'x', 'b': ''}, empty=1, example='b', keys=('text',))
    """
    held = _Held()
    try:
        for row in rows:
            held.add(row, text_of(row.values))
        found = held.done()
    except InputError:
        held.refuse_repeated()  # what is at fault first is said first
        raise
    finally:
        held.close()
    return found


class _Held:
    """What was read so far."""

    def __init__(self) -> None:
        self.ids, self.texts = list[str](), list[str]()  # not yet on disk: all of them while there are few
        self.written = 0  # texts on disk
        self.writer: Writer | None = None
        self.hashes: list[NDArray[np.int64]] = []
        self.hashed = 0  # of self.ids
        self.taken, self.characters = 0, 0  # bytes of memory; characters since the last look
        # Where numbers of rows do not follow each other: row → file, number there, whether it counts lines.
        self.jumps: list[tuple[int, str, int, bool]] = []
        self.following: tuple[str, int] = ("", -1)
        self.empty, self.example, self.keys = 0, None, ()  # type: int, str | None, tuple[str, ...]

    def add(self, row: TextRow, text: str) -> None:
        """Take one text."""
        if self.following != (row.source, row.number):
            self.jumps.append((self.written + len(self.ids), row.source, row.number, row.has_lines))
            self.keys = self.keys or tuple(row.values)
        self.following = (row.source, row.number + 1)
        self.ids.append(row.id)
        self.texts.append(text)
        self.characters += len(text)
        if not text:
            self.empty += 1
            self.example = self.example or row.id
        if len(self.ids) - self.hashed >= BATCH or self.characters >= LARGE:
            self._look(row)

    def done(self) -> Gathered:
        """All texts.

        Raises:
            InputError: an id is there twice, or the disk is full.
        """
        if self.writer is not None:
            self._write(self.writer)
        self.refuse_repeated()
        texts: Mapping[str, str]
        if self.writer is None:
            texts = dict(zip(self.ids, self.texts, strict=True))
        else:
            hashes = np.concatenate(self.hashes)
            self.hashes.clear()
            texts, self.writer = self.writer.done(hashes), None
        return Gathered(texts, self.empty, self.example, self.keys)

    def close(self) -> None:
        """Give up what nobody will read."""
        if self.writer is not None:
            self.writer.close()

    def _look(self, row: TextRow) -> None:
        """See what memory is taken, and go to the disk where it is much."""
        if self.writer is None:
            fresh = zip(self.ids[self.hashed :], self.texts[self.hashed :], strict=True)
            self.taken += sum(sys.getsizeof(id) + sys.getsizeof(text) + ROW for id, text in fresh)
            if self.taken > min(IN_MEMORY, budget(self.taken, self.taken)):
                self.writer, self.taken = Writer(), 0
        self._hash()
        if self.writer is not None:
            self.taken += sum(len(id) + ROW_ON_DISK for id in self.ids)
            self._write(self.writer)
            check_memory(self.taken + BATCH * ROW_ON_DISK, row.place, held=self.taken)
        self.characters = 0

    def _hash(self) -> None:
        fresh = self.ids[self.hashed :]
        self.hashes.append(np.fromiter(map(hash, fresh), np.int64, len(fresh)))
        self.hashed = len(self.ids)

    def _write(self, writer: Writer) -> None:
        self._hash()
        writer.put(self.ids, self.texts)
        self.written += len(self.ids)
        self.ids, self.texts, self.hashed = [], [], 0

    def refuse_repeated(self) -> None:
        """Refuse an id that is there twice; of several the first one that was read.

        Raises:
            InputError: there is one.
        """
        self._hash()
        hashes = np.concatenate(self.hashes)
        if len(hashes) == 0:
            return
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        # Equal ids have equal hashes, and stand side by side in the order in which they were read.
        later = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
        ids: Sequence[str] | pl.Series = self.ids if self.writer is None else self.writer.ids
        for at in later[np.argsort(order[later], kind="stable")].tolist():
            place = int(order[at])
            if place >= len(ids):  # read, but not yet written: the disk is full
                return
            begin = int(np.searchsorted(ordered, ordered[at]))
            first = next((int(each) for each in order[begin:at] if ids[int(each)] == ids[place]), None)
            if first is not None:
                raise self._place(place).error(
                    f"the id {ids[place]!r} appears twice, first at {self._place(first)}. Ids must differ. Remove one."
                )

    def _place(self, row: int) -> Place:
        """Where a row was read."""
        start, source, number, has_lines = next(jump for jump in reversed(self.jumps) if jump[0] <= row)
        return place_of(source, number + row - start, has_lines=has_lines)
