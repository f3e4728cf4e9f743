"""One text as a file or a library gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from trueval.errors import Place

ID_KEYS = ("_id", "id")  # BEIR's, and that of MTEB's parquet; the first one present


class TextRow(NamedTuple):
    """A document or a query.

    Attributes:
        source: file, or name of another origin.
        number: line number, from 1; row number, from 0, without lines.
        id: string, or integer as written.
        values: keys and values, with numbers as written.
        has_lines: whether `number` is a line number.
    """

    source: str
    number: int
    id: str
    values: Mapping[str, object]
    has_lines: bool = True

    @property
    def place(self) -> Place:
        """Where it is, as a message begins."""
        return place_of(self.source, self.number, has_lines=self.has_lines)


def place_of(source: str, number: int, *, has_lines: bool) -> Place:
    """The place of a line or of a row."""
    return Place(source, number) if has_lines else Place(source, row=number)


def join_fields(row: Mapping[str, object], fields: tuple[str, ...]) -> str:
    """The fields of a text as one; lists are joined by commas, and NaN, which pandas writes for nothing, is none.

    >>> join_fields({"title": "Wings", "authors": ["A. B.", "C. D."], "text": "Lift."}, ("title", "authors", "text"))
    'Wings A. B., C. D. Lift.'
    """
    texts = []
    for field in fields:
        value = row.get(field)
        # Parquet has 0 as a number, JSON as written: both count as texts.
        if (value or (value == 0 and value is not False)) and not _is_nan(value):
            texts.append(str(value) if not isinstance(value, list) else ", ".join(map(str, value)))
    return " ".join(texts)


def _is_nan(value: object) -> bool:
    """Whether it is the number NaN, of parquet or as JSON has it written, and not a text of these letters."""
    return type(value) is not str and not isinstance(value, list) and str(value) in ("nan", "NaN")
