"""Remarks on ids that look like others but differ: Unicode is compared as written, and never normalized."""

from __future__ import annotations

import polars as pl

from trueval.files.frame import RowTable

# Spaces, line ends, control and format characters, inside an id or at its edge; a plain space inside is ordinary.
UNSEEN = r"^ | $|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|[^\P{Zs} ]"
EDGES = pl.col("id").str.contains(r"^ | $|[\x00-\x1f\x7f]")
BEYOND_ASCII = pl.col("id").str.len_bytes() != pl.col("id").str.len_chars()


def id_notes(table: RowTable, query_ids: pl.Series) -> tuple[str, ...]:
    """Remarks on ids with invisible characters, and on ids that are equal only after normalization.

    Args:
        table: rows with the column doc_id.
        query_ids: distinct ids of the queries.
    """
    if table.plain:
        return ()
    notes: list[str | None] = []
    for name, ids in (("query_id", query_ids), ("doc_id", table.frame["doc_id"])):
        # In one polars query, since this is enough for most ids, and each polars query on a small table costs more than
        # its work.
        edges, beyond = ids.to_frame("id").select(edges=EDGES.any(), beyond=BEYOND_ASCII.any()).row(0)
        # All other ids are already in NFC.
        others = (ids.to_frame("id").filter(BEYOND_ASCII)["id"] if beyond else ids.clear()).unique(maintain_order=True)
        notes += [_note_unseen_ids(ids, others, name, table)] if edges or beyond else []
        notes += [_note_unnormalized_ids(others, name, table)] if beyond else []
    return tuple(note for note in notes if note is not None)


def _note_unseen_ids(ids: pl.Series, others: pl.Series, name: str, table: RowTable) -> str | None:
    found = ids.to_frame("id").filter(EDGES)["id"]
    if found.is_empty():
        found = others.filter(others.str.contains(UNSEEN))
    if found.is_empty():
        return None
    return (
        f"{table.source}: {name}s hold characters that cannot be seen, for instance {found[0][:80]!a}; they are kept, "
        "and match only the same characters"
    )


def _note_unnormalized_ids(others: pl.Series, name: str, table: RowTable) -> str | None:
    changed = others.filter(others != others.str.normalize("NFC"))
    if changed.is_empty():
        return None
    one = changed[0]
    composed = pl.Series([one]).str.normalize("NFC")[0]
    twin = f"; {composed!a} is there too, as another id" if bool((others == composed).any()) else ""
    return (
        f"{table.source}: {len(changed)} {name}s are not in Unicode form NFC, for instance {one[:80]!a}; ids are never "
        f"normalized, and match only the same form{twin}"
    )
