"""gzip and zstd unpacked piece by piece, so that a file that grows without end is refused before it is held."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from trueval.errors import Place
from trueval.files.source.memory_estimate import TEXT, budget, format_size, too_large

BOM = b"\xef\xbb\xbf"
ZLIB_MAGIC = (b"x\x01", b"x^", b"x\x9c", b"x\xda")  # RFC 1950 section 2.2, the four levels
GZIP_MAGIC = b"\x1f\x8b"  # RFC 1952 section 2.3.1
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # RFC 8878 section 3.1.1, little-endian 0xFD2FB528
SKIPPABLE_MAGIC = b"\x2a\x4d\x18"  # RFC 8878 section 3.1.2, after one byte 0x50 to 0x5F
OTHER_PACKERS = {b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"PK\x03\x04": "zip"}
PIECE = 1 << 20  # bytes decompressed at once


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return at most this many bytes, and none at the end."""
        ...


def drain(stream: Readable, label: str) -> bytes:
    """Read a stream to its end.

    Raises:
        InputError: it holds more than memory may.
    """
    most = 0  # querying free memory takes as long as reading a small file, so small files are read without
    held = io.BytesIO()  # grows in place, and getvalue() does not copy
    while piece := stream.read(PIECE):
        held.write(piece)
        needed = held.tell() * TEXT
        if needed <= most:
            continue
        most = budget(held.tell(), needed)
        if needed > most:
            raise too_large(Place(label), f"more than {format_size(needed)}", most)
    return held.getvalue()


def unpack(data: bytes, label: str) -> bytes:
    """Decompress gzip or zstd, detected by the first bytes; return other data unchanged.

    Raises:
        InputError: the data are truncated, damaged, packed in another way or twice, or more than memory may hold.
    """
    packer = packer_of(data)
    if packer is None:
        return data
    with decompress_stream(io.BytesIO(data), packer, label) as stream:
        unpacked = drain(stream, label)
    refuse_packed_twice(unpacked, packer, label)
    return unpacked


def refuse_packed_twice(unpacked: bytes, packer: str, label: str) -> None:
    """Refuse decompressed bytes that are compressed again.

    Raises:
        InputError: they are.
    """
    if (inner := packer_of(unpacked)) is not None:
        raise Place(label).error(f"packed twice ({inner} inside {packer}). It must be packed once. Unpack it first.")


def prevent_decompression(text: bytes) -> bytes:
    """Keep polars from unpacking a text that begins as packed data do, such as with an id x^2.

    A byte order mark in front hides its beginning, and polars leaves it out.

    >>> prevent_decompression(b"q1 Q0 d1"), len(prevent_decompression(b"x^2 Q0 d1"))
    (b'q1 Q0 d1', 12)
    """
    return BOM + text if text.startswith((*ZLIB_MAGIC, GZIP_MAGIC, ZSTD_MAGIC)) else text


def packer_of(data: bytes) -> str | None:
    r"""Name the packer of some bytes by the first of them; None if they are not packed.

    >>> packer_of(b"\x1f\x8b\x08"), packer_of(b"q1 Q0 d1")
    ('gzip', None)
    """
    if data.startswith(GZIP_MAGIC):
        return "gzip"
    if data.startswith(ZSTD_MAGIC) or (data[1:4] == SKIPPABLE_MAGIC and 0x50 <= data[0] <= 0x5F):
        return "zstd"
    return next((packer for magic, packer in OTHER_PACKERS.items() if data.startswith(magic)), None)


@contextmanager
def decompress_stream(stream: Any, packer: str | None, label: str) -> Iterator[Readable]:
    """Decompress a stream, and report its errors as our own.

    Args:
        stream: stream of compressed bytes, at its beginning.
        packer: compression, from `packer_of`; None reads the bytes unchanged.
        label: name of the stream in errors.

    Raises:
        InputError: the data are truncated, damaged, or packed in another way.
    """
    if packer is not None and packer not in ("gzip", "zstd"):
        raise Place(label).error(f"packed with {packer}. It must be plain, gzip or zstd. Unpack it first.")
    if packer is None:
        yield stream
    elif packer == "gzip":
        with _decompress_gzip(stream, label) as plain:
            yield plain
    else:
        with _decompress_zstd(stream, label) as plain:
            yield plain


@contextmanager
def _decompress_gzip(stream: Any, label: str) -> Iterator[Readable]:
    try:
        with gzip.GzipFile(fileobj=stream) as plain:
            yield plain
    except EOFError:
        raise Place(label).error("the gzip file is truncated. Copy or write it again to the end.") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Place(label).error(f"the gzip file is damaged: {error}. Copy or write it again.") from error


@contextmanager
def _decompress_zstd(stream: Any, label: str) -> Iterator[Readable]:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    try:
        with zstd.ZstdFile(stream) as plain:
            yield plain
    except (zstd.ZstdError, EOFError) as error:
        reason = f"the zstd file is truncated or damaged. Copy or write it again. ({error})"
        raise Place(label).error(reason) from error
