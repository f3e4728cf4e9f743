"""Texts of documents and queries, picked out of a collection by id."""

from __future__ import annotations

import json
from collections.abc import Set
from pathlib import Path
from typing import NamedTuple

from trueval.errors import InputError


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
        InputError: the file is missing and needed, or a line is not such an object.
    """
    if not path.is_file():
        if needed:
            raise InputError(f"{path}: no such file. --collection must name a folder with corpus.jsonl in it.")
        return {}
    found: dict[str, Text] = {}
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                name = str(row["_id"])
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"{path}:{number}: not a text with an id. Each line must be an object with _id and text. "
                    "Correct or remove the line."
                ) from error
            if name in ids:
                found[name] = Text(str(row.get("title") or ""), str(row.get("text") or ""))
    return found
