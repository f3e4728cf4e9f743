"""Texts of documents and queries, selected from a collection by id."""

from __future__ import annotations

from collections.abc import Sequence, Set
from pathlib import Path
from typing import NamedTuple

from trueval.files.texts.text_row import join_fields
from trueval.files.texts.text_rows import read_rows
from trueval.printable import encodable


class Text(NamedTuple):
    """A title and a text; either may be empty."""

    title: str
    text: str


def read_texts(paths: Sequence[Path], ids: Set[str], *, needed: bool = True) -> dict[str, Text]:
    """Read the texts of given ids as a stream, so that a large corpus need not fit in memory.

    Args:
        paths: paths of the corpus or the queries, as `find_parts` finds them: _id, text, and title if there is one.
        ids: ids to read.
        needed: whether a missing file is an error.

    Returns:
        The texts found, by id; ids that the file lacks are left out.

    Raises:
        InputError: the file is missing and needed, or bad, as `read_rows` says; or a wanted id is there twice.
    """
    if not needed and not paths[0].exists():
        return {}
    found: dict[str, Text] = {}
    for row in read_rows(paths, ("title", "text")):
        if row.id in ids and row.id in found:
            raise row.place.error(f"the id {row.id!r} appears twice. Ids must differ. Remove one.")
        if row.id in ids:
            title, text = (encodable(join_fields(row.values, (name,))) for name in ("title", "text"))
            found[row.id] = Text(title, text)
    return found
