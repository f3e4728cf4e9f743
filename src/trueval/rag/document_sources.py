"""Sources of documents (paper, site, file), read from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trueval.files.json.jsonl_pairs import DOC_KEYS, Columns, read_names

if TYPE_CHECKING:
    from trueval.files import Source


COLUMNS = Columns(DOC_KEYS, ("source",), "a document id and its source")


def read_sources(source: Source) -> dict[str, str]:
    """Read the source of each document: id and source on each line, for `Judgments.with_sources`.

    Args:
        source: a path, "-" for standard input, or an open file. JSON lines with id and source, or two fields separated
            by a tab, a comma or spaces; a header line is skipped.

    Raises:
        InputError: a line is bad, or a document has two sources; with file and line.
    """
    return read_names(source, COLUMNS, "document", "source")
