"""Remarks on ids that look like others and are not: Unicode is compared as it is written, and never normalized."""

from __future__ import annotations

import polars as pl

from trueval.files.frame import RowTable

# Spaces, line ends, control and format characters, inside an id or at its edge; a plain space inside is ordinary.
UNSEEN = r"^ | $|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|[^\P{Zs} ]"
EDGES = pl.col("id").str.contains(r"^ | $|[\x00-\x1f\x7f]")
BEYOND_ASCII = pl.col("id").str.len_bytes() != pl.col("id").str.len_chars()


def id_notes(table: RowTable, query_ids: pl.Series) -> tuple[str, ...]:
    """Remark on ids with characters that cannot be seen, and on ids that are equal only when normalized.

    Args:
        table: rows with doc_id.
        query_ids: the ids of the queries, each once.
    """
    if table.plain:
        return ()
    notes: list[str | None] = []
    for name, ids in (("query_id", query_ids), ("doc_id", table.frame["doc_id"])):
        # In one query, as this is all that most ids need, and each query of a small table takes longer than its work.
        edges, beyond = ids.to_frame("id").select(edges=EDGES.any(), beyond=BEYOND_ASCII.any()).row(0)
        # All other ids are in the form NFC as they are.
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
