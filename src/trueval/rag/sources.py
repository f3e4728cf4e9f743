"""Sources of documents (paper, site, file), read from a file."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING

from trueval.files.json.pairs import DOC_KEYS, Columns, as_id, read_pairs

if TYPE_CHECKING:
    from trueval.files import Source


COLUMNS = Columns(DOC_KEYS, ("source",), "a document id and its source")


def read_sources(source: Source) -> dict[str, str]:
    """Read the source of each document: id and source on each line, for `Judgments.with_sources`.

    Args:
        source: a path, "-" for standard input, or an open file. JSON lines with id and source, or two fields separated
            by a tab, a comma or spaces; a line of column names is skipped.

    Raises:
        InputError: a line is bad, or a document has two sources; with file and line.
    """
    found: dict[str, str] = {}
    for place, doc, value in read_pairs(source, COLUMNS):
        named = as_id(value)
        if named is None:
            raise place.error(f"the source must be a string or an integer. Got {reprlib.repr(value)}. Correct it.")
        if found.setdefault(doc, named) != named:
            raise place.error(f"document {doc!r} has two sources, {found[doc]!r} and {named!r}. Give one.")
    return found
