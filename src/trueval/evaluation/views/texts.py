"""Texts of documents and queries, picked out of a collection by id."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path
from typing import NamedTuple

from trueval.files.json.texts import read_text_rows
from trueval.printable import encodable


class Text(NamedTuple):
    """A title and a text; either may be empty."""

    title: str
    text: str


def read_texts(path: Path, ids: Set[str], *, needed: bool = True) -> dict[str, Text]:
    """Read the texts of some ids from a BEIR-shaped file, line by line, so that a large corpus need not fit in memory.

    Args:
        path: corpus.jsonl or queries.jsonl: one JSON object a line with _id, text, and title if there is one.
        ids: those wanted.
        needed: whether the file must exist.

    Returns:
        The texts found, by id; ids that the file lacks are left out.

    Raises:
        InputError: the file is missing and needed, or bad, as `read_text_rows` says; or a wanted id is there twice.
    """
    if not needed and not path.exists():
        return {}
    found: dict[str, Text] = {}
    for row in read_text_rows(path):
        if row.id in ids and row.id in found:
            raise row.place.error(f"the id {row.id!r} appears twice. Ids must differ. Remove one.")
        if row.id in ids:
            title, text = (encodable(str(row.values.get(name) or "")) for name in ("title", "text"))
            found[row.id] = Text(title, text)
    return found
