"""Sizes declared in an Arrow file, checked before memory is allocated for them.

A damaged length makes the Arrow reader allocate terabytes, which kills the process. Source: Arrow columnar format, IPC
file format (File.fbs, Message.fbs), encoded as FlatBuffers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple

from trueval.errors import Place
from trueval.files.source.memory_estimate import check_memory

MAGIC = b"ARROW1"
CONTINUATION = 0xFFFFFFFF
# Bytes of memory per row, value and decompressed byte, as measured: docs/files.md. polars represents a string as a view
# of 16 bytes.
ROW, VALUE, BYTE = 130, 16, 2
MOST_VALUES = 1 << 47  # maximum rows of a column: even as bits they would fill the address space
# Field numbers of File.fbs and Message.fbs, and sizes of their structs in bytes.
DICTIONARIES, BATCHES = 2, 3
HEADER_TYPE, HEADER = 1, 2
DICTIONARY_BATCH, RECORD_BATCH = 2, 3
LENGTH, NODES, BUFFERS, COMPRESSION = 0, 1, 2, 3
DICTIONARY_DATA = 1
BLOCK, NODE_OR_BUFFER = 24, 16


class ArrowDamageError(Exception):
    """The file contradicts itself."""


class _Table:
    """A FlatBuffers table: a place in the data, and a list of where its fields are."""

    def __init__(self, data: bytes | mmap, at: int) -> None:
        self.data, self.at = data, at
        self.fields = at - _integer(data, at, "<i")
        self.size = _integer(data, self.fields, "<H")

    @classmethod
    def root(cls, data: bytes | mmap, at: int) -> _Table:
        return cls(data, at + _integer(data, at, "<I"))

    def place(self, field: int) -> int | None:
        entry = 4 + 2 * field  # after the sizes of the list and of the table, 2 bytes each
        # If the list ends before the field, or the offset is 0, the field has its default.
        offset = _integer(self.data, self.fields + entry, "<H") if entry + 2 <= self.size else 0
        return self.at + offset if offset else None

    def integer(self, field: int, form: str) -> int:
        place = self.place(field)
        return 0 if place is None else _integer(self.data, place, form)

    def table(self, field: int) -> _Table | None:
        place = self.place(field)
        return None if place is None else _Table(self.data, place + _integer(self.data, place, "<I"))

    def structs(self, field: int, size: int) -> Iterator[int]:
        """The places of the structs of a vector."""
        place = self.place(field)
        if place is None:
            return
        place += _integer(self.data, place, "<I")
        count = _integer(self.data, place, "<I")
        if place + 4 + count * size > len(self.data):
            raise ArrowDamageError("a list is longer than the file")
        yield from range(place + 4, place + 4 + count * size, size)


def _integer(data: bytes | mmap, at: int, form: str) -> int:
    if at < 0:
        raise ArrowDamageError("an offset points before the file")
    return int(struct.unpack_from(form, data, at)[0])


def check_sizes(data: bytes, source: str) -> None:
    """Compare the sizes that the footer and the batches name with the file.

    Raises:
        InputError: they contradict the file, or ask for more memory than the limit.
    """
    costs = [each.cost for field in (DICTIONARIES, BATCHES) for each in _check_blocks(data, source, field)]
    check_memory(sum(costs) + len(data), Place(source), held=len(data))


def batch_rows(data: bytes | mmap, source: str) -> list[int]:
    """The rows of each batch of a file that is read batch by batch, after checking their sizes.

    Raises:
        InputError: sizes contradict the file, or a batch with all dictionaries asks for more memory than the limit.
    """
    shared = sum(each.cost for each in _check_blocks(data, source, DICTIONARIES))
    batches = _check_blocks(data, source, BATCHES)
    for each in batches:
        check_memory(shared + each.cost, Place(source))
    return [each.rows for each in batches]


class _Block(NamedTuple):
    """A batch: its rows, values in all columns, and bytes without compression."""

    rows: int
    values: int
    unpacked: int

    @property
    def cost(self) -> int:
        return self.rows * ROW + self.values * VALUE + self.unpacked * BYTE


def _check_blocks(data: bytes | mmap, source: str, field: int) -> list[_Block]:
    """Check the batches of the footer, or the dictionaries."""
    try:
        if data[-len(MAGIC) :] != MAGIC:
            raise ArrowDamageError("it does not end in ARROW1")
        end = len(data) - len(MAGIC) - 4  # position of the length of the preceding footer
        footer = _Table.root(data, end - _integer(data, end, "<i"))
        return [_check_block(data, block) for block in footer.structs(field, BLOCK)]
    except (ArrowDamageError, struct.error) as error:
        reason = str(error) if isinstance(error, ArrowDamageError) else "an offset points past its end"
        raise Place(source).error(
            f"the Arrow file is truncated or damaged ({reason}). Copy or write it again."
        ) from None


def _check_block(data: bytes | mmap, block: int) -> _Block:
    """Check a batch."""
    start, head, body = _integer(data, block, "<q"), _integer(data, block + 8, "<i"), _integer(data, block + 16, "<q")
    if min(start, head, body) < 0 or start + head + body > len(data):
        raise ArrowDamageError("a batch lies outside")
    skipped = 8 if _integer(data, start, "<I") == CONTINUATION else 4  # before version 0.15 the length came first
    message = _Table.root(data, start + skipped)
    kind, batch = message.integer(HEADER_TYPE, "<B"), message.table(HEADER)
    if kind == DICTIONARY_BATCH and batch is not None:
        batch = batch.table(DICTIONARY_DATA)
    if kind not in (DICTIONARY_BATCH, RECORD_BATCH) or batch is None:
        raise ArrowDamageError("a batch is none")
    rows, values = batch.integer(LENGTH, "<q"), _check_nodes(data, batch)
    return _Block(rows, values, _check_buffers(data, batch, start + head, body))


def _check_nodes(data: bytes | mmap, batch: _Table) -> int:
    values = 0
    if batch.integer(LENGTH, "<q") < 0:
        raise ArrowDamageError("a number of rows is below 0")
    for node in batch.structs(NODES, NODE_OR_BUFFER):
        length, nulls = _integer(data, node, "<q"), _integer(data, node + 8, "<q")
        if not 0 <= nulls <= length <= MOST_VALUES:
            raise ArrowDamageError("a column has an impossible length")
        values += length
    return values


def _check_buffers(data: bytes | mmap, batch: _Table, start: int, body: int) -> int:
    is_packed = batch.place(COMPRESSION) is not None
    unpacked = 0
    for buffer in batch.structs(BUFFERS, NODE_OR_BUFFER):
        offset, length = _integer(data, buffer, "<q"), _integer(data, buffer + 8, "<q")
        if min(offset, length) < 0 or offset + length > body:
            raise ArrowDamageError("a buffer lies outside its batch")
        grown = _integer(data, start + offset, "<q") if is_packed and length else -1  # -1: this buffer is not packed
        if grown < -1:
            raise ArrowDamageError("a buffer has a length below 0")
        unpacked += max(grown, length)
    return unpacked
