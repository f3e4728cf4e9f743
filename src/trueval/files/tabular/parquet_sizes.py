"""Sizes declared in a parquet file, checked before memory is allocated for them.

A damaged length makes the parquet reader allocate exabytes, which kills the process. Source: parquet-format
(parquet.thrift), encoded in Thrift's compact protocol.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager
from mmap import mmap
from typing import Any, NamedTuple, TypeAlias

from trueval.errors import InputError, Place
from trueval.files.source.memory_estimate import check_memory

MAGIC = b"PAR1"
TAIL = 8  # length of the footer, and the magic
DEEPEST = 32  # levels of nested structures; the format has 7
# Bytes of memory per row, value and decompressed byte, as measured: docs/files.md. polars represents a string as a view
# of 16 bytes.
ROW, VALUE, BYTE = 130, 16, 2
Fields: TypeAlias = dict[int, Any]
Data: TypeAlias = bytes | mmap
# Thrift type codes, and the field numbers of parquet.thrift that are read here.
STOP, TRUE, FALSE, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, MAP, STRUCT = 0, 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 11, 12
ROWS, ROW_GROUPS = 3, 4
GROUP_COLUMNS, GROUP_ROWS = 1, 3
COLUMN_META, PATH, VALUES, DATA_PAGE, DICTIONARY_PAGE = 3, 3, 5, 9, 11
UNPACKED, PACKED, DATA_HEADER, DICTIONARY_HEADER, DATA_HEADER_2 = 2, 3, 5, 7, 8


class ParquetDamageError(Exception):
    """The file contradicts itself."""


class _Reader:
    """Thrift's compact protocol, from a place in the file on."""

    def __init__(self, data: Data, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    def take(self, count: int) -> bytes:
        self.skip(count)
        return self.data[self.at - count : self.at]

    def skip(self, count: int) -> None:
        if count < 0 or self.at + count > self.end:
            raise ParquetDamageError("a length runs past the end")
        self.at += count

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ParquetDamageError("an integer has too many bytes")

    def integer(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)  # zigzag: 0, -1, 1, -2 are written as 0, 1, 2, 3

    def struct(self, depth: int = 0) -> Fields:
        if depth > DEEPEST:
            raise ParquetDamageError("nested too deep")
        fields: Fields = {}
        number = 0
        while (head := self.take(1)[0]) & 0x0F != STOP:
            number = number + (head >> 4) if head >> 4 else self.integer()  # from the last number on, or the number
            fields[number] = self.value(head & 0x0F, depth + 1, in_list=False)
        return fields

    def value(self, kind: int, depth: int, *, in_list: bool) -> Any:
        if kind in (TRUE, FALSE):
            return self.take(1) == b"\x01" if in_list else kind == TRUE
        if kind == BYTE:
            return self.take(1)[0]
        if kind in INTEGERS:
            return self.integer()
        if kind == DOUBLE:
            return self.take(8)
        if kind == BINARY:
            return self.take(self.varint())
        if kind in LISTS:
            return self.list_of(depth)
        if kind == STRUCT:
            return self.struct(depth)
        raise ParquetDamageError("an unknown type")  # no structure read here contains maps

    def list_of(self, depth: int) -> list[object]:
        if depth > DEEPEST:
            raise ParquetDamageError("nested too deep")
        head = self.take(1)[0]
        count = head >> 4 if head >> 4 != 15 else self.varint()
        if count > self.end - self.at:
            raise ParquetDamageError("a list is longer than the file")
        return [self.value(head & 0x0F, depth + 1, in_list=True) for _ in range(count)]


class _Page(NamedTuple):
    values: int
    packed: int
    unpacked: int
    is_dictionary: bool


def check_sizes(data: bytes, source: str) -> None:
    """Compare the sizes that the footer and the page headers name with the file and with each other.

    Raises:
        InputError: they contradict each other, or ask for more memory than the limit.
    """
    with _explain_damage(source):
        groups = _groups(data)
        rows = sum(group[GROUP_ROWS] for group in groups)
        check_memory(rows * ROW, Place(source))  # before the pages are checked one by one
        check_memory(sum(_cost(data, group) for group in groups) + len(data), Place(source), held=len(data))


class RowGroup(NamedTuple):
    """A row group of a file.

    Attributes:
        rows: number of rows.
        cost: bytes of memory for its columns.
    """

    rows: int
    cost: int


def check_row_groups(data: Data, source: str, names: Container[str] | None = None) -> list[RowGroup]:
    """Check the sizes of a file that is read row group by row group.

    Args:
        data: data of the file, in memory or mapped.
        source: what error messages call it.
        names: columns that are read; None for all.

    Raises:
        InputError: sizes contradict each other, or a row group asks for more memory than the limit.
    """
    with _explain_damage(source):
        found = []
        for group in _groups(data):
            check_memory(group[GROUP_ROWS] * ROW, Place(source))
            found.append(RowGroup(group[GROUP_ROWS], _cost(data, group, names)))
            check_memory(found[-1].cost, Place(source))
        return found


@contextmanager
def _explain_damage(source: str) -> Iterator[None]:
    try:
        yield
    except InputError:  # is a ValueError, too
        raise
    except (ParquetDamageError, AttributeError, TypeError, LookupError, ValueError) as error:
        reason = str(error) if isinstance(error, ParquetDamageError) else "its footer is not one"
        raise Place(source).error(
            f"the parquet file is truncated or damaged ({reason}). Copy or write it again."
        ) from None


def _groups(data: Data) -> list[Fields]:
    """The row groups, whose rows are those of the file."""
    footer = _footer(data)
    groups: list[Fields] = footer.get(ROW_GROUPS, [])
    if sum(_natural(group, GROUP_ROWS) for group in groups) != _natural(footer, ROWS):
        raise ParquetDamageError("the numbers of rows differ")
    return groups


def _cost(data: Data, group: Fields, names: Container[str] | None = None) -> int:
    """What the columns of a row group take in memory."""
    rows = int(group[GROUP_ROWS])
    columns = group.get(GROUP_COLUMNS, []) if rows else []  # empty groups have no pages
    wanted = [each for each in columns if names is None or each[COLUMN_META][PATH][0].decode() in names]
    unpacked = sum(_check_column(data, column) for column in wanted)
    values = sum(_natural(column[COLUMN_META], VALUES) for column in wanted)
    return rows * ROW + values * VALUE + unpacked * BYTE


def _footer(data: Data) -> Fields:
    if len(data) < len(MAGIC) + TAIL or data[-len(MAGIC) :] != MAGIC:
        raise ParquetDamageError("it does not end in PAR1")
    end = len(data) - TAIL
    start = end - int.from_bytes(data[end : end + 4], "little")
    if start < len(MAGIC):
        raise ParquetDamageError("its footer is longer than the file")
    return _Reader(data, start, end).struct()


def _natural(fields: Fields, number: int) -> int:
    value = fields[number]
    if not isinstance(value, int) or value < 0:
        raise ParquetDamageError("a number of rows or bytes is below 0")
    return value


def _check_column(data: Data, column: Fields) -> int:
    """Check the pages of a column, and give the bytes that they unpack to."""
    meta = column[COLUMN_META]
    values, unpacked = _natural(meta, VALUES), 0
    for page in _pages(data, meta, values):
        unpacked += page.unpacked
        if page.is_dictionary and page.values > page.unpacked:  # each entry takes at least a byte
            raise ParquetDamageError("a dictionary has more entries than bytes")
        values -= 0 if page.is_dictionary else page.values
    if values:
        raise ParquetDamageError("the numbers of values differ")
    return unpacked


def _pages(data: Data, meta: Fields, values: int) -> Iterator[_Page]:
    # Pages follow one another; the dictionary, which the values refer to, comes first and counts none of them.
    at = min(_natural(meta, number) for number in (DATA_PAGE, DICTIONARY_PAGE) if meta.get(number))
    while values > 0:
        reader = _Reader(data, at, len(data) - TAIL)
        header = reader.struct()
        is_dictionary = DICTIONARY_HEADER in header
        counted = header[
            DICTIONARY_HEADER if is_dictionary else DATA_HEADER if DATA_HEADER in header else DATA_HEADER_2
        ]
        page = _Page(_natural(counted, 1), _natural(header, PACKED), _natural(header, UNPACKED), is_dictionary)
        reader.skip(page.packed)
        at = reader.at
        values -= 0 if is_dictionary else page.values
        yield page
