"""Text cut into parts of whole lines, which a large file gives one by one, so that it is never held as a whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

from trueval.errors import Place
from trueval.files.source.decompression import BOM, packer_of
from trueval.files.source.fingerprints import CHANGED, PartsHash, recorder
from trueval.files.source.source_bytes import Source, SourceBytes, file_state, stem
from trueval.printable import encodable

LARGE = 1 << 23  # minimum bytes of a file that is read in parts
PART = 1 << 23  # bytes of a part; small enough that the memory of one part serves the next
WINDOW = 1 << 16  # bytes within which a line must end for a cut; otherwise the next part begins later


class LineParts(NamedTuple):
    """A text divided into parts of whole lines, each read on demand.

    Attributes:
        cut: returns where each part starts and stops, given its approximate size, and begins a pass.
        look: returns the bytes of a part to callers that keep nothing of them.
        read: returns the bytes of a part whose rows are kept; call it once per part and pass.
    """

    head: SourceBytes
    cut: Callable[[int], Sequence[slice]]
    look: Callable[[slice], bytes]
    read: Callable[[slice], bytes]


def line_parts(data: bytes, size: int) -> list[slice]:
    r"""Cut a text into parts of whole lines of at least this many bytes, except for the last.

    >>> line_parts(b"a\nb\nc\n", 3)
    [slice(0, 4, None), slice(4, 6, None)]
    """
    parts, start = [], 0
    while start < len(data):
        stop = data.find(b"\n", start + size - 1) + 1 or len(data)
        parts.append(slice(start, stop))
        start = stop
    return parts


def parts_in_memory(content: SourceBytes) -> LineParts:
    """Take a text that is held in memory."""
    part = content.data.__getitem__
    return LineParts(content, partial(line_parts, content.data), part, part)


@contextmanager
def open_parts(source: Source) -> Iterator[LineParts | None]:
    """Open a large text in a file to be read part by part.

    Yields None for input that read_content should read: standard input, an open file, a file that is not regular,
    missing, small or compressed, or one that begins with a byte order mark.

    Raises:
        InputError: the file changed between opening and the end of the block.
    """
    label = fspath(source) if isinstance(source, (str, PathLike)) else "-"
    path = Path(label)
    if label == "-" or not hasattr(os, "pread") or not _is_large(path):
        yield None
        return
    with path.open("rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        number, head = file.fileno(), os.pread(file.fileno(), WINDOW, 0)
        if head.startswith(BOM) or packer_of(head) is not None:
            yield None
            return
        cut, read = partial(_cut_file, number, before.st_size), partial(_read_part, number)
        shown, seen, hashed = encodable(label), recorder(), PartsHash()
        text = LineParts(SourceBytes(head, shown, stem(shown)), cut, read, read)
        yield text if seen is None else _hash_on_read(text, hashed)
        # The open file shows whether it was written to, the path whether it was replaced.
        if not file_state(before) == file_state(os.fstat(file.fileno())) == _state_now(path):
            raise Place(shown).error(CHANGED)
        if seen is not None and hashed.fingerprint().bytes == before.st_size:  # otherwise it is read again by others
            seen.note(label, hashed.fingerprint())


def _hash_on_read(text: LineParts, hashed: PartsHash) -> LineParts:
    """The same text, hashed part by part in the pass that keeps its rows."""

    def cut(size: int) -> Sequence[slice]:
        hashed.begin()
        return text.cut(size)

    def read(part: slice) -> bytes:
        data = text.read(part)
        hashed.take(part.start, data)
        return data

    return text._replace(cut=cut, read=read)


def _is_large(path: Path) -> bool:
    """Tell a readable regular file of many bytes."""
    try:
        state = path.stat()
    except (OSError, ValueError):  # ValueError: a NUL character in the path
        return False
    return stat.S_ISREG(state.st_mode) and state.st_size > LARGE and os.access(path, os.R_OK)


def _state_now(path: Path) -> tuple[int, ...]:
    try:
        return file_state(path.stat())
    except OSError:
        return ()


def _cut_file(file: int, size: int, part: int) -> list[slice]:
    """Look for line ends near the places of the cuts only: the text between them is read once, when it is parsed."""
    cuts = [0]
    for at in range(part, size, part):
        end = os.pread(file, WINDOW, at - 1).find(b"\n")
        if end >= 0:
            cuts.append(at + end)
    return [slice(begin, stop) for begin, stop in pairwise((*cuts, size)) if begin < stop]


def _read_part(file: int, part: slice) -> bytes:
    """The bytes of a part; fewer where the file was cut meanwhile, which open_parts sees in the end."""
    data, at = [], part.start
    while at < part.stop and (piece := os.pread(file, part.stop - at, at)):  # some systems give less than asked for
        data.append(piece)
        at += len(piece)
    return b"".join(data)
