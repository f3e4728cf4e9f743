"""A format of another package, as docs/files.md shows it: a grade or score first, as in files of learning to rank."""

from __future__ import annotations

import polars as pl

from trueval.errors import Place
from trueval.files import Kind, RowTable, SourceBytes, canonical_table


def read_letor(content: SourceBytes, kind: Kind, facets: bool) -> RowTable:
    rows = []
    for number, line in enumerate(content.data.decode().splitlines(), 1):
        try:
            grade, query, document = line.split()
        except ValueError:
            raise Place(content.source, number).error("a line must be: grade query document.") from None
        rows.append((query, document, grade))
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "grade" if kind == "judgments" else "score"], orient="row")
    return canonical_table(frame, kind, content.source, facets, line=lambda row: max(row, 0) + 1)


def read_wrongly(content: SourceBytes, kind: Kind, facets: bool) -> RowTable:
    """Scores in integers, which Table does not allow."""
    return RowTable(pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1], "grade": [1]}), content.source)
