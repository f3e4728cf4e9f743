"""Texts of documents and queries: one JSON object a line with an _id, as BEIR's corpus.jsonl, read line by line."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from json.scanner import make_scanner
from pathlib import Path
from typing import Any

from trueval.errors import InputError, Place
from trueval.files.json.jsonl_pairs import as_id
from trueval.files.json.jsonl_rows import DECODER, RepeatedKeyError, decode_object
from trueval.files.source.decompression import BOM, Readable, decompress_stream, packer_of, refuse_packed_twice
from trueval.files.source.encoding import UTF_16_BOMS
from trueval.files.source.fingerprints import CHANGED, HashedStream, recorder
from trueval.files.source.memory_estimate import budget, format_size, too_large
from trueval.files.source.source_bytes import can_be_read_once, explain_read_errors, file_state
from trueval.files.texts.text_row import ID_KEYS, TextRow
from trueval.printable import encodable

HEAD = 8  # leading bytes that identify the compression, or UTF-16
VALUE = 34  # maximum bytes of memory per byte of JSON: "{}," becomes a dict of 64 bytes and its slot in a list
BLANK, SPACES = b" \t\r\n", " \t\r\n"
SCAN = make_scanner(DECODER)  # type: ignore[arg-type]  # typeshed gives the context the type of the scanner
MUST = "Each line must be an object with _id and text. Correct or remove the line."


def read_text_rows(path: Path) -> Iterator[TextRow]:
    """Read corpus.jsonl or queries.jsonl line by line, plain, gzip or zstd, so that a corpus need not fit in memory.

    Raises:
        InputError: the file is missing, no regular file, damaged, not UTF-8, or changes meanwhile; a line is not a JSON
            object, has a key twice, or an id that is neither a string nor an integer.
    """
    label = encodable(str(path))
    place = Place(label)
    if can_be_read_once(str(path)):
        raise place.error("this is not a regular file, and texts may be read twice. Save it to a file.")
    absent = (
        "no such file. A collection holds corpus.jsonl and queries.jsonl, with "
        '{"_id": "q1", "text": "..."} in each line. Add it.'
    )
    if path.name.startswith("queries"):
        absent += " If there are no questions yet, trueval golden questions CORPUS writes some."
    with explain_read_errors(place, absent), path.open("rb", buffering=0) as file:
        yield from _rows(file, str(path), label)


def _rows(file: Any, path: str, label: str) -> Iterator[TextRow]:
    before, seen = os.fstat(file.fileno()), recorder()
    hashed = None if seen is None else HashedStream(file)
    stream = io.BufferedReader(file if hashed is None else hashed)
    packer = packer_of(stream.peek(HEAD)[:HEAD])
    with stream, decompress_stream(stream, packer, label) as plain:
        for number, line in enumerate(_lines(plain, label), 1):
            if number == 1 and packer is not None:
                refuse_packed_twice(line, packer, label)
            row = _row(line.removeprefix(BOM) if number == 1 else line, label, number)
            if row is not None:
                yield row
        while stream.read(1 << 20):  # bytes after the end of the compressed data belong to the file
            pass
        if file_state(before) != file_state(os.fstat(file.fileno())):
            raise Place(label).error(CHANGED)
    if seen is not None and hashed is not None:
        seen.note(path, hashed.fingerprint())


def _lines(stream: Readable, label: str) -> Iterator[bytes]:
    """Lines that end in a newline, each no longer than the memory limit."""
    most = budget()
    longest = most // VALUE
    lines: Any = stream
    number = 0
    while line := lines.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise too_large(
                Place(label, number), f"a line of more than {format_size(longest)}, and so {format_size(most)}", most
            )
        yield line


def _row(line: bytes, label: str, number: int) -> TextRow | None:
    """The row of a line, or none where it is blank."""
    try:
        # Only the scanner, since the rest of decode() takes as long as scanning a short line.
        text = line.decode()
        values, end = SCAN(text, 0)
    except (ValueError, StopIteration, RepeatedKeyError, RecursionError):
        values, text, end = None, "", 0
    if type(values) is not dict or text[end:].strip(SPACES):
        if not line.strip(BLANK):
            return None
        values = _careful(line, Place(label, number))
    id = as_id(values["_id"] if "_id" in values else values.get("id"))
    if id is None:
        raise _without_id(values, Place(label, number))
    return TextRow(label, number, id, values)


def _without_id(values: Mapping[str, object], place: Place) -> InputError:
    key = next((key for key in ID_KEYS if key in values), None)
    got = "no _id" if key is None else repr(values[key])[:80]
    return place.error(f"not a text with an id: ids are strings or integers. Got {got}. {MUST}")


def _careful(line: bytes, place: Place) -> dict[str, object]:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        if line.startswith(UTF_16_BOMS):
            raise place.error("the text is UTF-16. It must be UTF-8. Save it again as UTF-8.") from None
        raise place.error(
            f"byte 0x{line[error.start]:02x} is not UTF-8. The text must be UTF-8. "
            "Convert it, for instance with: iconv -f latin1 -t utf-8"
        ) from None
    return decode_object(text.rstrip("\r\n"), place)
