"""Lines that are JSON objects, or an id and a value: the logs and small files that come with runs and judgments."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from trueval.errors import Place
from trueval.files.columns import looks_like_header, squash
from trueval.files.json.jsonl_rows import INTEGER, Literal, decode_object
from trueval.files.source.encoding import check_text, find_decoding_error, is_unicode
from trueval.files.source.source_bytes import Source, SourceBytes, read_content

# The id before the text: if a line has both, judgments use the id of the query.
QUERY_KEYS = ("query_id", "qid", "question_id", "query", "question", "user_input", "input")
DOC_KEYS = ("id", "doc_id", "document_id", "chunk_id")
OBJECT = re.compile(rb"\s*\{")
QUOTED = r'"[^"]*(?:""[^"]*)*"'  # RFC 4180, on one line
# Pattern of two fields for each separator; fields separated by spaces have at least one character.
SHAPES = {
    "\t": re.compile(rf'({QUOTED}|[^"\t]*)\t({QUOTED}|[^"\t]*)'),
    ",": re.compile(rf'({QUOTED}|[^",]*),({QUOTED}|[^",]*)'),
    " ": re.compile(rf'({QUOTED}|[^" \t]+)[ \t]+({QUOTED}|[^" \t]+)'),
}


class Columns(NamedTuple):
    """What the two columns of a file are called.

    Args:
        ids: keys of the id, the preferred one first.
        values: keys of the value, in lower case.
        words: both, as an error message shows them.
    """

    ids: tuple[str, ...]
    values: tuple[str, ...]
    words: str

    def are(self, first: str, second: str) -> bool:
        """Whether a line contains the names of the columns."""
        if squash(second) not in self.values:
            return False
        return looks_like_header([first]) or squash(first) in {"id", "question", *map(squash, self.ids)}


class JsonPair(NamedTuple):
    """An id and its value: text, or a JSON value with numbers as written; place is for error messages."""

    place: Place
    id: str
    value: Any


def as_id(value: object) -> str | None:
    r"""Convert a JSON id to text: a nonempty string, or an integer as written; None for anything else.

    >>> as_id("007"), as_id(""), as_id("\ud800"), as_id(True)
    ('007', None, None, None)
    """
    if not isinstance(value, str) or not value or not (value.isascii() or is_unicode(value)):
        return None
    return None if isinstance(value, Literal) and not re.fullmatch(INTEGER, value) else str(value)


def first_value(row: Mapping[str, object], keys: Sequence[str]) -> Any:
    """The value of the first key that is present and not null; None without any.

    >>> first_value({"query_id": None, "qid": 1, "text": 2}, ("query_id", "qid"))
    1
    """
    return next((row[key] for key in keys if row.get(key) is not None), None)


def objects(content: SourceBytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Iterate over JSON lines: the line (from 1) of each object, and the object with its numbers as written.

    Raises:
        InputError: bytes are not UTF-8 text, a line is not a JSON object, or has a key twice.
    """
    for number, line in _lines(content, is_json=True):
        yield number, decode_object(line, Place(content.source, number))


def read_pairs(source: Source, columns: Columns) -> Iterator[JsonPair]:
    """Read an id and a value a line: JSON lines, or two fields separated by a tab, a comma, or spaces.

    The first line tells which: by a brace, else by a tab, else by a comma. A line of column names is skipped.
    Quotes may surround a field. Spaces at the edge of other fields are left out.

    Raises:
        InputError: bytes are not UTF-8 text, a line has another shape, or an id is bad; with file and line.
    """
    content = read_content(source)
    if OBJECT.match(content.data) is None:
        yield from _fields(content, columns)
        return
    for number, row in objects(content):
        place = Place(content.source, number)
        id, value = as_id(first_value(row, columns.ids)), first_value(row, columns.values)
        if id is None or value is None:
            raise place.error(
                f"a line must be an object with {columns.ids[0]} and {columns.values[0]}, and the "
                f"{columns.ids[0]} a string or an integer. Got the keys {', '.join(map(repr, row)) or 'none'}."
            )
        yield JsonPair(place, id, value)


def _fields(content: SourceBytes, columns: Columns) -> Iterator[JsonPair]:
    separator = None
    for number, line in _lines(content, is_json=False):
        place = Place(content.source, number)
        begins = separator is None  # the first line, which determines the separator and may contain names
        separator = separator or next((mark for mark in "\t," if mark in line), " ")
        found = SHAPES[separator].fullmatch(line.strip(" \r" if separator == "\t" else " \t\r"))
        first, second = ("", "") if found is None else map(_bare, found.groups())
        if not first or not second:
            fault = "quotes must surround a whole field and close on its line" if '"' in line else "not two fields"
            raise place.error(
                f"{fault}. A line must hold {columns.words}, separated by a tab, a comma or spaces, as the first line "
                f"is. Got {line[:80]!r}."
            )
        if not (begins and columns.are(first, second)):
            yield JsonPair(place, first, second)


def _bare(field: str) -> str:
    return field[1:-1].replace('""', '"') if field.startswith('"') else field.strip(" \t\r")


def _lines(content: SourceBytes, *, is_json: bool) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, each with its number; only a newline ends one, so splitlines() will not do."""
    content = check_text(content, is_json=is_json)
    if (undecodable := find_decoding_error(content)) is not None:
        raise undecodable
    for number, line in enumerate(content.data.decode().split("\n"), 1):
        if line.strip(" \t\r"):
            yield number, line


def read_names(source: Source, columns: Columns, of: str, name: str) -> dict[str, str]:
    """Read one name per id, such as the source of a document or the cluster of a query.

    Args:
        source: as in read_pairs.
        columns: names of the two columns.
        of: owner of the id at the beginning of a message: "document", "the query".
        name: kind of the name, such as "source".

    Raises:
        InputError: a line is bad, or an id has two names; with file and line.
    """
    found: dict[str, str] = {}
    for place, id, value in read_pairs(source, columns):
        named = as_id(value)
        if named is None:
            raise place.error(f"the {name} must be a string or an integer. Got {reprlib.repr(value)}. Correct it.")
        if found.setdefault(id, named) != named:
            raise place.error(f"{of} {id!r} has two {name}s, {found[id]!r} and {named!r}. Give one.")
    return found
