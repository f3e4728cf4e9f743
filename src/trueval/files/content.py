"""The bytes of a file, unpacked and known to be text or a table format."""

from __future__ import annotations

import gzip
import sys
import zlib
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any

from trueval.errors import InputError

__all__ = ["Content", "Source", "check_text", "decoding_error", "read_content"]

Source = str | PathLike[str] | IO[bytes] | IO[str]

GZIP_MAGIC = b"\x1f\x8b"  # RFC 1952 section 2.3.1
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # RFC 8878 section 3.1.1, little-endian 0xFD2FB528
SKIPPABLE_MAGIC = b"\x2a\x4d\x18"  # RFC 8878 section 3.1.2, after one byte 0x50 to 0x5F
OTHER_PACKERS = {b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"PK\x03\x04": "zip"}
BOM = b"\xef\xbb\xbf"
UTF_16_BOMS = (b"\xff\xfe", b"\xfe\xff")
# What people add to the name of a run or of judgments; all of it is left out of the name shown in tables.
SUFFIXES = frozenset(
    (
        *(".gz", ".gzip", ".zst", ".zstd", ".trec", ".run", ".res", ".results", ".qrels", ".qrel", ".txt"),
        *(".tsv", ".csv", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow"),
    )
)


@dataclass(frozen=True, eq=False)
class Content:
    """The unpacked bytes of a source.

    Args:
        data: bytes without compression and without a UTF-8 byte order mark.
        source: the path as given, or "<stdin>".
        name: the file name without its known suffixes.
    """

    data: bytes
    source: str
    name: str


def read_content(source: Source) -> Content:
    """Read a path, "-" for standard input, or an open file, and unpack it.

    Compression is recognized by the first bytes, not by the name.

    Raises:
        InputError: the file is missing, a directory, unreadable, empty, truncated, or packed in another way.
    """
    packed, label = _read_bytes(source)
    data = _unpack(packed, label).removeprefix(BOM)
    if not data:
        raise InputError(
            f"{label}: the file is empty. It must have at least one row. Check that it was written to the end."
        )
    return Content(data, label, _stem(label))


def _read_bytes(source: Source) -> tuple[bytes, str]:
    if isinstance(source, str) and source == "-":
        return sys.stdin.buffer.read(), "<stdin>"
    if isinstance(source, (str, PathLike)):
        return _read_path(Path(fspath(source))), fspath(source)
    if not hasattr(source, "read"):
        raise InputError(
            f"{type(source).__name__}: not a file. It must be a path, '-' or an open file. "
            "For dicts use from_dict, for frames from_frame, for arrays from_arrays."
        )
    data: Any = source.read()
    label = getattr(source, "name", None)
    return data.encode() if isinstance(data, str) else bytes(data), label if isinstance(label, str) else "<file object>"


def _read_path(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file. Check the path and the working directory.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a directory. Give one file in it.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}. Check its permissions.") from error


def _unpack(data: bytes, label: str) -> bytes:
    if data.startswith(GZIP_MAGIC):
        return _gunzip(data, label)
    if data.startswith(ZSTD_MAGIC) or (data[1:4] == SKIPPABLE_MAGIC and 0x50 <= data[0] <= 0x5F):
        return _unzstd(data, label)
    for magic, packer in OTHER_PACKERS.items():
        if data.startswith(magic):
            raise InputError(f"{label}: packed with {packer}. It must be plain, gzip or zstd. Unpack it first.")
    return data


def _gunzip(data: bytes, label: str) -> bytes:
    try:
        return gzip.decompress(data)
    except EOFError:
        raise InputError(f"{label}: the gzip file is truncated. Copy or write it again to the end.") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{label}: the gzip file is damaged: {error}. Copy or write it again.") from error


def _unzstd(data: bytes, label: str) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    try:
        return bytes(zstd.decompress(data))
    except zstd.ZstdError as error:
        raise InputError(
            f"{label}: the zstd file is truncated or damaged. Copy or write it again. ({error})"
        ) from error


def _stem(label: str) -> str:
    path = Path(label)
    while path.suffix.lower() in SUFFIXES and path.stem:
        path = path.with_suffix("")
    return path.name or label


def check_text(content: Content) -> None:
    """Refuse bytes that are no UTF-8 text with lines.

    Raises:
        InputError: UTF-16, or a NUL byte, with its line.
    """
    if content.data.startswith(UTF_16_BOMS):
        raise InputError(f"{content.source}: the text is UTF-16. It must be UTF-8. Save it again as UTF-8.")
    nul = content.data.find(b"\0")
    if nul >= 0:
        line = content.data.count(b"\n", 0, nul) + 1
        raise InputError(
            f"{content.source}:{line}: a NUL byte. The file must be UTF-8 text; NUL bytes come from "
            "UTF-16 or from a binary format. "
            "Save it again as UTF-8, or give the format."
        )


def decoding_error(content: Content) -> InputError | None:
    """Find the first byte that is not UTF-8, with its line; None if all are."""
    try:
        content.data.decode()
    except UnicodeDecodeError as error:
        line = content.data.count(b"\n", 0, error.start) + 1
        return InputError(
            f"{content.source}:{line}: byte 0x{content.data[error.start]:02x} is not UTF-8. The text must be UTF-8. "
            "Convert it, for instance with: iconv -f latin1 -t utf-8"
        )
    return None
