"""Rows of texts from several files, one after another, without loading a whole file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from trueval.files.json.jsonl_texts import read_text_rows
from trueval.files.tabular.parquet_texts import read_parquet_rows
from trueval.files.texts.text_files import PARQUET
from trueval.files.texts.text_row import TextRow


def read_rows(paths: Sequence[Path], fields: Sequence[str] | None = None) -> Iterator[TextRow]:
    """Read texts file by file: lines of JSON, plain or compressed, or parquet by its suffix.

    Args:
        paths: paths from `find_parts`.
        fields: columns of parquet to read, if present; None for all.

    Raises:
        InputError: a file is missing, damaged or changes meanwhile, or a row is no text with an id; with its line.
    """
    for path in paths:
        yield from read_parquet_rows(path, fields) if path.suffix == PARQUET else read_text_rows(path)
