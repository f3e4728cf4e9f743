"""Rows of texts held as a mapping: in memory where they are few, on disk where they are many; both behave alike."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError, Place
from trueval.files.source.memory_estimate import budget, check_memory
from trueval.files.texts.text_row import TextRow, place_of
from trueval.files.texts.text_store import Writer

Ints = NDArray[np.int64]

IN_MEMORY: Final = 1 << 28  # bytes of memory; texts that take more are stored on disk
ROW: Final = 200  # bytes of memory for a text beside its characters: id, places in dicts and lists (docs/files.md)
ROW_ON_DISK: Final = 100  # and for one on disk, without its id
BATCH: Final = 1 << 14  # texts between two checks of memory
TOGETHER: Final = 64  # rows per batch; few, since each may be large
LARGE: Final = 1 << 24  # maximum characters of a batch


class TextMapping(NamedTuple):
    """Texts by id.

    Attributes:
        texts: texts in row order; a dict, or a StoredTexts.
        empty: number of rows without a text.
        example: id of the first of them; None without any.
        keys: keys of the first row, for errors about missing fields.
    """

    texts: Mapping[str, str]
    empty: int
    example: str | None
    keys: tuple[str, ...]


def gather(
    rows: Iterable[TextRow], text_of: Callable[[Mapping[str, object]], str], tell: Callable[[int], object] | None = None
) -> TextMapping:
    """Collect the text of each row, in one pass.

    Args:
        rows: rows with distinct ids.
        text_of: function from the values of a row to its text.
        tell: called repeatedly with the number of texts so far; None for no reports.

    Raises:
        InputError: an id is there twice, with both places; texts take more memory or disk than there is; or what the
            rows raise.

    >>> rows = [TextRow("made", 0, "a", {"text": "x"}, False), TextRow("made", 1, "b", {}, False)]
    >>> gather(rows, lambda values: values.get("text", ""))
    TextMapping(texts={'a': 'x', 'b': ''}, empty=1, example='b', keys=('text',))
    """
    held, coming = _TextBuffer(), iter(rows)
    try:
        while some := _next(held, coming, text_of):
            if held.take(some, text_of) and tell is not None:
                tell(held.written + len(held.ids))
        return held.finish()
    finally:
        held.close()


def _next(held: _TextBuffer, rows: Iterator[TextRow], text_of: Callable[[Mapping[str, object]], str]) -> list[TextRow]:
    """The next rows; if one raises an error, a repeated id before it is reported first."""
    some: list[TextRow] = []
    try:
        some.extend(islice(rows, TOGETHER))
    except InputError:
        if some:  # rows before the fault
            held.take(some, text_of)
        held.refuse_repeated()
        raise
    return some


class _TextBuffer:
    """What was read so far."""

    def __init__(self) -> None:
        self.ids, self.texts = list[str](), list[str]()  # texts not yet on disk; all of them while there are few
        self.written = 0  # texts on disk
        self.writer: Writer | None = None
        self.hashes: list[Ints] = []
        self.hashed = 0  # of self.ids
        self.taken, self.characters = 0, 0  # bytes of memory; characters since the last check
        # Where row numbers are not consecutive: row → file, number there, whether it counts lines.
        self.jumps: list[tuple[int, str, int, bool]] = []
        self.following: tuple[str, int] = ("", -1)
        self.empty = 0
        self.example: str | None = None
        self.keys: tuple[str, ...] = ()

    def take(self, rows: Sequence[TextRow], text_of: Callable[[Mapping[str, object]], str]) -> bool:
        """Take the texts of some rows, and return whether a batch is full."""
        first, last = rows[0], rows[-1]
        if self.following != (first.source, first.number) or last[:2] != (first.source, first.number + len(rows) - 1):
            self._note_jumps(rows)
        self.following = (last.source, last.number + 1)
        texts = [text_of(row.values) for row in rows]
        self.ids += [row.id for row in rows]
        self.texts += texts
        self.characters += sum(map(len, texts))
        if "" in texts:
            self.empty += texts.count("")
            self.example = self.example or rows[texts.index("")].id
        full = len(self.ids) - self.hashed >= BATCH or self.characters >= LARGE
        if full:
            self._look(last)
        return full

    def _note_jumps(self, rows: Sequence[TextRow]) -> None:
        self.keys = self.keys or tuple(rows[0].values)
        following = self.following
        for at, row in enumerate(rows, self.written + len(self.ids)):
            if following != (row.source, row.number):
                self.jumps.append((at, row.source, row.number, row.has_lines))
            following = row.source, row.number + 1

    def finish(self) -> TextMapping:
        """All texts, as a mapping.

        Raises:
            InputError: an id is there twice, or the disk is full.
        """
        hashes, order = self.refuse_repeated()
        texts: Mapping[str, str]
        if self.writer is None:
            texts = dict(zip(self.ids, self.texts, strict=True))
        else:
            texts, self.writer = self.writer.finish(hashes, order), None
        return TextMapping(texts, self.empty, self.example, self.keys)

    def close(self) -> None:
        """Release the texts, which will not be read."""
        if self.writer is not None:
            self.writer.close()

    def _look(self, row: TextRow) -> None:
        """Check the memory in use, and move to disk if it exceeds the limit."""
        if self.writer is None:
            fresh = zip(self.ids[self.hashed :], self.texts[self.hashed :], strict=True)
            self.taken += sum(sys.getsizeof(id) + sys.getsizeof(text) + ROW for id, text in fresh)
            if self.taken > min(IN_MEMORY, budget(self.taken, self.taken) // 2):  # moving them takes as much again
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

    def refuse_repeated(self) -> tuple[Ints, Ints]:
        """Refuse a repeated id; of several, the first one read is reported.

        Returns:
            The hashes of all ids in ascending order, and the row of each.

        Raises:
            InputError: there is one.
        """
        if self.writer is None:
            self._hash()
        else:
            self._write(self.writer)
        hashes = np.concatenate(self.hashes)
        self.hashes = [hashes]
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        # Equal ids have equal hashes, and are adjacent in the order in which they were read.
        later = np.flatnonzero(hashes[1:] == hashes[:-1]) + 1
        ids: Sequence[str] | pl.Series = self.ids if self.writer is None else self.writer.ids
        for at in later[np.argsort(order[later], kind="stable")].tolist():
            row, begin = int(order[at]), int(np.searchsorted(hashes, hashes[at]))
            first = next((each for each in order[begin:at].tolist() if ids[each] == ids[row]), None)
            if first is not None:
                raise self._place(row).error(
                    f"the id {ids[row]!r} appears twice, first at {self._place(first)}. Ids must differ. Remove one."
                )
        return hashes, order

    def _place(self, row: int) -> Place:
        """Where a row was read."""
        start, source, number, has_lines = next(jump for jump in reversed(self.jumps) if jump[0] <= row)
        return place_of(source, number + row - start, has_lines=has_lines)
